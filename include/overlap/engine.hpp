// The event-driven engine: OpGraph + Demands + Resources -> Timeline. A function: no observers, no global clock.
//
// A member of an op is admitted when its dependencies and the previous op of its lane have finished, its tokens and its
// slots are free (all at once; by priority, then ready time, then program order). It holds slots to the end. The work
// begins when all members are admitted; until then admitted members spin, holding their slots. A dependency on an op
// that ran on one of this op's devices holds back the member of that device only, any other dependency all members.
// Time is double seconds, event order (time, sequence); same input, same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "overlap/demand.hpp"
#include "overlap/device.hpp"
#include "overlap/op_graph.hpp"
#include "overlap/timeline.hpp"

namespace overlap {

enum class ResourceKind : std::uint8_t { link, injection, ejection, hbm, other };
struct FluidResource {
  std::string name;
  ResourceKind kind = ResourceKind::link;
  Bandwidth capacity;
};

// `mma`: the matrix units of a device as one slot, for GEMMs that are priced as a whole.
enum class PoolKind : std::uint8_t { sm, copy_engine, mma, host };
struct SlotPool {
  DeviceId device;
  PoolKind kind = PoolKind::sm;
  std::uint32_t count = 0;
};

// Post-issue buffer of remote stores.
struct Tank {
  std::string name;
  Bytes capacity;
};

// Traffic that is there whatever the schedule does: runs from `start` until `stop` or the end of the graph.
struct BackgroundFlow {
  std::vector<Use> uses;
  Bandwidth cap;
  Seconds start;
  Seconds stop = kForever;
};

struct Resources {
  std::vector<FluidResource> fluids;
  std::vector<SlotPool> pools;
  std::vector<Tank> tanks;
  std::vector<StreamCosts> streams;  // by device; empty = free streams and events
  std::vector<BackgroundFlow> background;
};

struct SimOptions {
  std::uint64_t seed = 0;  // decides races that real machines leave open; 0 = program order
  bool record_rates = false;
  bool check_certificate = false;  // assert max-min optimality after every event (tests)
};

// Throws CheckError when the graph cannot finish, naming the waiting ops and the cycle.
Timeline simulate(const OpGraph& graph, const Demands& demands, const Resources& resources, const SimOptions& options);

}  // namespace overlap
