// plan_launch: streams, allocations, launch order; the signals are made in signals.cpp.
#include <fmt/format.h>

#include "cuda/buffer_order.hpp"
#include "cuda/epilogue.hpp"
#include "cuda/execution.hpp"
#include "cuda/launch_order.hpp"
#include "cuda/signals.hpp"
#include "cuda/spin_check.hpp"
#include "cuda/token_order.hpp"
#include "overlap/error.hpp"

namespace overlap {
namespace {

constexpr std::uint64_t kAlignment = 256;

void check_map(const OpGraph& graph, const DeviceMap& map) {
  if (map.gpu_of.size() != graph.devices()) {
    throw InputError(
        "", fmt::format("the graph has {} devices, the device map names {}", graph.devices(), map.gpu_of.size()));
  }
  if (map.gpus() > 32) throw InputError("", "the GPU backend runs on at most 32 GPUs of one host");
}

std::vector<PlannedStream> plan_streams(const OpGraph& graph, const DeviceMap& map, const PlanOptions& options) {
  std::vector<PlannedStream> streams;
  std::vector<std::uint32_t> lanes(map.gpus(), 0);
  for (std::size_t i = 0; i < graph.lanes().size(); ++i) {
    const Lane& lane = graph.lanes()[i];
    const std::uint32_t gpu = map.gpu_of[lane.device.index()];
    streams.push_back({LaneId(i), gpu, lane.priority});
    ++lanes[gpu];
  }
  for (std::uint32_t gpu = 0; gpu < lanes.size(); ++gpu) {
    if (lanes[gpu] + 1 <= options.max_connections) continue;
    throw InputError("", fmt::format("GPU {} would run {} lanes and the release gate over {} hardware queues, so lanes "
                                     "would wait for each other: set CUDA_DEVICE_MAX_CONNECTIONS (at most 32), spread "
                                     "the graph over more GPUs or choose a schedule with fewer lanes",
                                     gpu, lanes[gpu], options.max_connections));
  }
  return streams;
}

void plan_buffers(const OpGraph& graph, LaunchPlan& plan) {
  plan.arenas.assign(plan.map.gpus(), 0);
  plan.buffers.resize(graph.buffers().size());
  for (const BufferId id : cuda::buffer_order(graph)) {
    const Buffer& b = graph.buffer(id);
    const std::uint32_t gpu = plan.map.gpu_of[b.device.index()];
    const auto bytes = static_cast<std::uint64_t>(size_of(b.dtype).si()) * b.rows * b.cols;
    plan.buffers[id.index()] = {gpu, plan.arenas[gpu], bytes};
    plan.arenas[gpu] += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
}

}  // namespace

LaunchPlan plan_launch(const OpGraph& graph, const DeviceMap& map, const PlanOptions& options) {
  check_map(graph, map);
  LaunchPlan plan;
  plan.map = map;
  plan.streams = plan_streams(graph, map, options);
  plan_buffers(graph, plan);
  plan.stream_memory = options.stream_memory;
  if (options.epilogue_stores) plan.stores = cuda::epilogue_stores(graph);
  const std::vector<Execution> how = cuda::choose_execution(graph, map, options, plan.stores, plan.notes);
  const std::vector<std::vector<Dep>> tokens = cuda::token_deps(graph);
  if (!graph.token_uses().empty()) {
    plan.notes.emplace_back("in-flight budgets run as dependencies: takers wait for the givers before them, in order");
  }
  std::vector<bool> fused(how.size());
  for (std::size_t i = 0; i < how.size(); ++i) fused[i] = how[i] == Execution::fused_gemm;
  const cuda::LaunchEdges edges = cuda::launch_edges(graph, fused, tokens);
  const std::vector<OpId> order = cuda::launch_order(graph, edges);
  cuda::check_spinning(graph, edges, how, map, options);
  for (const OpId op : order) {
    PlannedOp p{op, how[op.index()], 0, {}};
    if (const auto* gemm = std::get_if<Gemm>(&graph.op(op).work)) {
      p.sms = fused[op.index()] ? cuda::fused_sms(graph, op, map, options) : gemm->max_sms;
    }
    for (const LaneId lane : graph.lane_refs(graph.op(op).lanes)) p.members.push_back({lane, {}, {}});
    plan.order.push_back(std::move(p));
  }
  plan.parts.resize(graph.parts().size());
  cuda::plan_signals(graph, tokens, plan);
  return plan;
}

}  // namespace overlap
