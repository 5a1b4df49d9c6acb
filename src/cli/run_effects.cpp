// One effect off at a time: what each costs, and which of them explains most of a difference.
#include <algorithm>
#include <array>
#include <optional>

#include "overlap/run.hpp"

namespace overlap {
namespace {

constexpr std::array<EffectName, 9> kEffects{{
    {"launch costs", &Effects::launch},
    {"link latency", &Effects::latency},
    {"HBM sharing", &Effects::hbm},
    {"SM theft", &Effects::sm_slots},
    {"copy engines", &Effects::copy_engines},
    {"small GEMMs", &Effects::decomposition},
    {"accumulation", &Effects::accumulate},
    {"injection limits", &Effects::injection_limits},
    {"power cap", &Effects::power},
}};

bool same(const Use& a, const Use& b) {
  return a.resource == b.resource && a.weight == b.weight;
}
bool same(const SlotNeed& a, const SlotNeed& b) {
  return a.pool == b.pool && a.count == b.count;
}
bool same(const Demand& a, const Demand& b) {
  return a.kind == b.kind && a.tiles == b.tiles && a.latency == b.latency && a.tail == b.tail && a.work == b.work &&
         a.cap == b.cap && a.share == b.share && a.uses == b.uses && a.slots == b.slots && a.tank == b.tank;
}
bool same(const TileDemand& a, const TileDemand& b) {
  return a.pool == b.pool && a.workers == b.workers && a.scheduler == b.scheduler && a.tile_time == b.tile_time &&
         a.first_tile == b.first_tile && a.finish == b.finish && a.tile_traffic == b.tile_traffic &&
         a.part_tiles == b.part_tiles && a.last_wave == b.last_wave;
}
bool same(const FluidResource& a, const FluidResource& b) {
  return a.capacity == b.capacity && a.kind == b.kind;
}
bool same(const SlotPool& a, const SlotPool& b) {
  return a.device == b.device && a.kind == b.kind && a.count == b.count;
}
bool same(const Tank& a, const Tank& b) {
  return a.capacity == b.capacity;
}
bool same(const StreamCosts& a, const StreamCosts& b) {
  return a.kernel_gap == b.kernel_gap && a.satisfied_wait == b.satisfied_wait && a.local_wait == b.local_wait &&
         a.remote_wait == b.remote_wait && a.copy_start == b.copy_start && a.copy_gap == b.copy_gap &&
         a.collective_start == b.collective_start && a.release_join == b.release_join;
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return same(x, y); });
}

// Equal prices give equal runs.
bool same(const Priced& a, const Priced& b) {
  return same(a.demands.ops, b.demands.ops) && same(a.demands.tiles, b.demands.tiles) &&
         a.demands.part_tiles == b.demands.part_tiles && same(a.demands.uses, b.demands.uses) &&
         same(a.demands.slots, b.demands.slots) && same(a.resources.fluids, b.resources.fluids) &&
         same(a.resources.pools, b.resources.pools) && same(a.resources.tanks, b.resources.tanks) &&
         same(a.resources.streams, b.resources.streams);
}

// Whether any op of the graph fits.
template <class Fits>
bool any_op(const OpGraph& graph, Fits fits) {
  return std::any_of(graph.ops().begin(), graph.ops().end(), fits);
}

// Effects that cannot change a price of this graph on this machine, seen without pricing.
bool inert(const EffectName& e, const OpGraph& graph, const Machine& machine, const CostOptions& cost) {
  if (e.member == &Effects::accumulate) {
    return !any_op(graph, [](const Op& op) {
      const auto* g = std::get_if<Gemm>(&op.work);
      return g != nullptr && g->accumulate;
    });
  }
  if (e.member == &Effects::copy_engines) {
    return !any_op(graph, [](const Op& op) {
      const auto* t = std::get_if<Transfer>(&op.work);
      return t != nullptr && t->mover == Mover::copy_engine;
    });
  }
  if (e.member == &Effects::sm_slots) {
    return !any_op(graph, [](const Op& op) {
      const auto* t = std::get_if<Transfer>(&op.work);
      return t != nullptr ? t->mover == Mover::sm : !std::holds_alternative<Gemm>(op.work);
    });
  }
  if (e.member == &Effects::injection_limits && cost.network == NetworkModel::fluid) {
    const auto& nodes = machine.topology.nodes();
    return std::none_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.injection || n.ejection; });
  }
  return false;
}

// The bytes that cross a cut follow from the graph: the same whatever effect is off.
std::optional<Bound> cut_bound(const RunView& run) {
  for (const Bound& b : lower_bounds(run))
    if (b.kind == BoundKind::cut) return b;
  return std::nullopt;
}

}  // namespace

std::span<const EffectName> effect_names() {
  return kEffects;
}

std::vector<EffectOff> effects_off(const ScheduleInfo& info, const ScheduleContext& context, const OpGraph& graph,
                                   const Priced& priced, const Machine& machine, const CostOptions& cost,
                                   const SimOptions& simulation, std::span<const CutLimit> cuts) {
  std::vector<EffectOff> out;
  std::optional<Bound> cut;
  bool cut_known = false;
  for (const EffectName& e : kEffects) {
    if (!(cost.effects.*e.member) || inert(e, graph, machine, cost)) continue;
    CostOptions without = cost;
    without.effects.*e.member = false;
    const Priced p = price(graph, machine, without);
    if (same(p, priced)) continue;
    const Timeline timeline = simulate(graph, p.demands, p.resources, simulation);
    EffectOff off{std::string(e.name), timeline.makespan, {}};
    std::optional<ClosedForm> form;
    if (info.closed_form != nullptr) {
      form = info.closed_form(context, piece_times(context.workload, machine, without));
    }
    if (form) {
      off.reference = form->makespan;
    } else {
      if (!cut_known) cut = cut_bound({graph, p.demands, p.resources, timeline, machine.devices, cuts});
      cut_known = true;
      off.reference = strongest(lower_bounds({graph, p.demands, p.resources, timeline, machine.devices})).time;
      if (cut) off.reference = std::max(off.reference, cut->time);
    }
    out.push_back(std::move(off));
  }
  return out;
}

}  // namespace overlap
