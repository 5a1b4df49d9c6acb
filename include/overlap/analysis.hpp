// What a finished run means: bounds, phases, critical path, links, memory, bandwidths. Reads the graph, its demands,
// the resources and a Timeline; knows no topology and no cost model, so a measured Timeline is analysed by the same
// code.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "overlap/demand.hpp"
#include "overlap/device.hpp"
#include "overlap/engine.hpp"
#include "overlap/op_graph.hpp"
#include "overlap/timeline.hpp"

namespace overlap {

// What an op is to the overlap question.
enum class Activity : std::uint8_t {
  compute,        // a GEMM
  communication,  // data between devices
  local,          // data within a device: gathers, adds, codecs, host gaps
};
[[nodiscard]] Activity activity_of(const OpGraph& graph, const Op& op);

// Devices on the left of a cut and the rates across it.
struct CutLimit {
  std::string name;
  std::vector<bool> left;  // by device
  Bandwidth left_to_right;
  Bandwidth right_to_left;
};

// A run to look at. Everything is referenced and must outlive it.
struct RunView {
  const OpGraph& graph;
  const Demands& demands;
  const Resources& resources;
  const Timeline& timeline;
  std::span<const Device> devices;       // by rank; empty: no bound on FLOPs
  std::span<const CutLimit> cuts{};      // empty: no bound on cuts
  std::span<const Seconds> undivided{};  // by rank: lone time of the device's GEMM in one piece; empty: unknown
};

// ---- Bounds: no run of this graph on this machine can be shorter. Demands and rates only, never a model's time of the
// undivided GEMM.

enum class BoundKind : std::uint8_t {
  path,   // longest chain of lanes and dependencies, each op as fast as alone
  flops,  // FLOPs of one device over its peak rate
  rate,   // bytes that must pass one link (port, memory) over its rate
  cut,    // bytes that must cross a cut over the cut's rate
};
[[nodiscard]] std::string_view to_text(BoundKind k);

struct Bound {
  BoundKind kind = BoundKind::path;
  Seconds time;
  std::string where;  // "gpu 0", the resource, the cut; empty for path
};

// The strongest of each kind, in the order of BoundKind; kinds without data are left out.
[[nodiscard]] std::vector<Bound> lower_bounds(const RunView& run);
// The strongest of all; ties: the first kind.
[[nodiscard]] Bound strongest(std::span<const Bound> bounds);

// From the end of each op to the end of any run of this graph, at the least: the longest chain behind it, each op as
// fast as alone. `longest` is the longest chain of all. Both empty (zero) where an op comes before what it waits for.
struct ChainTails {
  std::vector<Seconds> after;  // by op
  Seconds longest;
};
[[nodiscard]] ChainTails chain_tails(const OpGraph& graph, const Demands& demands, const Resources& resources);
// Time of each op alone on the machine, from begin to end.
[[nodiscard]] std::vector<Seconds> lone_times(const OpGraph& graph, const Demands& demands, const Resources& resources);

// ---- Phases: where the makespan went, seen from the device that ends last. Their sum is the makespan.

struct Phases {
  DeviceId device;        // ends last; ties: the lowest rank
  Seconds floor;          // its FLOPs over peak
  Seconds kernel;         // the rest of the GEMM's lone time in one piece (fill, waves, memory)
  Seconds decomposition;  // its GEMMs alone, one after another, beyond the GEMM in one piece (DIL); < 0: a gain
  Seconds contention;     // its GEMMs together as they ran, beyond the GEMMs alone (CIL); < 0: they ran side by side
  Seconds slot_wait;      // no GEMM runs and one waits for SMs
  Seconds launch;         // nothing runs: stream, event and launch costs
  Seconds exposed;        // communication, or waiting for it, without a GEMM; stalls inside a fused GEMM
  Seconds local;          // gathers, adds, codecs without a GEMM
  Seconds tail;           // after the last op: release and join
  [[nodiscard]] Seconds total() const;
  // Time in which a GEMM makes progress on the device.
  [[nodiscard]] Seconds computing() const { return floor + kernel + decomposition + contention; }
};
[[nodiscard]] Phases phases(const RunView& run);

struct PhaseName {
  std::string_view name;  // "exposed communication"
  std::string_view key;   // "exposed_communication"
  Seconds Phases::*member;
};
// All phases, in the order in which reports print them.
[[nodiscard]] std::span<const PhaseName> phase_names();

// Share of what overlap could hide that this run hid: (serial - makespan) / min(compute, communication) of the serial
// run. 0 = as serial, 1 = all; negative = slower than serial. `computing` is that of the serial run.
[[nodiscard]] double overlap_efficiency(Seconds serial, Seconds computing, Seconds makespan);

// ---- Critical path: a chain of steps without gap or overlap from 0 to the makespan.

enum class StepKind : std::uint8_t {
  run,     // the op works
  slots,   // ready, waiting for SMs, copy engines or tokens
  launch,  // dependencies met, stream costs not yet paid
  join,    // after the last op
};
[[nodiscard]] std::string_view to_text(StepKind k);

struct PathStep {
  StepKind kind = StepKind::run;
  OpId op;  // invalid for join
  Seconds begin;
  Seconds end;
};
// In time order; the durations sum to the makespan. A fused GEMM is entered where the wait of a part held it up.
[[nodiscard]] std::vector<PathStep> critical_path(const RunView& run);

// ---- Resources.

struct LinkUse {
  ResourceId resource;
  Bytes bytes;                   // that passed it
  Seconds busy;                  // at least one flow was on it
  std::uint32_t peak_flows = 0;  // most flows at once
  double utilisation = 0.0;      // bytes over capacity x makespan
};
// By ResourceId.
[[nodiscard]] std::vector<LinkUse> link_uses(const RunView& run);
// One sentence on how flows share it: "max-min fair; full duplex ...".
[[nodiscard]] std::string sharing_rule(const FluidResource& r);

struct Delivered {
  Bytes scheduled;                      // what transfers move by the graph's slices, before codecs
  Bytes delivered;                      // what their demands carried
  std::vector<std::string> mismatches;  // transfers without codec that carry other than their slices
};
[[nodiscard]] Delivered delivered_bytes(const RunView& run);

// Most bytes of scratch buffers alive at once, by device: alive from the first write's begin to the last access's end.
[[nodiscard]] std::vector<Bytes> peak_scratch(const RunView& run);

// ---- Bandwidths of collectives, as nccl-tests defines them: bytes of the whole tensor over time, and that times what
// an ideal algorithm sends over each device's port per byte: (n-1)/n, 2(n-1)/n for all-reduce.
struct CollectiveBandwidth {
  Bandwidth algorithm;
  Bandwidth bus;
};
[[nodiscard]] CollectiveBandwidth collective_bandwidth(CollectiveKind kind, std::uint32_t members, Bytes tensor,
                                                       Seconds time);
// Time in which at least one communication op of any device works.
[[nodiscard]] Seconds communication_time(const RunView& run);

}  // namespace overlap
