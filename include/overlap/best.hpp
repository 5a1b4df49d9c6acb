// The best schedule for a layer on a machine: every applicable schedule over its search ranges, simulated, ranked and
// held against what physics allows. Sits above schedules, cost models and engine; only commands use it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "overlap/cost.hpp"
#include "overlap/engine.hpp"
#include "overlap/schedule.hpp"

namespace overlap {

// No schedule of the layer can be faster, whatever it does: FLOPs over peak; bytes that every division of the work must
// move over a rate. Knows the layer, not a graph.
//   ag+gemm  the shards of one side of a cut must reach the other side once: m |L|/P from left to right
//   gemm+rs  one sum for each row of the other side must cross: m |R|/P from left to right
//   gemm+ar  each side needs the other's sum: m both ways
//   a2a+gemm m |L| |R| / P^2 each way;  bulk, agk+gemm: as ag+gemm
struct PhysicalBound {
  std::string what;  // "FLOPs over peak", "cut numa 0 | rest", "HBM"
  Seconds time;
};
// Strongest first; ties in the order FLOPs, HBM, cuts by their order in the topology.
[[nodiscard]] std::vector<PhysicalBound> physical_bounds(const Workload& w, const Machine& machine);

struct BestOptions {
  std::optional<Bytes> memory_limit;     // of scratch buffers a device; unset = any
  Seconds host_launch;                   // of one launch by the host thread; 0 = launches cost the host nothing
  std::vector<std::string> schedules{};  // names to try; empty = all
  std::size_t most_settings = 4096;      // settings of one schedule; a larger search range is an InputError
  std::function<void(std::size_t done, std::size_t total)> progress{};
};

struct Candidate {
  const ScheduleInfo* info = nullptr;
  Params params;
  Seconds makespan;
  Bytes extra_memory;        // peak scratch of the device that needs most
  std::size_t launches = 0;  // ops that the busiest device launches
  bool tied = false;         // within the validated error of the best
};
[[nodiscard]] std::string label_of(const Candidate& c);  // "hierarchical chunks=8 rings=2 ..."

struct Best {
  std::vector<Candidate> ranked;                             // fastest first; ties: fewer launches, then table order
  std::vector<std::pair<std::string, std::string>> refused;  // schedule and reason, where no setting of it can run
  std::vector<Candidate> too_large;                          // over the memory limit, fastest first
  std::vector<PhysicalBound> bounds;
  double error = 0.0;              // relative: settings this close to the best are tied
  double gap = 0.0;                // best makespan over the strongest bound, minus 1
  std::vector<std::string> knobs;  // what to set, in words
};
// Throws CheckError when nothing can run (or all exceed the limit).
[[nodiscard]] Best find_best(const Workload& w, const Machine& machine, const CostOptions& cost,
                             const SimOptions& simulation, const BestOptions& options);

// Every setting over the search ranges of a schedule; parameters without a range keep their default.
[[nodiscard]] std::vector<Params> search_settings(const ScheduleInfo& info);

}  // namespace overlap
