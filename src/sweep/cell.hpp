// Evaluates workloads x schedules of one experiment.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "overlap/report.hpp"
#include "overlap/sweep.hpp"

namespace overlap::sweep {

// Rows in order; `workloads` limits to the first so many (0 = all). Row::cell and axes are left to the caller.
std::vector<SweepRow> evaluate(const Study& study, const Experiment& e, std::size_t workloads = 0);

// One schedule run again and kept whole, with rates recorded, for a timeline.
std::shared_ptr<const FinishedRun> finished_run(const Experiment& e, std::size_t workload, std::size_t request);

}  // namespace overlap::sweep
