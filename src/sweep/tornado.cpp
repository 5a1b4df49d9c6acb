#include "sweep/tornado.hpp"

#include <algorithm>

#include "config/experiment.hpp"
#include "sweep/cell.hpp"

namespace overlap::sweep {
namespace {

struct Best {
  double time_us = 0.0;
  std::string schedule;
};

// The best schedule of the experiment's first workload.
Best best_of(const Study& study, const StudyPlan& plan, config::Value experiment) {
  Best best;
  const Experiment e = config::experiment_of(experiment, study.experiment_name);
  for (const SweepRow& row : evaluate(study, e, shared_of(plan, std::move(experiment)), 1)) {
    const std::optional<double>& t = row.metrics.front();
    if (t && (best.schedule.empty() || *t < best.time_us)) best = {*t, row.schedule};
  }
  return best;
}

double median(std::vector<double> v) {
  if (v.empty()) return 0.0;
  std::sort(v.begin(), v.end());
  const std::size_t half = v.size() / 2;
  return v.size() % 2 == 1 ? v[half] : (v[half - 1] + v[half]) / 2;
}

}  // namespace

double tie_margin_pct(const Experiment& e) {
  double error = 0.001;
  for (const Device& d : e.devices) error = std::max(error, d.validated_error);
  return 100 * error;
}

std::vector<Swing> tornado(const Study& study, const StudyPlan& plan) {
  std::vector<Swing> swings;
  if (study.uncertain.empty()) return swings;
  Study lean = study;  // one metric is enough
  lean.metrics = {"makespan_us"};
  lean.seeds = 1;
  const StudyPlan shared(lean);
  const std::uint64_t count = std::min<std::uint64_t>(plan.cells(), study.uncertain_cells);
  for (const Uncertain& u : study.uncertain) {
    Swing swing{u.name, 0, 0, 0, count};
    std::vector<double> low;
    std::vector<double> high;
    for (std::uint64_t i = 0; i < count; ++i) {
      const config::Value cell = plan.experiment_value(i * plan.cells() / count);
      const auto at = [&](const std::string& value) {
        config::Value moved = cell;
        config::set_at(moved, u.pointer, config::parse_text(value, "the value of " + u.pointer));
        return best_of(lean, shared, std::move(moved));
      };
      const Best base = best_of(lean, shared, cell);
      if (base.schedule.empty()) continue;
      const Best l = at(u.low);
      const Best h = at(u.high);
      low.push_back(100 * (l.time_us / base.time_us - 1));
      high.push_back(100 * (h.time_us / base.time_us - 1));
      swing.winners_changed += l.schedule != base.schedule || h.schedule != base.schedule ? 1U : 0U;
    }
    swing.low_pct = median(std::move(low));
    swing.high_pct = median(std::move(high));
    swings.push_back(std::move(swing));
  }
  return swings;
}

}  // namespace overlap::sweep
