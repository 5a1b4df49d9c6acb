// Bundled topologies with their devices, workloads for them, and the ideal machine under which closed forms are exact.
#pragma once

#include <string>
#include <vector>

#include "overlap/cost.hpp"
#include "overlap/engine.hpp"
#include "overlap/schedule.hpp"

namespace crosscheck {

using namespace overlap;

// Names of the files in topologies/, without ".json", sorted.
std::vector<std::string> bundled_topologies();
Topology bundled(const std::string& name);
// The device file that goes with a bundled topology, as many as it has devices.
std::vector<Device> devices_of(const std::string& topology, std::uint32_t count);

// One TFLOP/s a device, memory and kernels that cost nothing.
std::vector<Device> ideal_devices(std::uint32_t count);
// Ideal compute and none of the effects but injection limits.
CostOptions ideal_options();

// `ranks` ranks that all reach each other over one link each of `rate` (and at most `cap` in and out where given).
Topology mesh(std::uint32_t ranks, Bandwidth rate, std::optional<Bandwidth> cap = std::nullopt);
Topology switched(std::uint32_t ranks, Bandwidth port);
Topology ring(std::uint32_t ranks, Bandwidth rate);
Topology ring(const std::vector<Bandwidth>& rates);  // rates[i]: from rank i to the next

struct Run {
  OpGraph graph;
  Timeline timeline;
};
using Given = std::vector<std::pair<std::string, ParamValue>>;
Run simulate_on(const Topology& topology, const std::vector<Device>& devices, const Workload& w,
                const std::string& schedule, const Given& given, const CostOptions& options);

bool refuses(const Topology& topology, const std::vector<Device>& devices, const Workload& w,
             const std::string& schedule, const Given& given);

// Lone times on this machine, for closed forms.
PieceTimes piece_times(const Topology& topology, const std::vector<Device>& devices, const Workload& w,
                       const CostOptions& options);
std::optional<ClosedForm> closed_form_on(const Topology& topology, const std::vector<Device>& devices,
                                         const Workload& w, const std::string& schedule, const Given& given,
                                         const CostOptions& options);

// A layer whose GEMM takes `comp` and whose exchange moves shards of `shard` bytes, on ideal devices.
Workload layer(Pattern pattern, std::uint32_t tp, std::uint32_t tokens, std::uint32_t in, std::uint32_t out);

inline bool close(Seconds a, Seconds b, double tolerance = 1e-9) {
  const double d = a.si() - b.si();
  return (d < 0 ? -d : d) <= tolerance * (a.si() > b.si() ? a.si() : b.si());
}

}  // namespace crosscheck
