// In which order buffers lie in memory.
#pragma once

#include <vector>

#include "overlap/op_graph.hpp"

namespace overlap::cuda {

// By id, but where a Gemm stacks rows of several buffers, in the order of its stack: then the rows lie at growing
// addresses and one batched library call can take them. Orders that contradict each other fall back to ids.
std::vector<BufferId> buffer_order(const OpGraph& graph);

}  // namespace overlap::cuda
