// One record: graph, price, simulate, and what the measuring method adds.
#include <algorithm>

#include "cost/gemm_plan.hpp"
#include "overlap/engine.hpp"
#include "overlap/error.hpp"
#include "overlap/validate.hpp"
#include "validate/replay_graph.hpp"
#include "validate/statistics.hpp"

namespace overlap {
namespace {

// The measured time runs from release to the join of all streams on device 0: the last op of each device reaches the
// join by a path of its own, and the path itself takes a while even when nothing runs.
Seconds joined(const OpGraph& graph, const Timeline& t, const Method::Release& method, bool costs) {
  if (!costs) return t.makespan;
  Seconds end = method.empty;
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    for (const LaneId l : graph.lane_refs(graph.ops()[i].lanes)) {
      const bool local = graph.lane(l).device.v == 0;
      const bool timing_stream = graph.lane(l).index == 0;
      const Seconds path = local ? method.local + (timing_stream ? Seconds() : method.stream) : method.remote;
      end = std::max(end, t.ops[i].end + path);
    }
  }
  return end;
}

// When the GEMMs and the traffic between the devices had ended; copies within a device keep a stream of their own.
Seconds both_ended(const OpGraph& graph, const Timeline& t) {
  Seconds end;
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    for (const LaneId l : graph.lane_refs(graph.ops()[i].lanes)) {
      if (graph.lane(l).index < 2) end = std::max(end, t.ops[i].end);
    }
  }
  return end;
}

constexpr unsigned kMeasuredRuns = 9;  // of which a record holds the median

// Who comes first is chance: a collective and a GEMM that want the same SMs, and the GEMMs of async_tp's two streams,
// which the release lets go at once.
bool races(const Record& r) {
  return (r.d > 1 && r.schedule.find("nccl") != std::string::npos) || (r.kind == "gemm_rs" && r.graph == "async_tp");
}

}  // namespace

Replay replay(const Record& r, const Device& device, const Topology& topology, const ReplayOptions& options,
              std::uint64_t seed) {
  Replay out;
  const std::vector<Device> devices(2, device);
  out.graph = validation::graph_of(r, topology, devices);
  CostOptions cost = options.cost;
  cost.own_kernels = !r.graph.empty();
  out.priced = price(out.graph, {topology, devices}, cost);
  SimOptions sim;
  sim.seed = seed;
  sim.race_window = r.method.race.value_or(device.stream.race_window);
  out.timeline = simulate(out.graph, out.priced.demands, out.priced.resources, sim);
  const StreamCosts& costs = device.stream;
  const Method::Release method =
      r.method.release.value_or(Method::Release{costs.release_join, costs.join, costs.local_wait, costs.remote_join});
  if (r.kind == "contention") {
    for (std::uint32_t i = 0; i < r.gemms; ++i) {
      out.total = std::max(out.total, out.timeline.ops[i].end / r.gemms);
    }
  } else if (!r.joined) {
    out.total = both_ended(out.graph, out.timeline);
  } else {
    out.total = joined(out.graph, out.timeline, method, options.cost.effects.launch);
  }
  return out;
}

Prediction predict(const Record& r, const Device& device, const Topology& topology, const ReplayOptions& options) {
  if (r.kind == "gemm_kernels") {
    const cost::GemmQuery q{&device, r.shape, DType::bf16, DType::bf16, r.accumulate, r.sms, {}, options.cost.effects};
    const Seconds t = cost::find_compute_model(options.cost.compute).plan(q).total;
    return {t, t, t};
  }
  std::vector<Seconds> runs;
  const std::uint32_t seeds = races(r) ? std::max(1U, options.seeds) : 1;
  for (std::uint32_t s = 0; s < seeds; ++s) {
    runs.push_back(replay(r, device, topology, options, seeds == 1 ? 0 : s + 1).total);
  }
  std::sort(runs.begin(), runs.end());
  if (seeds == 1) return {runs.front(), runs.front(), runs.front()};
  std::vector<double> times;
  times.reserve(runs.size());
  for (const Seconds t : runs) times.push_back(t.si());
  return {Seconds(expected_median(times, kMeasuredRuns)), runs.front(), runs.back()};
}

}  // namespace overlap
