// FiCCO's losses: what cutting costs (DIL) and what running side by side costs (CIL), for GEMM and for communication.
#include <algorithm>

#include "overlap/run.hpp"

namespace overlap {
namespace {

// Demands in which GEMMs take next to no time and no memory, so that communication is as if alone.
Demands without_gemms(const OpGraph& graph, Demands d) {
  constexpr double kNone = 1e-12;
  for (std::size_t i = 0; i < d.ops.size(); ++i) {
    if (d.ops[i].kind != DemandKind::tiles || !std::holds_alternative<Gemm>(graph.ops()[i].work)) continue;
    Demand none = d.ops[i];
    none.uses = {};
    none.latency = none.tail = Seconds{};
    d.ops.set(i, none);
  }
  for (TileDemand& t : d.tiles) {
    t.tile_time *= kNone;
    t.first_tile = t.finish = Seconds{};
    t.tile_traffic = Bytes{};
  }
  return d;
}

Seconds communication_alone(const OpGraph& graph, const Demands& demands, const Resources& resources,
                            const SimOptions& simulation) {
  const Demands alone = without_gemms(graph, demands);
  const Timeline t = simulate(graph, alone, resources, simulation);
  return communication_time({graph, alone, resources, t, {}, {}, {}});
}

// Who moves most of the data of a graph, in the words of the parameter "mover".
std::string mover_of(const OpGraph& graph) {
  std::size_t by_sm = 0;
  std::size_t transfers = 0;
  for (const Op& op : graph.ops()) {
    if (activity_of(graph, op) != Activity::communication) continue;
    if (std::holds_alternative<Collective>(op.work)) return "library";
    ++transfers;
    const auto* t = std::get_if<Transfer>(&op.work);
    by_sm += t != nullptr && t->mover == Mover::sm ? 1 : 0;
  }
  return 2 * by_sm > transfers ? "sm" : "dma";
}

// The collective in one piece by that mover, the faster of its paths; zero where nothing plain can move it.
Seconds whole_collective(const ScheduleContext& context, const std::string& mover, const Machine& machine,
                         const CostOptions& cost, const SimOptions& simulation) {
  Seconds best;
  for (const char* name : {"serial", "collectives"}) {
    const ScheduleInfo& info = find_schedule(name);
    const auto& p = info.patterns;
    if (std::find(p.begin(), p.end(), context.workload.pattern) == p.end()) continue;
    for (const char* path : {"direct", "ring"}) {
      std::vector<std::pair<std::string, ParamValue>> given;
      if (info.name == "serial") {
        given = {{"mover", mover}, {"path", std::string(path)}};
      } else {
        given = {{"algorithm", std::string(path) == std::string("ring") ? "ring" : "two_shot"},
                 {"form", std::string(mover == "library" ? "priced" : "composed")}};
      }
      const Params params = complete_params(info, given);
      const ScheduleContext whole{context.workload, context.topology, context.devices, params};
      if (info.refuses(whole)) continue;
      const OpGraph graph = build_layer(info, whole);
      const Priced priced = price(graph, machine, cost);
      const Seconds t = communication_alone(graph, priced.demands, priced.resources, simulation);
      if (best <= Seconds{} || t < best) best = t;
    }
    if (best > Seconds{}) break;
  }
  return best;
}

}  // namespace

Losses losses_of(const ScheduleContext& context, const RunView& run, const Phases& phases, const Machine& machine,
                 const CostOptions& cost, const SimOptions& simulation) {
  Losses l;
  l.gemm.whole = phases.floor + phases.kernel;
  l.gemm.pieces = l.gemm.whole + phases.decomposition;
  l.gemm.running = l.gemm.pieces + phases.contention;
  l.communication.running = communication_time(run);
  if (l.communication.running <= Seconds{}) return l;
  l.communication.pieces = communication_alone(run.graph, run.demands, run.resources, simulation);
  l.communication.whole = whole_collective(context, mover_of(run.graph), machine, cost, simulation);
  return l;
}

}  // namespace overlap
