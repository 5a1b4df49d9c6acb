// The graph that a plan runs: pieces as ops, what they wait for, and the same numbers for every schedule.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "catch.hpp"
#include "graphs.hpp"
#include "overlap/codec.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "overlap/graph_check.hpp"
#include "overlap/schedule.hpp"

using namespace graphs;
using Catch::Matchers::Equals;

namespace {

const DeviceMap kTwo = DeviceMap::spread(2, 2);

OpGraph launched(const OpGraph& graph, const PlanOptions& options = {}) {
  return as_launched(graph, plan_launch(graph, kTwo, options));
}

}  // namespace

TEST_CASE("a Gemm of one library call a part is a Gemm a part, each with its own waits") {
  Pair p;
  const OpId push = p.push(1, 0, kRows);
  const OpId fused = p.fused(0, std::array{Dep{push, {}}});
  const PartId second = p.g.graph().parts().size() == 2 ? PartId(1U) : PartId();
  p.push(0, 0, kRows, std::array{Dep{fused, second}});
  p.push(0, 0, kRows, std::array{Dep{fused, {}}});
  PlanOptions options;
  options.fused_kernel = false;
  const OpGraph graph = launched(p.g.graph(), options);
  REQUIRE(graph.ops().size() == 5);
  CHECK(graph.deps(graph.ops()[1].deps).empty());
  REQUIRE(graph.deps(graph.ops()[2].deps).size() == 1);
  CHECK(graph.deps(graph.ops()[2].deps)[0].op == push);
  CHECK(std::get<Gemm>(graph.ops()[1].work).m == kRows);
  // A wait for the second part, and one for the whole, are waits for the second Gemm.
  CHECK(graph.deps(graph.ops()[3].deps)[0] == Dep{OpId(2U), {}});
  CHECK(graph.deps(graph.ops()[4].deps)[0] == Dep{OpId(2U), {}});
  // In the tile kernel it stays one op with two parts.
  CHECK(same_structure(launched(p.g.graph()), p.g.graph()));
}

TEST_CASE("a remote store that a copy kernel does is a copy by SMs") {
  Pair p;
  const OpId gemm = p.multiply(0, 0, kRows);
  p.push(0, 0, kRows, std::array{Dep{gemm, {}}}, Mover::remote_store);
  const OpGraph graph = launched(p.g.graph());
  const auto& t = std::get<Transfer>(graph.ops()[1].work);
  CHECK(t.mover == Mover::sm);
  CHECK(t.ctas == 32);
}

TEST_CASE("what runs computes what the schedule says, for every schedule and both ways of parts") {
  const Topology topology = load_topology("h200x2-nv18");
  const std::vector<Device> devices(2, load_device("h200"));
  std::uint32_t ran = 0, differ = 0;
  for (const ScheduleInfo& info : schedules()) {
    for (const Pattern pattern : {Pattern::ag_gemm, Pattern::gemm_rs}) {
      if (std::find(info.patterns.begin(), info.patterns.end(), pattern) == info.patterns.end()) continue;
      Workload w;
      w.name = "layer";
      w.pattern = pattern;
      w.tp = 2;
      w.tokens = 64;
      w.in = w.out = 32;
      const ScheduleContext context{w, topology, devices, complete_params(info, {})};
      if (info.refuses && info.refuses(context)) continue;
      const OpGraph graph = build_layer(info, context);
      for (const bool fused : {false, true}) {
        PlanOptions options;
        options.fused_kernel = fused;
        OpGraph runs;
        try {
          runs = launched(graph, options);
        } catch (const InputError&) {
          continue;  // the backend has no kernel for it
        } catch (const CheckError&) {
          continue;  // it would spin for SMs that it holds itself
        }
        INFO(info.name << " " << to_text(pattern) << (fused ? " fused" : " a call a part"));
        CHECK_THAT(fmt::format("{}", fmt::join(validate(runs), "; ")), Equals(""));
        CHECK(find_races(runs).empty());
        CHECK(reference_run(runs, 1, real_codecs()).empty());
        ++ran;
        differ += same_structure(runs, graph) ? 0 : 1;
      }
    }
  }
  CHECK(ran > 40);
  CHECK(differ > 10);
}
