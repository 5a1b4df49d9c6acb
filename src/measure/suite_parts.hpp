// Pieces that the suite is put together from.
#pragma once

#include "measure/suite.hpp"

namespace overlap::cuda {

// Parameters of a schedule that differ from its defaults.
using Given = std::vector<std::pair<std::string, ParamValue>>;

inline constexpr std::uint32_t kSuiteGpus = 2;

inline ParamValue number(std::int64_t v) {
  return v;
}
inline ParamValue word(const char* v) {
  return std::string(v);
}
std::string shape_keys(GemmShape s);  // "m": ..., "n": ..., "k": ...
Job plain_job(std::string section, std::string keys, std::function<OpGraph()> graph);
// By the name with underscores; null where the table lacks it.
const ScheduleInfo* schedule_named(std::string_view name);

// The parts alone and every point of the design space on each layer of the pattern.
void add_layers(std::vector<Job>& jobs, Pattern pattern, const Topology& topology, const std::vector<Device>& devices);
// Who comes first when a collective and a GEMM want the same SMs: priority, channels, SMs left to the GEMM.
void add_race(std::vector<Job>& jobs, const Topology& topology, const std::vector<Device>& devices);
// GEMMs and layers back to back until the clock of a loaded GPU has settled.
void add_sustained(std::vector<Job>& jobs, const Topology& topology, const std::vector<Device>& devices);

}  // namespace overlap::cuda
