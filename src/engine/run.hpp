// State of one simulation. The parts of its behaviour lie in one file each:
//   run.cpp       the loop, begin and end of ops, streams
//   slots.cpp     who is admitted: tokens, slot pools, SMs of tiled kernels
//   tiles.cpp     tiled kernels: cohorts, parts, readiness
//   stores.cpp    tanks
//   power.cpp     load and clock of devices under a power cap
//   flows.cpp     what the solver runs: fluid ops, cohorts, drains, background; rate records and the certificate
//   deadlock.cpp  why it cannot go on
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/date_heap.hpp"
#include "engine/plan.hpp"
#include "engine/pool_table.hpp"
#include "overlap/engine.hpp"
#include "overlap/solver.hpp"

namespace overlap::engine {

inline constexpr double kBatch = 1e-12;  // dates this close (relative) are one
inline constexpr double kNever = 1e200;  // no real date is beyond

enum class EventKind : std::uint8_t {
  member_ready,
  first_byte,
  op_end,
  part_end,
  cohort,
  kernel_release,
  tank,
  background_start,
  background_stop,
  power_step,
};

enum class FlowKind : std::uint8_t { op, cohort, store, background };

// Place in line for slots.
struct Claim {
  std::int32_t priority = 0;
  double ready = 0.0;
  std::uint64_t tie = 0;
  std::uint32_t member = kNone;
};
inline bool goes_before(const Claim& a, const Claim& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.ready != b.ready) return a.ready < b.ready;
  if (a.tie != b.tie) return a.tie < b.tie;
  return a.member < b.member;
}

// Waiting claims; a heap with the first in line in front.
class Line {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Claim& front() const { return heap_.front(); }
  [[nodiscard]] const std::vector<Claim>& all() const { return heap_; }
  void push(const Claim& c);
  void pop();

 private:
  std::vector<Claim> heap_;
};

struct Pool {
  std::uint32_t count = 0;
  std::uint32_t free = 0;
  bool dirty = false;
  Line line;
  std::vector<std::uint32_t> kernels;  // resident, with tiles (workers) not started
};

// A set of indices in order.
class IndexSet {
 public:
  void resize(std::size_t n) { words_.resize((n + 63) / 64, 0); }
  void insert(std::uint32_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void erase(std::uint32_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  [[nodiscard]] bool contains(std::uint32_t i) const { return (words_[i / 64] >> (i % 64) & 1U) != 0; }
  // The first member from i on; there must be one.
  [[nodiscard]] std::uint32_t next(std::uint32_t i) const {
    std::uint64_t rest = words_[i / 64] >> (i % 64);
    if (rest != 0) return i + static_cast<std::uint32_t>(std::countr_zero(rest));
    std::uint32_t w = i / 64 + 1;
    while (words_[w] == 0) ++w;
    return w * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[w]));
  }

 private:
  std::vector<std::uint64_t> words_;
};

enum class CohortState : std::uint8_t { warming, parked, running };

// Tiles of one part that start together on `count` workers and run `waves` waves in lock-step; or the workers
// themselves while they warm up. Static kernels: also the workers' place.
struct Cohort {
  std::uint32_t kernel = kNone;
  std::uint32_t count = 0;
  std::uint32_t waves = 1;
  std::uint32_t part = 0;      // slot of the part states
  std::uint32_t worker = 0;    // static: first worker
  std::uint32_t wave = 0;      // static: waves that these workers have run
  std::uint32_t part_end = 0;  // static: tile after the last one of `part`
  std::uint32_t generation = 0;
  std::uint32_t previous = kNone;  // in its kernel's list
  std::uint32_t next = kNone;
  CohortState state = CohortState::parked;
  double started = 0.0;
  double tile_time = 0.0;
  FlowId flow;  // invalid: runs by the clock
};

// A resident tiled kernel.
struct Kernel {
  std::uint32_t op = kNone;
  std::uint32_t pool = kNone;
  std::uint32_t first_part = 0;  // slot of the part states
  std::uint32_t parts = 0;
  std::uint32_t tiles = 0;
  std::uint32_t workers = 0;      // most it may hold
  std::uint32_t held = 0;         // SMs it holds
  std::uint32_t idle = 0;         // held, no tile
  std::uint32_t warming = 0;      // held, not yet ready for a first tile
  std::uint32_t returned = 0;     // given back at this date: warm if it gets them again
  std::uint32_t unstarted = 0;    // tiles
  std::uint32_t future = 0;       // tiles of running cohorts' later waves
  std::uint32_t unfinished = 0;   // tiles
  std::uint32_t next_worker = 0;  // static: workers started so far
  std::uint32_t open_parts = 0;   // parts that are ready and have tiles not started
  std::uint32_t cursor = 0;       // no part before it is open (fixed order: has tiles not started)
  std::uint32_t cohorts = kNone;  // list
  bool fresh = true;              // its first workers pay the launch
  bool fixed_order = false;
  bool persistent = false;
  bool dirty = false;
  Claim claim;
};

// A store op between its first byte and its delivery. Bytes as of `since` of its tank, rates from then on.
struct Store {
  std::uint32_t op = kNone;
  bool issuing = true;
  bool capped = true;  // its flow may run at the issue rate only: the tank holds nothing of it
  double work = 0.0;
  double issued = 0.0;
  double drained = 0.0;
  double issue_rate = 0.0;
  double drain_rate = 0.0;
  FlowId flow;  // invalid while a store before it drains over the same route
};

struct TankState {
  double capacity = kNever;
  double since = 0.0;
  bool dirty = false;
  std::uint32_t generation = 0;       // of its next event
  std::vector<std::uint32_t> stores;  // in order of issue
};

// Load of a device with a power cap.
struct PowerState {
  double onset = 0.0;
  double ramp = 0.0;
  double steady_ratio = 1.0;
  double load = 0.0;  // seconds at full MMA load, at `since`
  double since = 0.0;
  double rate = 0.0;  // of load: the share of the device that runs MMAs
  std::uint32_t step = 0;
  std::uint32_t running = 0;  // cohorts
  std::uint32_t generation = 0;
  bool capped = false;  // has a cap at all
  bool dirty = false;
};

class Run {
 public:
  Run(const OpGraph& graph, const Demands& demands, const Resources& resources, const SimOptions& options);
  Timeline go();

 private:
  // run.cpp
  void start_lanes();
  void settle();
  void advance();
  void handle(const Event& e);
  void unblocked(std::uint32_t member);
  void admit(std::uint32_t member);
  void begin(std::uint32_t op);
  void first_byte(std::uint32_t op);
  void end_op(std::uint32_t op);
  void leave_lanes(std::uint32_t op);
  void complete(std::uint32_t source);
  void finish_timeline();
  void push(double time, EventKind kind, std::uint32_t index, std::uint32_t generation = 0) {
    events_.push(time, static_cast<std::uint8_t>(kind), index, generation);
  }
  [[nodiscard]] const Demand& demand(std::uint32_t op) const { return demands_.ops[op]; }
  [[nodiscard]] const Op& op(std::uint32_t i) const { return graph_.ops()[i]; }
  [[nodiscard]] const Lane& lane(std::uint32_t member) const { return graph_.lane(lane_id(member)); }
  [[nodiscard]] LaneId lane_id(std::uint32_t member) const { return graph_.lane_refs({member, member + 1})[0]; }
  [[nodiscard]] std::span<const Use> uses_of(const Demand& d) const {
    return {demands_.uses.data() + d.uses.begin, d.uses.size()};
  }
  [[nodiscard]] std::string name(std::uint32_t op) const;
  void make_members();

  // streams.cpp
  void wait_met(std::uint32_t member, std::uint32_t source);
  [[nodiscard]] double stream_ready(std::uint32_t member) const;
  [[nodiscard]] double race_delay(std::uint32_t member) const;
  [[nodiscard]] std::uint64_t tie_of(std::uint32_t member) const;

  // slots.cpp
  void make_pools();
  void make_tokens();
  void claim(std::uint32_t member);
  void stand_in_line(const Claim& c);
  void stand_at_pool(const Claim& c);
  bool arbitrate();
  void arbitrate_pool(std::uint32_t pool);
  void serve_token(std::uint32_t token);
  bool make_kernels_yield(std::uint32_t pool, const Claim& c);
  void enter(const Claim& c);
  void release_slots(std::uint32_t op);
  void take_tokens(std::uint32_t op);
  void give_tokens(std::uint32_t op);
  void mark_dirty(std::uint32_t pool);
  [[nodiscard]] bool fits(const Claim& c) const;
  [[nodiscard]] std::uint32_t line_of(std::uint32_t member) const;
  [[nodiscard]] std::uint32_t pool_of(const SlotNeed& need, std::uint32_t member) const;
  [[nodiscard]] std::span<const SlotNeed> slots_of(std::uint32_t op) const;
  [[nodiscard]] std::uint32_t lacking_token(std::uint32_t op) const;
  [[nodiscard]] std::span<const TokenUse> tokens_of(std::uint32_t op) const;
  [[nodiscard]] bool wants_more(const Kernel& k) const;
  [[nodiscard]] std::uint32_t wanted(const Kernel& k) const;
  [[nodiscard]] std::uint32_t first_wanting(const Pool& pool) const;

  // tiles.cpp
  void begin_kernel(const Claim& c);
  void give_workers(std::uint32_t kernel, std::uint32_t sms);
  void take_back(Kernel& k, std::uint32_t sms);
  void dispatch(std::uint32_t kernel);
  void hand_out(std::uint32_t kernel);
  std::uint32_t new_kernel(const Claim& c);
  void run_tiles(std::uint32_t cohort, double work);
  void set_state(Cohort& c, CohortState state);
  [[nodiscard]] double tile_work(const Cohort& c) const;
  [[nodiscard]] double cohort_cap(const Cohort& c);
  [[nodiscard]] std::span<const std::uint32_t> part_tiles(std::uint32_t op) const;
  void start_wave(std::uint32_t cohort, double factor);
  void end_cohort(std::uint32_t cohort);
  void split_waves(std::uint32_t kernel);
  void split_cohort(std::uint32_t cohort, double left);
  [[nodiscard]] double waves_left(const Cohort& c);
  void credit(std::uint32_t kernel, std::uint32_t part, std::uint32_t tiles);
  void part_ready(std::uint32_t part);
  void open_part(std::uint32_t kernel, std::uint32_t part);
  void close_part(std::uint32_t kernel, std::uint32_t part);
  [[nodiscard]] bool is_ready(std::uint32_t part) const {
    return part >= graph_.parts().size() || plan_.part_pending[part] == 0;
  }
  void complete_part(std::uint32_t op, std::uint32_t part);
  void kernel_done(std::uint32_t kernel);
  void free_kernel_slots(std::uint32_t kernel);
  void free_kernel(std::uint32_t kernel);
  void mark_kernel(std::uint32_t kernel);
  [[nodiscard]] std::uint32_t ready_part(Kernel& k) const;
  [[nodiscard]] bool contested(const Kernel& k) const;
  [[nodiscard]] std::uint32_t total_tiles(std::uint32_t op) const;
  [[nodiscard]] const TileDemand& tile_demand(std::uint32_t op) const { return demands_.tiles[demand(op).tiles]; }
  std::uint32_t new_cohort(std::uint32_t kernel);
  void drop_cohort(std::uint32_t cohort);
  // tiles_static.cpp
  void go_on_static(std::uint32_t cohort);
  void run_static(std::uint32_t cohort);
  void place_static(std::uint32_t cohort, std::vector<std::uint32_t>& more);
  void unpark(std::uint32_t kernel, std::uint32_t part);

  // stores.cpp
  void begin_store(std::uint32_t op);
  void start_drain(std::uint32_t store);
  void store_drained(std::uint32_t store);
  void end_issue(std::uint32_t store);
  bool update_tanks();
  bool update_tank(std::uint32_t tank);
  void settle_tank(std::uint32_t tank);
  bool end_issues(std::uint32_t tank);
  bool set_drain_cap(Store& s);
  void set_issue_rates(TankState& t);
  void schedule_tank(std::uint32_t tank);
  [[nodiscard]] std::uint32_t tank_of(std::uint32_t op) const;

  // power.cpp
  void make_power();
  void load_power(const Cohort& c, double sign);
  void settle_power(PowerState& s);
  void update_power();
  void schedule_power(std::uint32_t device);
  void step_power(std::uint32_t device);
  [[nodiscard]] PowerState* power_of(std::uint32_t kernel);
  [[nodiscard]] double stretch_of(std::uint32_t kernel);

  // flows.cpp
  FlowId start_flow(FlowKind kind, std::uint32_t index, const FlowSpec& spec);
  Bytes cancel_flow(FlowId id);
  void cap_flow(FlowId id, Bandwidth cap);
  void retire_flow(FlowId id);
  void flow_done(FlowId id);
  void start_background(std::uint32_t i);
  void stop_background(std::uint32_t i);
  void inspect_flows();
  void record_rates();

  // deadlock.cpp
  friend class Deadlock;
  [[noreturn]] void stuck() const;

  const OpGraph& graph_;
  const Demands& demands_;
  const Resources& resources_;
  const SimOptions& options_;
  Plan plan_;
  Timeline timeline_;
  double now_ = 0.0;
  std::size_t left_ = 0;  // ops not ended
  EventHeap events_;
  std::unique_ptr<FlowSolver> solver_;
  std::vector<FlowId> finished_;

  std::vector<std::uint32_t> worklist_;         // members whose last wait was met at this date
  std::vector<std::uint32_t> members_missing_;  // by op: members not yet admitted
  std::vector<std::uint32_t> activity_;         // by op: its kernel or store while it runs
  std::vector<std::uint32_t> member_times_;     // by op: first entry in timeline_.members; empty when no op has several

  // Streams; empty when free.
  std::vector<double> lane_reached_;  // by member: date at which its lane came to it; < 0 before
  std::vector<double> late_wait_;     // by member: date at which the last late wait wakes it
  std::vector<std::uint32_t> satisfied_;

  std::vector<Pool> pools_;
  std::vector<std::uint32_t> dirty_pools_;
  PoolTable pool_table_;
  std::vector<std::uint32_t> token_begin_;  // by op into token_uses_; empty without tokens
  std::vector<TokenUse> token_uses_;
  std::vector<std::int64_t> tokens_;
  std::vector<Line> token_lines_;
  std::vector<std::uint32_t> given_tokens_;

  std::vector<Kernel> kernels_;
  std::vector<std::uint32_t> free_kernels_;
  std::vector<std::uint32_t> dirty_kernels_;
  std::vector<Cohort> cohorts_;
  std::vector<std::uint32_t> free_cohorts_;
  // Parts of tiled Gemms by PartId; then one slot a kernel, for tiled ops without parts.
  std::vector<std::uint32_t> part_unstarted_;
  std::vector<std::uint32_t> part_unfinished_;
  IndexSet open_parts_;

  std::vector<Store> stores_;
  std::vector<std::uint32_t> free_stores_;
  std::vector<TankState> tanks_;  // the last one is for stores without a tank
  std::vector<std::uint32_t> active_tanks_;

  std::vector<PowerState> power_;  // by device; empty without caps
  std::vector<std::uint32_t> dirty_power_;

  std::vector<std::uint32_t> flow_owner_;  // index << 2 | FlowKind
  std::vector<std::uint32_t> free_flows_;
  std::vector<FlowId> background_;
  std::vector<Bandwidth> capacities_;
  // Only when rates are recorded or checked.
  std::vector<FlowSpec> specs_;
  std::vector<char> live_;
  std::vector<double> op_rate_;
  std::vector<double> new_rate_;
  std::vector<std::uint32_t> rated_ops_;
};

// Throws CheckError naming the op when a demand is not sound.
void check_demands(const OpGraph& graph, const Demands& demands, const Resources& resources);

}  // namespace overlap::engine
