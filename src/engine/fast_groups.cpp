// Groups of the fast solver: virtual clocks, member heaps, completion dates.
#include <algorithm>

#include "engine/fast_solver.hpp"

namespace overlap::fast {

void FastSolver::member_rise(Group& group, Index at, Member m) {
  Member* heap = group.members.at;
  while (at > 0) {
    const Index up = (at - 1) / 4;
    if (heap[up].ends <= m.ends) break;
    heap[at] = heap[up];
    flows_[heap[at].slot].member_at = at;
    at = up;
  }
  heap[at] = m;
  flows_[m.slot].member_at = at;
}

void FastSolver::member_sink(Group& group, Index at, Member m) {
  Member* heap = group.members.at;
  const Index n = group.members.size;
  for (;;) {
    const Index first = 4 * at + 1;
    if (first >= n) break;
    const Index end = std::min(first + 4, n);
    Index least = first;
    for (Index c = first + 1; c < end; ++c)
      if (heap[c].ends < heap[least].ends) least = c;
    if (heap[least].ends >= m.ends) break;
    heap[at] = heap[least];
    flows_[heap[at].slot].member_at = at;
    at = least;
  }
  heap[at] = m;
  flows_[m.slot].member_at = at;
}

// `left` in clock units (work/share).
void FastSolver::join(Index slot, Index g, double left) {
  enter(slot, flows_[slot], g, left);
  for (const Hop& hop : hops(slot)) links_[hop.link].group()[hop.at] = g;
}

void FastSolver::leave(Index slot) {
  Flow& flow = flows_[slot];
  touch(flow.group);
  Group& group = groups_[flow.group];
  if (flow.group >= link_count_) {
    group.solo = kNone;
  } else {
    const Index at = flow.member_at;
    const Member last = group.members.at[--group.members.size];
    if (at < group.members.size) {
      if (last.ends < group.members.at[at].ends)
        member_rise(group, at, last);
      else
        member_sink(group, at, last);
    }
    if (group.members.size == 0) links_[flow.group].least_cap = kUnbounded;
  }
}

void FastSolver::move(Index slot, Index g) {
  const Index from = flows_[slot].group;
  touch(from);
  const double left = left_of(flows_[slot]);
  if (counted_) uncount(slot, from);
  leave(slot);
  join(slot, g, left);
  ++counters_.moves;
}

Index FastSolver::own_group(Index slot) {
  Flow& flow = flows_[slot];
  if (flow.own == kNone) {
    if (free_own_.empty()) {
      flow.own = static_cast<Index>(groups_.size());
      groups_.emplace_back();
      level_.push_back(kUnbounded);
    } else {
      flow.own = free_own_.back();
      free_own_.pop_back();
    }
  }
  level_[flow.own] = flow.cap;
  return flow.own;
}

void FastSolver::settle_dates() {
  for (const Index g : touched_) {
    Group& group = groups_[g];
    group.touched = false;
    double left = 0;
    if (g >= link_count_ ? group.solo == kNone : group.members.size == 0) {
      dates_.erase(groups_, g);
      continue;
    }
    left = (g >= link_count_ ? group.solo_ends : group.members.at[0].ends) - group.clock;
    const double level = level_[g];
    dates_.set(groups_, g, level > 0 ? std::min(kUnbounded, now_ + std::max(0.0, left) / level) : kUnbounded);
  }
  touched_.clear();
}

}  // namespace overlap::fast
