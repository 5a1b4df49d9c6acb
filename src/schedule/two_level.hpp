// Two-level collectives out of transfers: across groups (NUMA nodes, boxes) each byte once, inside a group round a
// ring.
#pragma once

#include <functional>
#include <vector>

#include "schedule/piecewise.hpp"

namespace overlap::blocks {

// Groups of equal size, members in ring order, partners (equal places) near each other: ranks[group][place].
struct Groups {
  std::vector<std::vector<DeviceId>> ranks;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> place;  // by rank: group, place
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(ranks.size()); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ranks[0].size()); }
  [[nodiscard]] DeviceId at(std::uint32_t g, std::uint32_t i) const { return ranks[g % count()][i % size()]; }
};

Groups groups_of(const ScheduleContext& ctx);

struct TwoLevel {
  std::uint32_t chunks = 1;  // of a shard, that cross one after another
  std::uint32_t rings = 1;   // directions in use inside a group
  Transfer how;              // mover and CTAs of a lane
};

// Rows of chunk c of an owner that travel in ring direction `ring`.
Extent ring_rows(const Workload& w, const TwoLevel& o, DeviceId owner, std::uint32_t c, std::uint32_t ring);

// Where rows are on a rank and since when; what gathering needs of the layer.
struct GatherStore {
  std::function<std::vector<Slice>(DeviceId holder, DeviceId owner, Extent rows)> read;
  std::function<Slice(DeviceId holder, Extent rows)> write;
  std::function<std::vector<Dep>(DeviceId owner, std::uint32_t chunk)> ready;
};

// Called for each arrival, in an order that is near that of time: holder, owner, rows, op.
using Arrived = std::function<void(DeviceId, DeviceId, Extent, Dep)>;
void two_level_gather(GraphBuilder& b, const Workload& w, const Groups& g, const TwoLevel& o, GatherStore store,
                      const Arrived& arrived);

// Completion of the partial sum of these rows on a rank.
using PartialReady = std::function<Dep(DeviceId rank, Extent rows)>;
// Sums chunk c of every owner, rows of one ring direction. Returns by owner the op that completes it (invalid: empty).
std::vector<OpId> two_level_reduce(GraphBuilder& b, const ScheduleContext& ctx, const Groups& g, const TwoLevel& o,
                                   ScatterLayer& layer, const PartialReady& ready, std::uint32_t c, std::uint32_t ring);

}  // namespace overlap::blocks
