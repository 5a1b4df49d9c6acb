// Lone times of demands, shared by bounds and phases.
#pragma once

#include <cstdint>
#include <vector>

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
// The same for many demands of one run: what a range of uses allows is found once.
class LoneTimes {
 public:
  LoneTimes(const Demands& demands, const Resources& resources)
      : demands_(demands), resources_(resources), known_(demands.uses.size()) {}
  Seconds of(const Demand& d);

 private:
  const Demands& demands_;
  const Resources& resources_;
  struct Known {
    Bandwidth rate;
    std::uint32_t end = 0;  // of the range; 0: not asked for yet
  };
  std::vector<Known> known_;  // by the first of a range of uses
};
// From begin to the date at which the lane goes on: of a store, when all is issued.
Seconds lane_time(const Demand& d, const Demands& demands, const Resources& resources);

}  // namespace overlap
