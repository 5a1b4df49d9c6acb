// The certificate of max-min fairness, restored after every change: see fast_solver.hpp.
#include <algorithm>
#include <cmath>

#include "engine/fast_solver.hpp"

namespace overlap::fast {

namespace {

// Rounding of a sum of n terms: levels closer than this are equal, a load above capacity by less is no overload.
double slack(Index n) {
  return 0x1p-51 * (n + 8.0);
}

}  // namespace

void FastSolver::mark(Index l) {
  Link& link = links_[l];
  if (link.dirty || link.entries.size == 0) return;
  link.dirty = true;
  double level = level_[l];
  if (level == kUnbounded) {
    if (groups_[l].members.size == 0) {
      slack_.push_back(l);
      return;
    }
    level = link.capacity / link.demand;  // a new group: where it would stand if it were the lowest
  }
  due_.push_back({level, l});
  std::push_heap(due_.begin(), due_.end(), [](const Due& a, const Due& b) {
    return a.level > b.level || (a.level == b.level && a.link > b.link);
  });
}

bool FastSolver::next_due(Index& l) {
  if (!due_.empty()) {
    std::pop_heap(due_.begin(), due_.end(), [](const Due& a, const Due& b) {
      return a.level > b.level || (a.level == b.level && a.link > b.link);
    });
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

void FastSolver::mark_uses(const Flow& flow, Index except) {
  for (Index h = 0; h < flow.use_count; ++h) {
    const Index l = flow.uses[h].resource.v;
    if (l != except && flow.uses[h].weight != 0) mark(l);
  }
}

// A flow with every resource to itself needs no queue.
bool FastSolver::place_alone(Index slot, Flow& flow) {
  double level = flow.cap;
  Index holder = kNone;
  const Index first = slot << stride_log_;
  for (Index h = 0; h < flow.use_count; ++h) {
    if (entry_at_[first + h] == kNone) continue;
    const Index l = flow.uses[h].resource.v;
    const Link& link = links_[l];
    if (link.entries.size != 1) return false;
    const double alone = link.capacity / link.demand;
    if (alone < level) {
      level = alone;
      holder = l;
    }
  }
  if (holder == kNone) holder = own_group(slot);
  join(slot, holder, flow.left);
  level_[holder] = level;
  return true;
}

// First guess of a new flow's group; the checks that follow put it right.
void FastSolver::place(Index slot) {
  Flow& flow = flows_[slot];
  double least = flow.cap;
  Index holder = kNone;
  const Index first = slot << stride_log_;
  for (Index h = 0; h < flow.use_count; ++h) {
    if (entry_at_[first + h] == kNone) continue;
    const Index l = flow.uses[h].resource.v;
    const Link& link = links_[l];
    double guess = link.capacity / link.demand;
    if (level_[l] != kUnbounded) {
      const double members = groups_[l].members.size;
      guess = std::max(guess, level_[l] * members / (members + 1));
    }
    if (guess < least) {
      least = guess;
      holder = l;
    }
  }
  if (holder == kNone) holder = own_group(slot);
  join(slot, holder, flow.left);
  mark_uses(flow, kNone);
}

void FastSolver::solve() {
  if (!pending_.empty() || !due_.empty() || !slack_.empty()) {
    ++counters_.solves;
    for (const Index slot : pending_)
      if (!place_alone(slot, flows_[slot])) place(slot);
    pending_.clear();
    const std::uint64_t budget = counters_.evaluations + 1000 + 20 * std::uint64_t{link_count_};
    Index l = kNone;
    while (!options_.from_scratch && next_due(l)) {
      evaluate(l);
      if (counters_.evaluations > budget) break;
    }
    if (!due_.empty() || !slack_.empty()) refill();
  }
  if (!touched_.empty()) settle_dates();
}

FastSolver::Sums FastSolver::sums(Index l) {
  // With the resource's own level at 0 its members add nothing to `fixed` and `top`.
  const double own = level_[l];
  level_[l] = 0;
  Sums s;
  const double* level = level_.data();
  const Block<Entry>& entries = links_[l].entries;
  for (Index i = 0; i < entries.size; ++i) {
    const Entry& e = entries.at[i];
    const double theirs = level[e.group];
    s.fixed += e.demand * theirs;
    s.top = std::max(s.top, theirs);
    s.demand += e.group == l ? e.demand : 0.0;
  }
  level_[l] = own;
  return s;
}

void FastSolver::evaluate(Index l) {
  const Link& link = links_[l];
  if (link.entries.size == 0) return;
  ++counters_.evaluations;
  const Sums s = sums(l);
  const double tie = 1 + slack(link.entries.size);
  if (s.demand == 0) {
    if (s.fixed > link.capacity * tie)
      split(l);
    else
      level_[l] = kUnbounded;
    return;
  }
  const double level = std::max(0.0, (link.capacity - s.fixed) / s.demand);
  if (s.top > level * tie || level > link.least_cap)
    split(l);
  else
    set_level(l, level);
}

// A group that is still due may stand above a member's cap.
double FastSolver::cap_in(const Entry& e) const {
  if (e.group >= link_count_ || links_[e.group].least_cap >= level_[e.group]) return kUnbounded;
  return flows_[e.ref >> stride_log_].cap;
}

// Membership changed: water-filling of this resource alone, each flow bounded by what holds it elsewhere.
void FastSolver::split(Index l) {
  ++counters_.splits;
  Link& link = links_[l];
  const double tie = 1 + slack(link.entries.size);
  double rest = link.capacity;
  double demand = 0;
  bounds_.clear();
  for (Index i = 0; i < link.entries.size; ++i) {
    const Entry& e = link.entries.at[i];
    const double bound = e.group == l ? flows_[e.ref >> stride_log_].cap : std::min(level_[e.group] / tie, cap_in(e));
    bounds_.push_back({bound, e.demand, i});
    demand += e.demand;
  }
  for (bool again = true; again && !bounds_.empty();) {
    const double level = std::max(0.0, rest / demand);
    std::size_t kept = 0;
    rest = std::max(0.0, rest);
    for (const Bound& b : bounds_) {
      if (b.level <= level) {
        rest -= b.demand * b.level;
        demand -= b.demand;
      } else {
        bounds_[kept++] = b;
      }
    }
    again = kept < bounds_.size();
    bounds_.resize(kept);
    demand = 0;
    for (const Bound& b : bounds_) demand += b.demand;
  }
  double least_cap = kUnbounded;
  std::size_t next = 0;
  for (Index i = 0; i < link.entries.size; ++i) {
    const Entry e = link.entries.at[i];
    const Index slot = e.ref >> stride_log_;
    const bool holds = next < bounds_.size() && bounds_[next].entry == i;
    if (holds) {
      ++next;
      if (e.group != l) {
        move(slot, l);
        mark_uses(flows_[slot], l);
      }
      least_cap = std::min(least_cap, flows_[slot].cap);
    } else if (e.group == l) {
      move(slot, own_group(slot));
      mark_uses(flows_[slot], l);
    }
  }
  link.least_cap = least_cap;
  const Sums s = sums(l);
  if (s.demand == 0)
    level_[l] = kUnbounded;
  else
    set_level(l, std::max(0.0, (link.capacity - s.fixed) / s.demand));
}

void FastSolver::set_level(Index l, double level) {
  const double old = level_[l];
  if (std::abs(level - old) <= slack(links_[l].entries.size) * old) return;
  touch(l);
  level_[l] = level;
  propagate(l);
}

void FastSolver::propagate(Index l) {
  const Block<Member>& members = groups_[l].members;
  for (Index i = 0; i < members.size; ++i) {
    const Flow& flow = flows_[members.at[i].slot];
    for (Index h = 0; h < flow.use_count; ++h) {
      const Index k = flow.uses[h].resource.v;
      if (k == l) continue;
      const Link& link = links_[k];
      if (link.entries.size == 1 && link.demand * level_[l] <= link.capacity) continue;
      if (flow.uses[h].weight != 0) mark(k);
    }
  }
}

}  // namespace overlap::fast
