// Ops of a looped einsum from its core program.
#pragma once

#include "schedule/blocks.hpp"
#include "schedule/looped_program.hpp"

namespace overlap::blocks {

std::vector<Tensor> build_loop(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in,
                               const LoopShape& shape, const LoopProgram& program);

}  // namespace overlap::blocks
