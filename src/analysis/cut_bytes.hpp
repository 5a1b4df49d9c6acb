// Bytes by resource and across cuts.
#pragma once

#include <span>
#include <vector>

#include "overlap/analysis.hpp"

namespace overlap {

// What all demands together put on each resource.
std::vector<Bytes> resource_bytes(const Demands& demands, const Resources& resources);
// What one demand moves in all: work of a flow, traffic of a kernel's tiles.
Bytes work_of(const Demand& d, const Demands& demands);

struct CutBytes {
  Bytes left_to_right;
  Bytes right_to_left;
};
// Bytes that must cross each cut whatever the algorithm of a collective: a reduced or multicast byte crosses once.
std::vector<CutBytes> cut_bytes(const OpGraph& graph, const Demands& demands, std::span<const CutLimit> cuts);

}  // namespace overlap
