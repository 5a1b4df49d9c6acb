// Runs without an effect that are given up early: never one that the report would have named.
#include <cmath>

#include "catch.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "overlap/run.hpp"
#include "paths.hpp"

using namespace overlap;

namespace {

const char* const kBundled[] = {"default", "h200x2", "ideal", "mixed-and-late", "compass-a6000", "tpu-ring"};

RunReport report_of(const Experiment& e, EffectRuns runs) {
  RunOptions options;
  options.effects = runs;
  return run_experiment(e, options);
}

std::string named(const EffectOff* e) {
  return e == nullptr ? "none" : e->name;
}

}  // namespace

TEST_CASE("the effect that explains most is the same when runs that cannot be it are given up") {
  std::size_t all_runs = 0;
  std::size_t runs = 0;
  for (const char* name : kBundled) {
    const Experiment e = load_experiment(source_dir() + "/configs/" + name + ".json");
    const RunReport all = report_of(e, EffectRuns::all);
    const RunReport nearest = report_of(e, EffectRuns::nearest);
    CHECK(report_text(all, {}) == report_text(nearest, {}));
    for (std::size_t w = 0; w < all.workloads.size(); ++w) {
      for (std::size_t s = 0; s < all.workloads[w].schedules.size(); ++s) {
        const ScheduleReport& a = all.workloads[w].schedules[s];
        const ScheduleReport& b = nearest.workloads[w].schedules[s];
        INFO(name << " " << a.label);
        const EffectOff* x = explaining_effect(a);
        const EffectOff* y = explaining_effect(b);
        REQUIRE(named(x) == named(y));
        if (x != nullptr) {
          CHECK(x->makespan == y->makespan);
          CHECK(x->reference == y->reference);
        }
        all_runs += a.cross.effects.size();
        runs += b.cross.effects.size();
      }
    }
  }
  CHECK(runs < all_runs * 3 / 4);
}

TEST_CASE("what must follow an op does, and the longest chain is the same from both ends") {
  for (const char* name : kBundled) {
    const Experiment e = load_experiment(source_dir() + "/configs/" + name + ".json");
    const RunReport report = report_of(e, EffectRuns::nearest);
    for (const WorkloadReport& w : report.workloads) {
      for (const ScheduleReport& s : w.schedules) {
        if (!s.run) continue;
        INFO(name << " " << w.name << " " << s.label);
        const FinishedRun& run = *s.run;
        const ChainTails tails = chain_tails(run.graph, run.demands, run.resources);
        REQUIRE(tails.after.size() == run.graph.ops().size());
        double least_slack = 1e300;
        for (std::size_t i = 0; i < tails.after.size(); ++i) {
          least_slack = std::min(least_slack, (s.makespan - run.timeline.ops[i].end - tails.after[i]).si());
        }
        CHECK(least_slack >= -1e-12 * s.makespan.si());
        CHECK(least_slack <= s.makespan.si() * 1e-12);  // of the op that ends last
        for (const Bound& b : s.bounds) {
          if (b.kind == BoundKind::path) CHECK(tails.longest.si() == Approx(b.time.si()).epsilon(1e-12));
        }
      }
    }
  }
}

TEST_CASE("a simulation is given up only when it would end behind its limit") {
  const Experiment e = load_experiment(source_dir() + "/configs/default.json");
  const RunReport report = report_of(e, EffectRuns::nearest);
  std::size_t given_up = 0;
  for (const WorkloadReport& w : report.workloads) {
    for (const ScheduleReport& s : w.schedules) {
      if (!s.run) continue;
      INFO(w.name << " " << s.label);
      const FinishedRun& run = *s.run;
      const ChainTails tails = chain_tails(run.graph, run.demands, run.resources);
      SimOptions options = e.simulation;
      options.least_after = tails.after;
      options.limit = s.makespan * (1 + 1e-9);
      const Timeline whole = simulate(run.graph, run.demands, run.resources, options);
      CHECK_FALSE(whole.past_limit);
      CHECK(whole.makespan == s.makespan);
      CHECK(whole.events == run.timeline.events);
      options.limit = tails.longest * 0.999;
      const Timeline part = simulate(run.graph, run.demands, run.resources, options);
      if (!part.past_limit) {  // seen only as the last op ended
        CHECK(part.makespan == s.makespan);
        continue;
      }
      ++given_up;
      CHECK(part.makespan > options.limit);
      CHECK(part.makespan <= s.makespan * (1 + 1e-12));
      CHECK(part.events < run.timeline.events);
    }
  }
  CHECK(given_up > 15);
}
