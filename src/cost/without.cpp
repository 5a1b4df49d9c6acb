// Prices with one effect less than before: only ops that the effect touches are priced again.
#include "cost/pricer.hpp"

namespace overlap {
namespace cost {
namespace {

bool of_gemms(bool Effects::*effect) {
  return effect == &Effects::decomposition || effect == &Effects::accumulate || effect == &Effects::power;
}

// Whether an op of this kind may have another price without the effect.
bool touches(bool Effects::*effect, const Op& op) {
  if (of_gemms(effect)) return std::holds_alternative<Gemm>(op.work);
  if (std::holds_alternative<Collective>(op.work)) return true;
  const auto* t = std::get_if<Transfer>(&op.work);
  if (effect == &Effects::latency) return t != nullptr;
  if (effect == &Effects::copy_engines) return t != nullptr && t->mover == Mover::copy_engine;
  if (effect == &Effects::sm_slots)
    return t != nullptr ? t->mover == Mover::sm : !std::holds_alternative<Gemm>(op.work);
  return false;  // launch: costs of streams, which are the machine's
}

}  // namespace

// Ranges of uses and slots stay what they were, so that equal prices are equal in every number.
Priced Pricer::run_without(bool Effects::*effect, const Demands& with) {
  make_resources();
  make_background();
  out_.demands = with;
  if (of_gemms(effect)) {
    out_.demands.tiles.clear();
    out_.demands.part_tiles.clear();
  }
  for (std::size_t i = 0; i < graph_.ops().size(); ++i) {
    const Op& op = graph_.ops()[i];
    if (!touches(effect, op)) continue;
    Demand d = with.ops[i];
    known_uses_ = d.uses;
    known_slots_ = d.slots;
    if (effect == &Effects::latency && std::holds_alternative<Transfer>(op.work)) {
      d.latency = Seconds();  // all that it had was its route's
    } else {
      d = demand(op);
    }
    if (d != with.ops[i]) out_.demands.ops.set(i, d);
  }
  return std::move(out_);
}

}  // namespace cost

Priced price_without(bool Effects::*effect, const OpGraph& graph, const Machine& machine, const CostOptions& options,
                     const Demands& demands) {
  CostOptions without = options;
  without.effects.*effect = false;
  const bool everywhere = effect == &Effects::hbm || effect == &Effects::injection_limits;
  if (everywhere) return price(graph, machine, without);
  return cost::Pricer(graph, machine, without).run_without(effect, demands);
}

}  // namespace overlap
