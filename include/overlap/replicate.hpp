// The same layer on several groups of devices of one machine, side by side: data-parallel replicas, or a ring on every
// chip of a torus.
#pragma once

#include <span>
#include <vector>

#include "overlap/op_graph.hpp"

namespace overlap {

// A graph over `devices` devices that holds `layer` once for each group; rank r of a copy runs on group[r]. Op i of
// copy g is op g * ops + i, and likewise for buffers and parts. Copies are independent products: problem p of copy g
// becomes problem g * (problems of the layer) + p. Lanes of one device with the same index are one lane: copies that
// share a device take turns. Throws CheckError when a group has fewer devices than the layer or names one that is not
// there.
[[nodiscard]] OpGraph replicate(const OpGraph& layer, std::span<const std::vector<DeviceId>> groups,
                                std::uint32_t devices);

}  // namespace overlap
