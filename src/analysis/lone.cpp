// Time of an op alone on the machine: what its demand says, with nobody beside it.
#include "analysis/lone.hpp"

#include <algorithm>

#include "overlap/analysis.hpp"

namespace overlap {

Bandwidth lone_rate(const Demand& d, const Demands& demands, const Resources& resources) {
  Bandwidth rate = d.cap;
  for (std::uint32_t u = d.uses.begin; u < d.uses.end; ++u) {
    const Use& use = demands.uses[u];
    if (use.weight > 0.0) rate = std::min(rate, resources.fluids[use.resource.index()].capacity / use.weight);
  }
  return rate;
}

std::uint64_t tile_count(const TileDemand& t, const Demands& demands) {
  std::uint64_t n = 0;
  for (std::uint32_t i = t.part_tiles.begin; i < t.part_tiles.end; ++i) n += demands.part_tiles[i];
  return n;
}

std::uint32_t tile_workers(const TileDemand& t) {
  return std::max(1U, t.workers);
}

Seconds waves_time(const TileDemand& t, std::uint64_t tiles, std::uint32_t workers) {
  const std::uint64_t full = tiles / workers;
  const bool rest = tiles % workers != 0;
  // Of a persistent kernel only workers that come late are faster, and alone on the machine none does.
  const double last = t.scheduler == TileScheduler::persistent ? 1.0 : t.last_wave;
  return t.tile_time * static_cast<double>(full) + (rest ? t.tile_time * last : Seconds{});
}

Seconds lane_time(const Demand& d, const Demands& demands, const Resources& resources) {
  if (d.kind != DemandKind::store) return lone_time(d, demands, resources);
  return d.latency + d.work / d.cap;
}

Seconds lone_time(const Demand& d, const Demands& demands, const Resources& resources) {
  switch (d.kind) {
    case DemandKind::fixed:
      return d.latency + d.tail;
    case DemandKind::fluid:
    case DemandKind::store:
      return d.latency + (d.work > Bytes{} ? d.work / lone_rate(d, demands, resources) : Seconds{}) + d.tail;
    case DemandKind::tiles: {
      const TileDemand& t = demands.tiles[d.tiles];
      return d.latency + t.first_tile + waves_time(t, tile_count(t, demands), tile_workers(t)) + t.finish + d.tail;
    }
  }
  return {};
}

Seconds LoneTimes::of(const Demand& d) {
  if ((d.kind != DemandKind::fluid && d.kind != DemandKind::store) || d.uses.empty() || !(d.work > Bytes{}))
    return lone_time(d, demands_, resources_);
  Known& known = known_[d.uses.begin];
  if (known.end != d.uses.end) {
    Demand uncapped = d;
    uncapped.cap = Bandwidth(1e300);
    known = {lone_rate(uncapped, demands_, resources_), d.uses.end};
  }
  return d.latency + d.work / std::min(known.rate, d.cap) + d.tail;
}

std::vector<Seconds> lone_times(const OpGraph& graph, const Demands& demands, const Resources& resources) {
  std::vector<Seconds> times;
  times.reserve(graph.ops().size());
  LoneTimes lone(demands, resources);
  for (const Demand& d : demands.ops) times.push_back(lone.of(d));
  return times;
}

}  // namespace overlap
