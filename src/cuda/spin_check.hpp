// A kernel whose tile groups spin on flags holds its SMs meanwhile. What it spins for must not need those SMs.
#pragma once

#include <vector>

#include "cuda/launch_order.hpp"
#include "overlap/cuda.hpp"

namespace overlap::cuda {

// SMs that a fused Gemm's kernel occupies: its own bound, else the device's share of the GPU.
std::uint32_t fused_sms(const OpGraph& graph, OpId op, const DeviceMap& map, const PlanOptions& options);

// Throws CheckError naming the waiting op and the op that it spins for.
void check_spinning(const OpGraph& graph, const LaunchEdges& edges, const std::vector<Execution>& how,
                    const DeviceMap& map, const PlanOptions& options);

}  // namespace overlap::cuda
