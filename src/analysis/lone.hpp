// Lone times of demands, shared by bounds and phases.
#pragma once

#include <cstdint>

#include "overlap/demand.hpp"
#include "overlap/engine.hpp"

namespace overlap {

// Rate of a flow that has its resources to itself.
Bandwidth lone_rate(const Demand& d, const Demands& demands, const Resources& resources);
// All tiles of a kernel, and the SMs it can use.
std::uint64_t tile_count(const TileDemand& t, const Demands& demands);
std::uint32_t tile_workers(const TileDemand& t);
// `tiles` tiles on `workers` workers: full waves, then the last one.
Seconds waves_time(const TileDemand& t, std::uint64_t tiles, std::uint32_t workers);
// From begin to the end, as dependents see it.
Seconds lone_time(const Demand& d, const Demands& demands, const Resources& resources);
// From begin to the date at which the lane goes on: of a store, when all is issued.
Seconds lane_time(const Demand& d, const Demands& demands, const Resources& resources);

}  // namespace overlap
