// The fast max-min solver: exact, incremental. After a change it re-evaluates only resources whose condition may have
// broken, in increasing order of level, and moves only flows whose bottleneck moved:
//
//   - a resource's level is what its capacity leaves over its members after the flows that others hold below it;
//   - a flow held elsewhere at a higher level joins the resource; a member with a lower cap leaves to its own group;
//   - a changed level makes the members' other resources due for the same check.
//
// When nothing is due, every flow has a saturated resource (or its cap) on which none is faster: the certificate of
// max-min fairness, hence *the* allocation, whatever the path to it. Processing by increasing level makes the lowest
// wrong level right for good in each round, so rounds end; a bound on the work falls back on filling from scratch.
// Memory grows with the largest id of a flow ever started: use numbers again. A FlowSpec is copied.
// Ties stay where they are. Levels closer than rounding (see `slack`) are equal.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "engine/fast_dates.hpp"
#include "engine/fast_state.hpp"
#include "overlap/solver.hpp"

namespace overlap::fast {

struct Options {
  bool from_scratch = false;  // fill everything anew at every solve: the incremental path's oracle
};

struct Counters {
  std::uint64_t solves = 0;
  std::uint64_t evaluations = 0;  // of one resource
  std::uint64_t splits = 0;       // evaluations that found a changed membership
  std::uint64_t sweeps = 0;       // changes of a level that made all above it due
  std::uint64_t moves = 0;        // of one flow between groups
  std::uint64_t refills = 0;      // solves that ended from scratch
};

class FastSolver final : public FlowSolver {
 public:
  explicit FastSolver(std::span<const Bandwidth> capacities, Options options = {});

  void start(FlowId id, const FlowSpec& spec) override;
  Bytes cancel(FlowId id) override;
  void set_capacity(ResourceId r, Bandwidth capacity) override;
  void set_cap(FlowId id, Bandwidth cap) override;
  Seconds next_completion() override;
  void advance_to(Seconds t, std::vector<FlowId>& finished) override;
  Bandwidth rate(FlowId id) override;
  Bytes remaining(FlowId id) override;

  [[nodiscard]] const Counters& counters() const { return counters_; }
  // Equal numbers, equal rates of all flows that are live at both dates.
  [[nodiscard]] std::uint64_t changes() {
    solve();
    return changes_;
  }

 private:
  struct Due {
    double level;
    Index link;
  };
  // Order of a heap whose front has the lowest level.
  static constexpr auto later = [](const Due& a, const Due& b) {
    return a.level > b.level || (a.level == b.level && a.link > b.link);
  };

  // fast_solver.cpp: flows come, fast_finish.cpp: and go
  [[gnu::noinline]] void more_slots(Index id);
  [[gnu::noinline]] void widen(Index count);
  [[gnu::noinline]] void note_busy(Index link);
  void remove(Index slot, Index hop_count, double level);
  [[nodiscard]] std::span<const Hop> hops(Index slot) const {
    return {hops_.data() + (std::size_t{slot} << stride_log_), flows_[slot].hop_count};
  }
  void finish_group(Index group, double limit, std::vector<FlowId>& finished);
  [[nodiscard]] double left_of(const Flow& flow) const;  // clock units

  // fast_groups.cpp: clocks and members
  void touch(Index group);
  void note_touched(Index group);
  void join(Index slot, Index group, double left);
  void enter(Index slot, Flow& flow, Index group, double left);
  void leave(Index slot);
  void move(Index slot, Index group);
  Index own_group(Index slot);
  void settle_dates();
  void member_rise(Group& group, Index at, Member m);
  void member_sink(Group& group, Index at, Member m);

  // fast_levels.cpp: which resources are due; fast_place.cpp: new flows; fast_fill.cpp: one resource
  struct Sums {
    double fixed = 0;   // bytes/s taken by flows held elsewhere
    double demand = 0;  // of the members, at level 1
    double top = 0;     // highest level among the flows held elsewhere
  };
  void solve();
  void place(Index slot);
  void place_alone(Index slot, Index holder, double level);
  bool place_at_once(Index slot);
  [[nodiscard]] bool have_room(Index slot, double level) const;
  void found(Index slot, Flow& flow, Index group);
  void mark(Index link);
  bool queue(Index link);
  void queue_in_order(Index link);
  void mark_hops(Index slot, Index except);
  bool next_due(Index& link);
  bool next_of_wave(Index& link);
  void evaluate(Index link);
  void split(Index link, const Sums& s);
  void gather_bounds(Index link, const Sums& s);
  [[nodiscard]] double bound_of(const Link& link, Index entry, double tie) const;
  void set_level(Index link, double level);
  void propagate(Index link, double change);
  bool sweep(double from, bool rising);
  void start_wave(double from);
  static void sort_nearly_sorted(std::span<Due> list);
  void note_done(Index link, double level);
  Sums sums(Index link);
  [[nodiscard]] Sums sums_alike(Index link) const;
  [[nodiscard]] Sums sums_of_each(Index link) const;

  // fast_counts.cpp
  void count_all();
  void count(Index slot, Index group);
  void uncount(Index slot, Index group);
  void propagate_counted(Index link, double change);

  // fast_refill.cpp
  void refill();

  // What the members of a group use of a resource.
  struct Used {
    double demand = 0;  // at level 1
    Index flows = 0;
  };
  struct Done {
    Index link;
    double reach;  // highest level of this one and those before it
  };
  struct Bound {
    double level;
    double demand;
    Index entry;
  };

  Options options_;
  Counters counters_;
  std::uint64_t changes_ = 0;
  double now_ = 0;
  Index link_count_ = 0;
  std::vector<Link> links_;
  std::vector<double> level_;  // by group; kUnbounded: holds nobody
  std::vector<Group> groups_;
  std::vector<Index> free_own_;  // groups beyond the resources, to be reused
  Index slots_ = 0;
  std::vector<Flow> flows_;  // by slot: the caller's id
  std::vector<Hop> hops_;    // slot << stride_log_, then as many as the flow has
  Index stride_log_ = 0;
  Pools pools_;
  Dates dates_;
  std::vector<Index> pending_;  // started, not placed
  std::vector<Due> due_;        // heap: saturated resources by level
  std::vector<Due> wave_;       // more of them, from wave_at_ on in order: those of the last sweeps
  std::size_t wave_at_ = 0;
  std::vector<Index> slack_;  // unsaturated ones: checked when no saturated one is due
  std::vector<Index> busy_;   // resources with entries, and some that had some
  std::vector<Done> done_;    // evaluated since the last sweep, in order
  // Of at most kFew resources, from the first large group on (`counted_`):
  static constexpr Index kFew = 64;
  [[nodiscard]] static std::uint64_t bit(Index link) { return std::uint64_t{1} << (link % kFew); }
  bool counted_ = false;
  std::uint64_t dirty_ = 0;           // those in the queue
  std::vector<std::uint64_t> reach_;  // by group: those that its members use
  std::vector<Used> used_;            // by group and resource
  double swept_ = kUnbounded;         // resources at this level or above are due or in done_
  std::vector<Index> touched_;
  std::vector<Bound> bounds_;        // scratch of split
  std::vector<std::uint64_t> bits_;  // scratch of advance_to
};

// Brings the clock to now and notes that the group's date is due. Call before anything of the group changes.
inline void FastSolver::touch(Index g) {
  Group& group = groups_[g];
  if (group.members.size == 0 && group.solo == kNone) {
    group.clock = 0;
    group.since = now_;
  } else if (group.since != now_) {
    group.clock += level_[g] * (now_ - group.since);
    group.since = now_;
  }
  note_touched(g);
}

// The group's side of joining it: the entries of the flow's resources are the caller's.
inline void FastSolver::enter(Index slot, Flow& flow, Index g, double left) {
  touch(g);
  if (counted_) count(slot, g);
  Group& group = groups_[g];
  flow.group = g;
  const double ends = group.clock + left;
  if (g >= link_count_) {
    group.solo = slot;
    group.solo_ends = ends;
    return;
  }
  Link& link = links_[g];
  link.least_cap = std::min(link.least_cap, flow.cap);
  const Index at = group.members.size;
  group.members.push(pools_.members, {ends, slot, flow.hop_count});
  if (at == 0 || group.members.at[(at - 1) / 4].ends <= ends)
    flow.member_at = at;
  else
    member_rise(group, at, {ends, slot, flow.hop_count});
}

// False: its turn has not come yet.
inline bool FastSolver::next_of_wave(Index& l) {
  if (!due_.empty() && later(wave_[wave_at_], due_.front())) return false;
  l = wave_[wave_at_++].link;
  links_[l].dirty = false;
  dirty_ &= ~bit(l);
  return true;
}

inline bool FastSolver::next_due(Index& l) {
  if (!due_.empty()) {
    std::pop_heap(due_.begin(), due_.end(), later);
    l = due_.back().link;
    due_.pop_back();
  } else if (!slack_.empty()) {
    l = slack_.back();
    slack_.pop_back();
  } else {
    return false;
  }
  links_[l].dirty = false;
  dirty_ &= ~bit(l);
  return true;
}

inline void FastSolver::note_touched(Index g) {
  if (groups_[g].touched) return;
  groups_[g].touched = true;
  touched_.push_back(g);
}

}  // namespace overlap::fast
