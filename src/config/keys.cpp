#include "config/keys.hpp"

namespace overlap::config {
namespace {
using Keys = std::string_view;

constexpr Keys kDevice[] = {"$schema",
                            "base",
                            "name",
                            "summary",
                            "source",
                            "notes",
                            "estimate",
                            "sms",
                            "clock",
                            "peak",
                            "l2",
                            "memory",
                            "hbm",
                            "hbm_efficiency",
                            "copy_engines",
                            "own_kernels",
                            "dma_2d",
                            "gemm",
                            "stream",
                            "collectives",
                            "collective_channels",
                            "collective_cluster",
                            "sm_groups",
                            "power",
                            "validated_error"};
constexpr Keys kPeak[] = {"f64", "f32", "f16", "bf16", "fp8_e4m3", "fp8_e5m2", "u8", "source"};
constexpr Keys kGemm[] = {"kernels",
                          "busy_node",
                          "mma_efficiency",
                          "fixed",
                          "tile",
                          "l2_bytes_per_clock",
                          "hbm_efficiency",
                          "power_floor",
                          "power_time",
                          "split_k",
                          "accumulate_share",
                          "source"};
constexpr Keys kStream[] = {
    "join",        "remote_join",  "race_window", "kernel_gap",   "satisfied_wait",   "local_wait",
    "remote_wait", "copy_start",   "copy_gap",    "release_join", "collective_start", "collective_gap",
    "copy_event",  "kernel_event", "source"};
constexpr Keys kCollective[] = {"kind", "members", "channels", "in_place", "knots", "source"};
constexpr Keys kKnot[] = {"bytes", "time"};
constexpr Keys kSmGroups[] = {"sms", "source"};
constexpr Keys kOwnKernels[] = {"copy", "compress", "decompress", "compress_start", "decompress_start", "source"};
constexpr Keys kPower[] = {"onset", "steady_ratio", "ramp", "source"};

constexpr Keys kWorkloadFile[] = {"$schema", "name", "summary", "source", "notes",   "topologies", "layers",
                                  "tokens",  "tp",   "pattern", "dtype",  "operand", "output",     "wire"};
constexpr Keys kLayer[] = {"name",  "pattern", "tokens", "in",   "out",   "tp",
                           "dtype", "operand", "output", "wire", "source"};

constexpr Keys kExperiment[] = {"$schema",   "name", "summary",    "notes",      "topology",  "device",
                                "workloads", "cost", "simulation", "background", "schedules", "stragglers"};
constexpr Keys kWorkloadChoice[] = {"file", "layers", "tokens", "tp", "patterns"};
constexpr Keys kDeviceChoice[] = {"device", "ranks"};
constexpr Keys kScheduleChoice[] = {"schedule", "params"};
constexpr Keys kCost[] = {"compute", "network", "effects", "penalties"};
constexpr Keys kEffects[] = {"launch",     "latency",          "hbm",  "sm_slots", "copy_engines", "decomposition",
                             "accumulate", "injection_limits", "power"};
constexpr Keys kPenalties[] = {"root_complex_p2p"};
constexpr Keys kSimulation[] = {"seed"};
constexpr Keys kBackground[] = {"from", "to", "rate", "start", "stop"};
constexpr Keys kStraggler[] = {"rank", "delay"};

}  // namespace

KeySet device_keys() {
  return {"device", kDevice};
}
KeySet peak_keys() {
  return {"table of peak rates", kPeak};
}
KeySet gemm_keys() {
  return {"set of GEMM coefficients", kGemm};
}
KeySet stream_keys() {
  return {"set of stream costs", kStream};
}
KeySet collective_keys() {
  return {"collective table", kCollective};
}
KeySet knot_keys() {
  return {"knot", kKnot};
}
KeySet sm_groups_keys() {
  return {"list of SM groups", kSmGroups};
}
KeySet own_kernels_keys() {
  return {"list of our own kernels", kOwnKernels};
}
KeySet power_keys() {
  return {"power cap", kPower};
}
KeySet workload_file_keys() {
  return {"workload file", kWorkloadFile};
}
KeySet layer_keys() {
  return {"layer", kLayer};
}
KeySet experiment_keys() {
  return {"experiment", kExperiment};
}
KeySet workload_choice_keys() {
  return {"choice of workloads", kWorkloadChoice};
}
KeySet device_choice_keys() {
  return {"choice of device", kDeviceChoice};
}
KeySet schedule_choice_keys() {
  return {"choice of schedule", kScheduleChoice};
}
KeySet cost_keys() {
  return {"set of cost options", kCost};
}
KeySet effect_keys() {
  return {"set of effects", kEffects};
}
KeySet penalty_keys() {
  return {"set of penalties", kPenalties};
}
KeySet simulation_keys() {
  return {"set of simulation options", kSimulation};
}
KeySet background_keys() {
  return {"background flow", kBackground};
}
KeySet straggler_keys() {
  return {"straggler", kStraggler};
}

}  // namespace overlap::config
