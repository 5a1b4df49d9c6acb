// The certificate of max-min fairness, restored after every change: see fast_solver.hpp.
#include <algorithm>
#include <array>
#include <cmath>

#include "engine/fast_solver.hpp"

namespace overlap::fast {

namespace {

// A tracked load below capacity by this share needs no look: rounding cannot add up to it.
constexpr double kClear = 1 - 1e-9;

// A group of so many members sweeps when it has more than a share of the resources in use.
constexpr Index kSweepMembers = 12;
constexpr Index kSweepBusy = 40;
constexpr Index kSweepShare = 8;

// Order of a heap whose front has the lowest level.
constexpr auto later = [](const auto& a, const auto& b) {
  return a.level > b.level || (a.level == b.level && a.link > b.link);
};

}  // namespace

void FastSolver::mark(Index l) {
  Link& link = links_[l];
  if (link.dirty || link.size == 0) return;
  if (queue(l)) std::push_heap(due_.begin(), due_.end(), later);
}

// Appends to the list that it belongs to; true if that is `due_`, whose order is then broken.
bool FastSolver::queue(Index l) {
  Link& link = links_[l];
  link.dirty = true;
  double level = level_[l];
  if (level == kUnbounded) {
    if (groups_[l].members.size == 0) {
      slack_.push_back(l);
      return false;
    }
    level = link.capacity / link.total_demand();  // a new group: where it would stand if it were the lowest
  }
  due_.push_back({level, l});
  return true;
}

bool FastSolver::next_due(Index& l) {
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
  return true;
}

void FastSolver::mark_hops(Index slot, Index except) {
  for (const Hop& hop : hops(slot))
    if (hop.link != except) mark(hop.link);
}

// A flow needs no queue that its cap, or a resource which it has to itself, holds at a level at which all others on its
// way have room.
bool FastSolver::place_at_once(Index slot, Flow& flow) {
  double level = flow.cap;
  Index holder = kNone;
  bool alone = true;
  for (const Hop& hop : hops(slot)) {
    const Link& link = links_[hop.link];
    if (link.size == 1) {
      const double lone = link.capacity / link.demand;
      if (lone < level) {
        level = lone;
        holder = hop.link;
      }
    } else if (options_.from_scratch || link.dirty || level_[hop.link] != kUnbounded ||
               groups_[hop.link].members.size > 0) {
      return false;
    } else {
      alone = false;
    }
  }
  if (!alone && (level == kUnbounded || !have_room(slot, level))) return false;
  const Index group = holder == kNone ? own_group(slot) : holder;
  for (const Hop& hop : hops(slot)) {
    Link& link = links_[hop.link];
    if (link.size == 1)
      link.load = (alone ? link.demand : link.demand_of(hop.at)) * level;
    else
      link.load += link.demand_of(hop.at) * level;
    link.group()[hop.at] = group;
  }
  const double left = flow.left;
  found(slot, flow, group);
  if (holder != kNone) level_[holder] = level;
  if (alone && holder != kNone)
    dates_.set(groups_, group, level > 0 ? std::min(kUnbounded, now_ + left / level) : kUnbounded);
  else
    note_touched(group);
  return true;
}

// The first of a group that had nobody.
void FastSolver::found(Index slot, Flow& flow, Index g) {
  Group& group = groups_[g];
  const double left = flow.left;
  flow.group = g;
  group.clock = 0;
  group.since = now_;
  if (g >= link_count_) {
    group.solo = slot;
    group.solo_ends = left;
    return;
  }
  links_[g].least_cap = flow.cap;
  group.members.push(pools_.members, {left, slot});
  flow.member_at = 0;
}

bool FastSolver::have_room(Index slot, double level) const {
  for (const Hop& hop : hops(slot)) {
    const Link& link = links_[hop.link];
    if (link.size > 1 && (link.twice || link.load + link.demand_of(hop.at) * level > link.capacity * kClear))
      return false;
  }
  return true;
}

// First guess of a new flow's group; the checks that follow put it right. Where all entries would get the same, or
// where the members of a saturated resource would end up with one more: the least of them, compared as fractions.
void FastSolver::place(Index slot) {
  Flow& flow = flows_[slot];
  double over = flow.cap;
  double under = 1;
  Index holder = kNone;
  for (const Hop& hop : hops(slot)) {
    const Link& link = links_[hop.link];
    double a = link.capacity;
    double b = link.total_demand();
    if (level_[hop.link] != kUnbounded) {
      const double members = groups_[hop.link].members.size;
      if (a * (members + 1) < level_[hop.link] * members * b) {
        a = level_[hop.link] * members;
        b = members + 1;
      }
    }
    if (a * under < over * b) {
      over = a;
      under = b;
      holder = hop.link;
    }
  }
  if (holder == kNone) holder = own_group(slot);
  join(slot, holder, flow.left);
  mark_hops(slot, kNone);
}

void FastSolver::solve() {
  if (!pending_.empty() || !due_.empty() || !slack_.empty()) {
    ++counters_.solves;
    ++changes_;
    for (const Index slot : pending_)
      if (!place_at_once(slot, flows_[slot])) place(slot);
    pending_.clear();
    const std::uint64_t budget = counters_.evaluations + 1000 + 20 * std::uint64_t{link_count_};
    done_.clear();
    swept_ = kUnbounded;
    Index l = kNone;
    while (!options_.from_scratch && next_due(l)) {
      const double before = level_[l];
      evaluate(l);
      if (swept_ != kUnbounded) note_done(l, std::max(before, level_[l]));
      if (counters_.evaluations > budget) break;
    }
    if (!due_.empty() || !slack_.empty()) refill();
  }
  if (!touched_.empty()) settle_dates();
}

void FastSolver::set_level(Index l, double level) {
  const double old = level_[l];
  if (std::abs(level - old) <= slack(links_[l].size) * old) return;
  touch(l);
  level_[l] = level;
  const Index members = groups_[l].members.size;
  const bool sweeps = swept_ <= std::min(old, level) || (members >= kSweepMembers && busy_.size() >= kSweepBusy &&
                                                         std::size_t{kSweepShare} * members > busy_.size());
  if (sweeps && sweep(std::min(old, level), level > old)) return;
  propagate(l, old == kUnbounded ? kUnbounded : level - old);
}

// What the members' change of level means to the other resources they use: saturated ones are due, others only when
// the load may have reached capacity.
void FastSolver::propagate(Index l, double change) {
  const double level = level_[l];
  const Member* const members = groups_[l].members.at;
  const Index count = groups_[l].members.size;
  Link* const links = links_.data();
  for (Index i = 0; i < count; ++i) {
    for (const Hop& hop : hops(members[i].slot)) {
      const Index k = hop.link;
      Link& link = links[k];
      if (link.dirty || k == l) continue;
      if (level_[k] == kUnbounded && groups_[k].members.size == 0) {
        link.load = link.size == 1 ? link.demand * level : link.load + link.demand_of(hop.at) * change;
        if (link.load <= link.capacity * kClear) continue;
      }
      if (queue(k)) std::push_heap(due_.begin(), due_.end(), later);
    }
  }
}

// The same for a group so large that nearly every resource in use is concerned: all at `from` or above become due,
// wherever they stand. While they wait, nothing is left to do but for those done meanwhile at `from` or above: false if
// these are many.
bool FastSolver::sweep(double from, bool rising) {
  from *= 1 - 1e-9;
  if (from >= swept_) {
    std::array<Index, 4> again{};
    std::size_t count = 0;
    for (std::size_t i = done_.size(); i > 0 && done_[i - 1].reach >= from; --i) {
      const Index l = done_[i - 1].link;
      if (level_[l] < from || (!rising && level_[l] == kUnbounded) || links_[l].dirty) continue;
      if (count == again.size()) return false;
      again[count++] = l;
    }
    for (std::size_t i = 0; i < count; ++i) mark(again[i]);
    return true;
  }
  std::size_t kept = 0;
  for (const Index l : busy_) {
    Link& link = links_[l];
    if (link.size == 0) {
      link.busy = false;
      continue;
    }
    busy_[kept++] = l;
    if (!link.dirty && level_[l] >= from) queue(l);
  }
  busy_.resize(kept);
  std::make_heap(due_.begin(), due_.end(), later);
  done_.clear();
  swept_ = from;
  return true;
}

void FastSolver::note_done(Index l, double level) {
  const double before = done_.empty() ? 0 : done_.back().reach;
  done_.push_back({l, std::max(before, level)});
}

}  // namespace overlap::fast
