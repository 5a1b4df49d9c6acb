// State of one simulation. The parts of its behaviour lie in one file each:
//   run.cpp       the loop, begin and end of ops, streams
//   slots.cpp     who is admitted: tokens, slot pools, SMs of tiled kernels
//   tiles.cpp, tiles_static.cpp, cohorts.cpp   tiled kernels: workers, parts, waves
//   stores.cpp    tanks
//   power.cpp     load and clock of devices under a power cap
//   flows.cpp     what the solver runs: fluid ops, cohorts, drains, background; rate records and the certificate
//   deadlock.cpp  why it cannot go on
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/date_heap.hpp"
#include "engine/fast_solver.hpp"
#include "engine/plan.hpp"
#include "engine/pool_table.hpp"
#include "engine/state.hpp"
#include "overlap/engine.hpp"
#include "overlap/solver.hpp"

namespace overlap::engine {

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
  void hold_to_limit(std::uint32_t op);
  void leave_lanes(std::uint32_t op);
  void complete(std::uint32_t source);
  void finish_timeline();
  void push(double time, EventKind kind, std::uint32_t index, std::uint32_t generation = 0) {
    events_.push(time, static_cast<std::uint8_t>(kind), index, generation);
  }
  [[nodiscard]] const Demand& demand(std::uint32_t op) const { return demands_.ops[op]; }
  [[nodiscard]] const Op& op(std::uint32_t i) const { return graph_.ops()[i]; }
  // Where each op has one member, the op's number is its member's: nothing of the graph is read.
  [[nodiscard]] Range lanes_of(std::uint32_t i) const { return member_times_.empty() ? Range{i, i + 1} : op(i).lanes; }
  [[nodiscard]] const Lane& lane(std::uint32_t member) const { return graph_.lane(lane_id(member)); }
  [[nodiscard]] LaneId lane_id(std::uint32_t member) const { return graph_.lane_refs({member, member + 1})[0]; }
  [[nodiscard]] std::span<const Use> uses_of(const Demand& d) const {
    return {demands_.uses.data() + d.uses.begin, d.uses.size()};
  }
  [[nodiscard]] std::string name(std::uint32_t op) const;
  void make_members();

  // streams.cpp
  void make_streams();
  void wait_met(std::uint32_t member, std::uint32_t source);
  [[nodiscard]] double stream_ready(std::uint32_t member) const;
  void reach(std::uint32_t member, std::uint32_t behind);
  [[nodiscard]] bool records_event(std::uint32_t i, LaneId lane) const;
  [[nodiscard]] double race_delay(std::uint32_t member) const;
  [[nodiscard]] std::uint64_t tie_of(std::uint32_t member) const;

  // slots.cpp
  void make_pools();
  void make_tokens();
  void claim(std::uint32_t member);
  void stand_in_line(const Claim& c);
  void stand_at_pool(const Claim& c);
  bool arbitrate();
  void sort_pools();
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
  [[nodiscard]] std::uint32_t claimable(const Kernel& k) const;
  [[nodiscard]] std::uint32_t wanted(const Kernel& k) const;
  [[nodiscard]] std::uint32_t first_wanting(const Pool& pool) const;

  // groups.cpp
  void make_groups();
  [[nodiscard]] std::uint32_t room(std::uint32_t pool, std::uint32_t cluster) const;
  [[nodiscard]] std::uint32_t granted(const Kernel& k) const;
  void take_slots(std::uint32_t pool, std::uint32_t count, std::uint32_t cluster, std::vector<std::uint8_t>& places);
  void give_slots(std::uint32_t pool, std::uint32_t count, std::vector<std::uint8_t>& places);
  std::vector<std::uint8_t>& places_of(std::uint32_t member);
  [[nodiscard]] const std::vector<std::uint8_t>& whole_order(std::uint32_t pool, std::uint32_t cluster);

  // tiles.cpp
  void begin_kernel(const Claim& c);
  void give_workers(std::uint32_t kernel, std::uint32_t sms);
  void start_late_workers(std::uint32_t kernel, std::uint32_t sms, Seconds delay);
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
  [[nodiscard]] bool is_ready(std::uint32_t part) const { return plan_.parts[part].pending == 0; }
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

  // beside.cpp
  void make_load();
  void load_device(const Cohort& c, bool begins);
  [[nodiscard]] double beside_cap(std::uint32_t op) const;
  void update_load();

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
  EventQueue events_;
  std::unique_ptr<FlowSolver> solver_;
  fast::FastSolver* fast_ = nullptr;  // solver_, if it is that one: its calls can be inlined
  std::vector<FlowId> finished_;

  std::vector<std::uint32_t> worklist_;         // members whose last wait was met at this date
  std::vector<std::uint32_t> members_missing_;  // by op: members not yet admitted
  std::vector<std::uint32_t> activity_;         // by op: its kernel or store while it runs
  std::vector<std::uint32_t> member_times_;     // by op: first entry in timeline_.members; empty when no op has several

  // Streams; empty when free.
  std::vector<LaneState> lanes_;
  std::vector<std::uint32_t> satisfied_;  // by member: waits met before its lane came to it
  std::vector<LaunchKind> launch_kinds_;  // by op

  std::vector<Pool> pools_;
  std::vector<std::uint32_t> dirty_pools_;
  IndexSet pool_set_;  // empty between uses
  PoolTable pool_table_;
  std::vector<WholeOrder> whole_orders_;
  std::vector<std::vector<std::uint8_t>> places_;  // by member: groups of the slots it holds; one entry without groups
  std::vector<std::uint32_t> token_begin_;         // by op into token_uses_; empty without tokens
  std::vector<TokenUse> token_uses_;
  std::vector<std::int64_t> tokens_;
  std::vector<Line> token_lines_;
  std::vector<std::uint32_t> given_tokens_;

  std::vector<Kernel> kernels_;
  std::vector<std::uint32_t> free_kernels_;
  std::vector<std::uint32_t> dirty_kernels_;
  std::vector<Cohort> cohorts_;
  std::vector<std::uint32_t> free_cohorts_;
  // Of plan_.parts: parts of tiled Gemms by PartId, then one slot a kernel, for tiled ops without parts.
  IndexSet open_parts_;

  std::vector<Store> stores_;
  std::vector<std::uint32_t> free_stores_;
  std::vector<TankState> tanks_;  // the last one is for stores without a tank
  std::vector<std::uint32_t> active_tanks_;
  std::uint64_t rates_seen_ = 0;  // FastSolver::changes() when all of them were looked at

  std::vector<PowerState> power_;  // by device; empty without caps
  std::vector<std::uint32_t> dirty_power_;

  std::vector<std::uint32_t> load_;    // by device: SMs that run tiles; empty when no op is slower beside them
  std::vector<std::uint32_t> slowed_;  // ops that are slower beside tiles and have a flow
  bool load_changed_ = false;

  std::vector<std::uint32_t> flow_owner_;  // index << 2 | FlowKind
  IdQueue free_flows_;
  std::vector<FlowId> background_;
  std::vector<Bandwidth> capacities_;
  // Only when rates are recorded or checked.
  bool watched_ = false;
  std::vector<FlowSpec> specs_;
  std::vector<char> live_;
  std::vector<double> op_rate_;
  std::vector<double> new_rate_;
  std::vector<std::uint32_t> rated_ops_;
};

// Throws CheckError naming the op when a demand is not sound.
void check_demands(const OpGraph& graph, const Demands& demands, const Resources& resources);

}  // namespace overlap::engine
