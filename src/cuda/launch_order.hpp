// One launch order for all devices.
#pragma once

#include <vector>

#include "overlap/op_graph.hpp"

namespace overlap::cuda {

// What must have been launched before an op (`hard`: its stream waits for it) and what its tile groups wait for while
// it runs (`soft`). By OpId; ascending, no duplicates.
struct LaunchEdges {
  std::vector<std::vector<OpId>> hard;
  std::vector<std::vector<OpId>> soft;
};

// The previous op of every lane of an op, its dependencies, and, where `fused[op]` is false, the waits of its parts
// are hard; the part waits of fused ops are soft. `more` are further dependencies by OpId, or empty.
LaunchEdges launch_edges(const OpGraph& graph, const std::vector<bool>& fused,
                         const std::vector<std::vector<Dep>>& more = {});

// Topological over the hard edges; soft ones are kept too unless a tile group waits for something that itself waits
// for the kernel. Ties by OpId. Throws CheckError naming an op that can never be launched.
std::vector<OpId> launch_order(const OpGraph& graph, const LaunchEdges& edges);

}  // namespace overlap::cuda
