// Dependencies across lanes as events and flags.
#pragma once

#include "overlap/cuda.hpp"

namespace overlap::cuda {

// Fills the waits and completions of plan.order and plan.parts, and counts events and flags. A wait is left out where
// the lane's order or an earlier wait already implies it (vector clocks over lanes).
void plan_signals(const OpGraph& graph, LaunchPlan& plan);

}  // namespace overlap::cuda
