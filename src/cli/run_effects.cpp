// One effect off at a time: what each costs, and which of them explains most of a difference.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

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

// By place in kEffects: launch costs, small GEMMs, power cap, SM theft, HBM sharing, then the rest.
constexpr std::array<std::size_t, kEffects.size()> kPromising{0, 5, 8, 3, 2, 6, 1, 4, 7};
constexpr double kMargin = 1e-9;  // of the makespan: far beyond rounding

bool same(const Use& a, const Use& b) {
  return a.resource == b.resource && a.weight == b.weight;
}
bool same(const SlotNeed& a, const SlotNeed& b) {
  return a.pool == b.pool && a.count == b.count;
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
bool same(const Priced& a, const RunView& b) {
  return std::equal(a.demands.ops.begin(), a.demands.ops.end(), b.demands.ops.begin(), b.demands.ops.end()) &&
         same(a.demands.tiles, b.demands.tiles) && a.demands.part_tiles == b.demands.part_tiles &&
         same(a.demands.uses, b.demands.uses) && same(a.demands.slots, b.demands.slots) &&
         same(a.resources.fluids, b.resources.fluids) && same(a.resources.pools, b.resources.pools) &&
         same(a.resources.tanks, b.resources.tanks) && same(a.resources.streams, b.resources.streams);
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

// No copy waited for its engine: without a number of engines it is the same run.
bool engines_sufficed(const RunView& run) {
  for (std::size_t i = 0; i < run.graph.ops().size(); ++i) {
    const auto* t = std::get_if<Transfer>(&run.graph.ops()[i].work);
    if (t == nullptr || t->mover != Mover::copy_engine) continue;
    if (run.timeline.ops[i].admitted != run.timeline.ops[i].ready) return false;
  }
  return true;
}

// Launch costs are the streams of the devices, and for collectives a gap.
bool streams_alone(const OpGraph& graph) {
  return !any_op(graph, [](const Op& op) { return std::holds_alternative<Collective>(op.work); });
}

class EffectsOff {
 public:
  EffectsOff(const ScheduleInfo& info, const ScheduleContext& context, const RunView& run,
             std::optional<Seconds> closed_form, std::span<const PieceTimes> without, const Machine& machine,
             const CostOptions& cost, const SimOptions& simulation)
      : info_(info),
        context_(context),
        run_(run),
        closed_form_(closed_form),
        without_(without),
        machine_(machine),
        cost_(cost),
        simulation_(simulation) {}

  std::vector<EffectOff> all() {
    std::vector<EffectOff> out;
    for (const EffectName& e : kEffects) {
      if (std::optional<EffectOff> off = one(e)) out.push_back(std::move(*off));
    }
    return out;
  }

  // Those that may leave the run nearest to its reference. Effects that often do come first, so that runs of others can
  // be given up early; the order makes no difference to which of them is nearest.
  std::vector<EffectOff> nearest() {
    std::array<std::optional<EffectOff>, kEffects.size()> found;
    least_ = distance(run_.timeline.makespan, closed_form_ ? *closed_form_ : bound(run_));
    for (const std::size_t place : kPromising) {
      found[place] = one(kEffects[place]);
      if (found[place]) least_ = std::min(*least_, distance(found[place]->makespan, found[place]->reference));
    }
    std::vector<EffectOff> out;
    for (std::optional<EffectOff>& off : found) {
      if (off) out.push_back(std::move(*off));
    }
    return out;
  }

 private:
  static Seconds distance(Seconds a, Seconds b) { return a > b ? a - b : b - a; }

  // Nothing where the effect changes no price, or where the run is sure to be farther from its reference than least_.
  std::optional<EffectOff> one(const EffectName& e) {
    if (!(cost_.effects.*e.member) || inert(e, run_.graph, machine_, cost_)) return std::nullopt;
    if (e.member == &Effects::copy_engines && engines_sufficed(run_)) {
      return EffectOff{std::string(e.name), run_.timeline.makespan, closed_form_ ? *closed_form_ : bound(run_)};
    }
    if (e.member == &Effects::launch && streams_alone(run_.graph)) {
      Resources resources = run_.resources;
      if (same(std::exchange(resources.streams, {}), {})) return std::nullopt;
      return measured(e, run_.demands, resources);
    }
    const Priced p = price_without(e.member, run_.graph, machine_, cost_, run_.demands);
    if (same(p, run_)) return std::nullopt;
    return measured(e, p.demands, p.resources);
  }

  std::optional<EffectOff> measured(const EffectName& e, const Demands& demands, const Resources& resources) {
    std::optional<ClosedForm> form;
    const auto place = static_cast<std::size_t>(&e - kEffects.data());
    if (closed_form_) form = info_.closed_form(context_, without_[place]);
    const Seconds reference =
        form ? form->makespan : bound({run_.graph, demands, resources, run_.timeline, machine_.devices});
    SimOptions options = simulation_;
    ChainTails tails;
    if (std::exchange(compared_, least_.has_value())) {  // the first run, of the most promising effect, is seldom cut
      options.limit = reference + *least_ + run_.timeline.makespan * kMargin;
      tails = chain_tails(run_.graph, demands, resources);
      if (tails.longest > options.limit) return std::nullopt;
      options.least_after = tails.after;
    }
    const Timeline timeline = simulate(run_.graph, demands, resources, options);
    if (timeline.past_limit) return std::nullopt;
    return EffectOff{std::string(e.name), timeline.makespan, reference};
  }

  // The strongest lower bound. The bytes that cross a cut follow from the graph: the same whatever effect is off.
  Seconds bound(const RunView& run) {
    if (!cut_) {
      cut_ = Seconds{};
      for (const Bound& b : lower_bounds({run.graph, run.demands, run.resources, run.timeline, run.devices, run_.cuts}))
        if (b.kind == BoundKind::cut) cut_ = b.time;
    }
    return std::max(*cut_,
                    strongest(lower_bounds({run.graph, run.demands, run.resources, run.timeline, run.devices})).time);
  }

  const ScheduleInfo& info_;
  const ScheduleContext& context_;
  const RunView& run_;
  std::optional<Seconds> closed_form_;
  std::span<const PieceTimes> without_;
  const Machine& machine_;
  const CostOptions& cost_;
  const SimOptions& simulation_;
  std::optional<Seconds> cut_;
  std::optional<Seconds> least_;  // distance from a reference beyond which no run is of interest
  bool compared_ = false;         // a run has had its part in it
};

}  // namespace

std::span<const EffectName> effect_names() {
  return kEffects;
}

std::vector<EffectOff> effects_off(const ScheduleInfo& info, const ScheduleContext& context, const RunView& run,
                                   std::optional<Seconds> closed_form, std::span<const PieceTimes> without,
                                   const Machine& machine, const CostOptions& cost, const SimOptions& simulation,
                                   EffectRuns runs) {
  EffectsOff effects(info, context, run, closed_form, without, machine, cost, simulation);
  return runs == EffectRuns::all ? effects.all() : effects.nearest();
}

}  // namespace overlap
