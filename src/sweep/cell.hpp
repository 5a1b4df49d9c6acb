// Evaluates workloads x schedules of one experiment.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "overlap/report.hpp"
#include "overlap/sweep.hpp"
#include "sweep/memo.hpp"

namespace overlap::sweep {

// Where results of other cells lie, and the text of all of this experiment that is neither workload nor schedule:
// experiments that agree in it share results.
struct Shared {
  SweepMemo* memo;
  std::string key;
};
Shared shared_of(const StudyPlan& plan, config::Value experiment);

// Rows in order; `workloads` limits to the first so many (0 = all). Row::cell and axes are left to the caller.
std::vector<SweepRow> evaluate(const Study& study, const Experiment& e, const Shared& shared,
                               std::size_t workloads = 0);

// One schedule run again and kept whole, with rates recorded, for a timeline.
std::shared_ptr<const FinishedRun> finished_run(const Experiment& e, std::size_t workload, std::size_t request);

}  // namespace overlap::sweep
