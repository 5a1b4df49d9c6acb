// The event-driven engine: OpGraph + Demands + Resources -> Timeline. A function: no observers, no global clock.
//
// Admission. A member of an op is ready when its dependencies and the previous op of its lane have finished and its
// stream costs are paid. It is admitted when its tokens and its slots are free, all at once; in line for slots the
// order is priority, then ready time, then program order, and nobody behind takes what the head of the line waits for
// (a member that needs slots of several pools stands in the line of its first need). It holds slots to the end. The
// work begins when all members are admitted; until then admitted members spin, holding their slots. A dependency on an
// op that ran on one of this op's devices holds back the member of that device only, any other dependency all members.
//
// Tiled kernels. A dynamic (or carve-out) kernel is admitted as soon as one SM is free and it is first in line; at each
// tile boundary its SMs are given anew to whoever is first: the kernel itself keeps the place in line that it had at
// its admission. So a kernel launched behind it at equal priority waits for its tail, one of higher priority takes SMs
// at the next boundary, and an op that needs many SMs at once collects them. A worker with no ready part spins, holding
// its SM. A static persistent kernel keeps each SM until that worker has run its last tile. A
// persistent kernel gives none back either while tiles are left; a worker that gets its SM late finds the two tiles
// (one, where there are fewer) that it claimed at launch, each in last_wave tile times when it is nearly alone. SMs
// of a cluster lie in one group; clusters are dealt out a group in turn, and those taken last are left first. A part
// completes `tail` after its last tile; the kernel frees its last SMs `finish` after the last tile and is complete, as
// others see it, max(finish, tail) after it.
//
// Streams. An op starts in its lane behind the previous one plus the gap of their kinds plus `satisfied_wait` for each
// event of another lane that was complete by then; an event that completes later wakes it local_wait or remote_wait
// after. Waits of parts are flags that a running kernel polls: they cost nothing here.
//
// Stores. The issuer fills the tank at the demand's cap; while the tank is full it runs at the rate of the drain. The
// lane goes on and slots are free when all is issued; dependents wait for delivery. Stores of one tank over the same
// range of uses drain in the order of issue, others side by side.
//
// Power. Running tiles load their device: the share of its SMs that run tiles, times mma_share. Load time adds up while
// tiles run and falls, second by second, while none do. Up to PowerCap::onset nothing happens; over the next `ramp` of
// load the MMA share of a tile stretches to steady_ratio, in 16 equal steps. Only tiled kernels load and feel it.
//
// Time is double seconds, event order (time, sequence); dates within 1e-12 (relative) are one; same input, same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
  std::vector<std::uint32_t> groups{};  // slots of each group, for members that need several in one; empty: no groups
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
  std::vector<std::optional<PowerCap>> power;  // by device; empty = none
};

// Both are exact; `plain` is the oracle of the tests.
enum class SolverKind : std::uint8_t { fast, plain };

struct SimOptions {
  // Decides races that real machines leave open. 0: program order. Otherwise members that are in line for slots with
  // equal priority and ready time go in an order drawn from the seed, and each member of a collective becomes ready
  // `race_window` late with even odds, so that it races the kernels that become ready up to so much behind it. Equal
  // seeds, equal results.
  std::uint64_t seed = 0;
  Seconds race_window{};
  SolverKind solver = SolverKind::fast;
  bool record_rates = false;
  bool check_certificate = false;  // assert max-min optimality after every event (tests)
  // For who wants to know only of runs that end by `limit`: gives up when an op ends so late that what must still
  // follow it (by op; chain_tails() of analysis.hpp) goes beyond. Both or none.
  std::span<const Seconds> least_after{};
  Seconds limit = kForever;
};

// Throws CheckError when a demand is not sound (an unknown resource, more slots than the pool has, a NaN), and at once
// when the graph cannot finish, naming the waiting ops and the cycle.
Timeline simulate(const OpGraph& graph, const Demands& demands, const Resources& resources, const SimOptions& options);

}  // namespace overlap
