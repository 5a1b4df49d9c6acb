#include "machines.hpp"

namespace crosscheck {

Run simulate_on(const Topology& topology, const std::vector<Device>& devices, const Workload& w,
                const std::string& schedule, const Given& given, const CostOptions& options) {
  const ScheduleInfo& info = find_schedule(schedule);
  const Params params = complete_params(info, given);
  Run run{build_layer(info, {w, topology, devices, params}), {}};
  const Priced priced = price(run.graph, {topology, devices}, options);
  run.timeline = simulate(run.graph, priced.demands, priced.resources, {});
  return run;
}

bool refuses(const Topology& topology, const std::vector<Device>& devices, const Workload& w,
             const std::string& schedule, const Given& given) {
  const ScheduleInfo& info = find_schedule(schedule);
  const Params params = complete_params(info, given);
  return info.refuses({w, topology, devices, params}).has_value();
}

PieceTimes piece_times(const Topology& topology, const std::vector<Device>& devices, const Workload& w,
                       const CostOptions& options) {
  PieceTimes t;
  t.gemm = [&devices, &w, &options](GemmShape shape, bool accumulate) {
    return gemm_time(devices[0], shape, w.operand, w.output, accumulate, options.compute);
  };
  t.transfer = [&topology](DeviceId a, DeviceId b, Bytes bytes) { return bytes / topology.route_bandwidth(a, b); };
  t.collective = [&topology, &devices, &w, &options](Bytes bytes) {
    // A layer whose collective moves these bytes, without its GEMM.
    GraphBuilder b(w.tp);
    const auto unit = static_cast<std::uint32_t>(bytes.si() / w.tp);
    std::vector<LaneId> lanes;
    std::vector<Slice> shards;
    std::vector<Slice> wholes;
    for (std::uint32_t r = 0; r < w.tp; ++r) {
      lanes.push_back(b.lane(DeviceId(r), 1, "comm"));
      shards.push_back(b.all(b.buffer(DeviceId(r), 1, unit, DType::u8, BufferRole::input, "shard")));
      wholes.push_back(b.all(b.buffer(DeviceId(r), w.tp, unit, DType::u8, BufferRole::scratch, "whole")));
    }
    const bool scatters = w.pattern == Pattern::gemm_rs;
    b.collective(lanes, {.kind = scatters ? CollectiveKind::reduce_scatter : CollectiveKind::all_gather},
                 scatters ? wholes : shards, scatters ? shards : wholes, {});
    const OpGraph graph = std::move(b).finish();
    const Priced priced = price(graph, {topology, devices}, options);
    return simulate(graph, priced.demands, priced.resources, {}).makespan;
  };
  return t;
}

std::optional<ClosedForm> closed_form_on(const Topology& topology, const std::vector<Device>& devices,
                                         const Workload& w, const std::string& schedule, const Given& given,
                                         const CostOptions& options) {
  const ScheduleInfo& info = find_schedule(schedule);
  const Params params = complete_params(info, given);
  if (info.closed_form == nullptr) return std::nullopt;
  return info.closed_form({w, topology, devices, params}, piece_times(topology, devices, w, options));
}

}  // namespace crosscheck
