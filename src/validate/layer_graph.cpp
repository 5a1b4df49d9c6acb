// Records that name a schedule of this project: its own builder makes the graph.
#include "overlap/cuda.hpp"
#include "overlap/error.hpp"
#include "validate/replay_graph.hpp"

namespace overlap::validation {

namespace {

// What ran is the schedule's graph as the GPU backend carries it out.
OpGraph launched(const Record& r, const OpGraph& graph, const Device& device) {
  PlanOptions options;
  options.sms = device.sms;
  options.channels = device.collective_channels;
  options.fused_kernel = r.fused;
  options.epilogue_stores = r.schedule.ends_with("_epilogue");
  return as_launched(graph, plan_launch(graph, DeviceMap::spread(graph.devices(), graph.devices()), options));
}

}  // namespace

OpGraph layer_graph(const Record& r, const Topology& topology, std::span<const Device> devices) {
  const bool gathers = r.kind != "gemm_rs";
  Workload w;
  w.name = r.contest();
  w.pattern = gathers ? Pattern::ag_gemm : Pattern::gemm_rs;
  w.tp = r.gpus;
  w.tokens = r.shape.m;
  w.in = gathers ? r.shape.k : r.shape.k * r.gpus;
  w.out = gathers ? r.shape.n * r.gpus : r.shape.n;
  try {
    const ScheduleInfo& info = find_schedule(r.graph);
    const Params params = complete_params(info, r.params);
    return launched(r, build_layer(info, {w, topology, devices, params}), devices[0]);
  } catch (const InputError& e) {
    throw InputError(r.where, e.problem());
  } catch (const CheckError& e) {
    throw InputError(r.where, e.what());
  }
}

}  // namespace overlap::validation
