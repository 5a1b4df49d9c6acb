// What to measure: a list of jobs, each a graph with the keys that its record carries.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "overlap/config.hpp"
#include "overlap/cuda.hpp"

namespace overlap::cuda {

struct Job {
  std::string section;  // "gemm", "primitives", "ag_gemm", ...: the file that the record goes to
  std::string group;    // jobs of a group run interleaved
  std::string keys;     // JSON members that name the case, without braces: "kind": "ag_gemm", "schedule": ...
  std::function<OpGraph()> graph;
  std::uint32_t reps = 9;
  bool spans = false;            // one further run with a span for each op
  bool every_raw = true;         // raw times in the record
  bool contention = false;       // lone times of GEMMs and communication out of the spans
  bool fused = true;             // Gemms with parts run in the tile kernel
  bool stream_memory = true;     // launches a part wait and signal by stream memory operations, else by events
  bool epilogue_stores = false;  // remote stores leave out of the tile kernel
  bool tiles = false;            // finish time of every part in the record
  bool every_tile = false;       // and of every tile
  Seconds sustained;             // above 0: runs back to back for so long in place of single runs
  std::uint32_t channels = 0;
  bool priority = false;
  std::uint32_t gemm_sms = 0;
  Seconds idle{0.006};
};

// Names under which measured schedules are known: the published short ones where they exist ("interdecom_dma", with d),
// else the schedule's own name with its telling parameters.
struct MeasuredName {
  std::string schedule;
  std::int64_t d = 1;
};
MeasuredName measured_name(const ScheduleInfo& info, const Params& params);

// A schedule on a layer as a job; keys carry kind, schedule, d, m, n, k (per GPU), gpus and the schedule's parameters.
Job layer_job(const Workload& w, const ScheduleInfo& info, const Params& params, const Topology& topology,
              const std::vector<Device>& devices);

// The job run back to back: its record is of kind "sustained" and names its kind under "of".
Job sustained(Job job, Seconds duration);

// Everything that calibration needs, on two GPUs in less than eight minutes. Only `sections`, all if empty.
std::vector<Job> suite(const Topology& topology, const std::vector<Device>& devices,
                       const std::vector<std::string>& sections);
const std::vector<std::string>& suite_sections();

// The layers of the suite, per GPU: m rows of the gathered X (or of the partial Y), n and k of the local GEMM.
const std::vector<GemmShape>& gather_shapes();
const std::vector<GemmShape>& scatter_shapes();
Workload layer(Pattern pattern, GemmShape shape, std::uint32_t gpus);

}  // namespace overlap::cuda
