// One layer: graph, prices, timeline; and the lone times that closed forms are fed with.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>

#include "overlap/error.hpp"
#include "overlap/run.hpp"

namespace overlap {

FinishedRun run_layer(const ScheduleInfo& info, const ScheduleContext& context, const Machine& machine,
                      const CostOptions& cost, const SimOptions& simulation, std::span<const Seconds> start_delay) {
  FinishedRun run;
  run.graph = build_layer(info, context, start_delay);
  Priced priced = price(run.graph, machine, cost);
  run.timeline = simulate(run.graph, priced.demands, priced.resources, simulation);
  run.demands = std::move(priced.demands);
  run.resources = std::move(priced.resources);
  return run;
}

namespace {

// Time of the library's collective over `rows` tokens, as the serial schedule issues it.
Seconds library_collective(const Workload& workload, const Machine& machine, const CostOptions& cost,
                           std::uint32_t rows) {
  Workload w = workload;
  w.tokens = rows;
  const ScheduleInfo& serial = find_schedule("serial");
  const Params params = complete_params(serial, {{"mover", ParamValue(std::string("library"))}});
  const ScheduleContext context{w, machine.topology, machine.devices, params};
  const OpGraph graph = build_layer(serial, context);
  const Priced priced = price(graph, machine, cost);
  const std::vector<Seconds> lone = lone_times(graph, priced.demands, priced.resources);
  Seconds sum;
  for (std::size_t i = 0; i < lone.size(); ++i) {
    if (std::holds_alternative<Collective>(graph.ops()[i].work)) sum += lone[i];
  }
  return sum;
}

// Times of the library's collective by rows: every schedule of a layer asks for the same few.
class KnownCollectives {
 public:
  template <class Compute>
  Seconds of(std::uint32_t rows, Compute compute) {
    {
      const std::lock_guard lock(guard_);
      if (const auto it = known_.find(rows); it != known_.end()) return it->second;
    }
    const Seconds time = compute();
    const std::lock_guard lock(guard_);
    known_.emplace(rows, time);
    return time;
  }

 private:
  std::mutex guard_;
  std::map<std::uint32_t, Seconds> known_;
};

std::vector<CutLimit> cut_limits(const Topology& topology, std::uint32_t ranks) {
  std::vector<CutLimit> out;
  for (const Cut& c : topology.cuts()) {
    CutLimit limit{c.name, std::vector<bool>(ranks, false), c.left_to_right, c.right_to_left};
    for (const DeviceId d : c.left) {
      if (d.index() < ranks) limit.left[d.index()] = true;
    }
    // A cut with all ranks on one side bounds nothing: a large torus has thousands of them.
    const auto inside = std::count(limit.left.begin(), limit.left.end(), true);
    if (inside > 0 && inside < static_cast<std::ptrdiff_t>(ranks)) out.push_back(std::move(limit));
  }
  return out;
}

}  // namespace

PieceTimes piece_times(const Workload& workload, const Machine& machine, const CostOptions& cost) {
  PieceTimes t;
  const std::span<const Device> devices =
      machine.devices.first(std::min<std::size_t>(workload.tp, machine.devices.size()));
  t.gemm = [devices, &workload, cost, plans = machine.plans](GemmShape shape, bool accumulate) {
    Seconds slowest;
    const Device* last = nullptr;
    for (const Device& d : devices) {
      if (last != nullptr && last->name == d.name) continue;
      last = &d;
      slowest = std::max(slowest, gemm_time(plans, d, shape, workload.operand, workload.output, accumulate,
                                            cost.compute, cost.effects));
    }
    return slowest;
  };
  t.transfer = [machine, cost](DeviceId a, DeviceId b, Bytes bytes) {
    const Seconds latency = cost.effects.latency ? machine.topology.route_latency(a, b) : Seconds{};
    return latency + bytes / machine.topology.route_bandwidth(a, b);
  };
  t.collective = [&workload, machine, cost, known = std::make_shared<KnownCollectives>()](Bytes bytes) {
    const double rows = static_cast<double>(workload.tokens) * (bytes / collective_bytes(workload));
    const std::uint32_t whole = std::max(workload.tp, static_cast<std::uint32_t>(std::lround(rows)));
    return known->of(whole, [&] { return library_collective(workload, machine, cost, whole); });
  };
  return t;
}

LayerFacts layer_facts(const Experiment& experiment, const Workload& workload, GemmPlans* plans) {
  LayerFacts facts;
  facts.cuts = cut_limits(experiment.topology, workload.tp);
  for (std::uint32_t r = 0; r < workload.tp; ++r) {
    facts.undivided.push_back(gemm_time(plans, experiment.devices[r], local_gemm(workload, r), workload.operand,
                                        workload.output, false, experiment.cost.compute, experiment.cost.effects));
  }
  const Machine machine{experiment.topology, experiment.devices, experiment.background, plans};
  facts.pieces = piece_times(workload, machine, experiment.cost);
  for (const EffectName& e : effect_names()) {
    CostOptions without = experiment.cost;
    without.effects.*e.member = false;
    facts.pieces_without.push_back(piece_times(workload, machine, without));
  }
  return facts;
}

}  // namespace overlap
