// Sensitivity of the winner to inputs that are only known to lie between two values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "overlap/sweep.hpp"

namespace overlap::sweep {

struct Swing {
  std::string parameter;
  double low_pct = 0.0;               // median change of the best time with the low value, percent
  double high_pct = 0.0;              // the same with the high value
  std::uint64_t winners_changed = 0;  // cells in which another schedule wins at either end
  std::uint64_t cells = 0;
};

// Each uncertain input at both ends, over at most Study::uncertain_cells cells spread evenly over the plan.
std::vector<Swing> tornado(const Study& study, const StudyPlan& plan);

// Two times within this share of each other are a tie: the largest validated error of the devices, at least 0.1 %.
double tie_margin_pct(const Experiment& e);

}  // namespace overlap::sweep
