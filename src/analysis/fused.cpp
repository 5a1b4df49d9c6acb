#include "analysis/fused.hpp"

#include <algorithm>

#include "analysis/lone.hpp"

namespace overlap {

Seconds date_of(const Timeline& timeline, const Dep& d) {
  return d.part.valid() ? timeline.part_ends[d.part.index()] : timeline.ops[d.op.index()].end;
}

std::vector<PartStep> part_steps(const RunView& run, OpId id) {
  const Gemm& g = std::get<Gemm>(run.graph.op(id).work);
  const Demand& d = run.demands.ops[id.index()];
  const TileDemand* tiles = d.kind == DemandKind::tiles ? &run.demands.tiles[d.tiles] : nullptr;
  const Seconds whole = lone_time(d, run.demands, run.resources);
  std::vector<PartStep> steps;
  for (std::uint32_t p = g.parts.begin; p < g.parts.end; ++p) {
    const Part& part = run.graph.part(PartId(p));
    PartStep s;
    s.part = PartId(p);
    for (const Dep& w : run.graph.deps(part.waits)) {
      const Seconds t = date_of(run.timeline, w);
      if (t > s.released) {
        s.released = t;
        s.last = w;
      }
    }
    const std::uint32_t index = tiles == nullptr ? 0 : tiles->part_tiles.begin + (p - g.parts.begin);
    if (tiles != nullptr && index < tiles->part_tiles.end) {
      s.time = tiles->tile_time * (static_cast<double>(run.demands.part_tiles[index]) / tile_workers(*tiles));
    } else {
      const double area = static_cast<double>(part.rect.rows) * part.rect.cols;
      s.time = whole * (area / (static_cast<double>(g.m) * g.n));
    }
    steps.push_back(s);
  }
  if (g.order == PartOrder::ready) {
    std::stable_sort(steps.begin(), steps.end(),
                     [](const PartStep& a, const PartStep& b) { return a.released < b.released; });
  }
  return steps;
}

Seconds stall_of(const RunView& run, OpId id) {
  const OpTimes& times = run.timeline.ops[id.index()];
  Seconds clock = times.begin;
  Seconds idle;
  for (const PartStep& s : part_steps(run, id)) {
    if (s.released > clock) {
      idle += s.released - clock;
      clock = s.released;
    }
    clock += s.time;
  }
  const Seconds beyond = times.end - times.begin - lone_time(run.demands.ops[id.index()], run.demands, run.resources);
  return std::max(Seconds{}, std::min(idle, beyond));
}

Dep holding_wait(const RunView& run, OpId id, PartId until) {
  Dep held;
  Seconds clock = run.timeline.ops[id.index()].begin;
  for (const PartStep& s : part_steps(run, id)) {
    if (s.released > clock) {
      held = s.last;
      clock = s.released;
    }
    clock += s.time;
    if (s.part == until) break;
  }
  return held;
}

}  // namespace overlap
