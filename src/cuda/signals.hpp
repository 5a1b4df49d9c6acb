// Dependencies across lanes as events and flags.
#pragma once

#include "overlap/cuda.hpp"

namespace overlap::cuda {

// Fills the waits and completions of plan.order and plan.parts, and counts events and flags. A wait is left out where
// the lane's order or an earlier wait already implies it (vector clocks over lanes). `more` are further dependencies of
// ops, by OpId.
void plan_signals(const OpGraph& graph, const std::vector<std::vector<Dep>>& more, LaunchPlan& plan);

}  // namespace overlap::cuda
