// One resource of the fast solver: the level that its capacity leaves to its members, and who they are.
#include <algorithm>

#include "engine/fast_solver.hpp"

namespace overlap::fast {

FastSolver::Sums FastSolver::sums(Index l) {
  // With the resource's own level at 0 its members add nothing to `fixed` and `top`.
  const double own = level_[l];
  level_[l] = 0;
  const Link& link = links_[l];
  const double* level = level_.data();
  const Index* group = link.group();
  const Index n = link.size;
  Sums a, b, c, d;
  // Four sums side by side; the order of additions is part of the result.
  const auto over_entries = [&](auto add) {
    Index i = 0;
    for (; i + 4 <= n; i += 4) {
      add(a, i);
      add(b, i + 1);
      add(c, i + 2);
      add(d, i + 3);
    }
    for (; i < n; ++i) add(a, i);
  };
  if (!link.mixed && !link.twice) {
    over_entries([&](Sums& s, Index i) {
      const double theirs = level[group[i]];
      s.fixed += theirs;
      s.top = theirs > s.top ? theirs : s.top;
    });
  } else {
    over_entries([&](Sums& s, Index i) {
      const double theirs = level[group[i]];
      s.fixed += link.demand_of(i) * theirs;
      s.top = theirs > s.top ? theirs : s.top;
      s.demand += group[i] == l ? link.demand_of(i) : 0.0;
    });
  }
  level_[l] = own;
  Sums all{(a.fixed + b.fixed) + (c.fixed + d.fixed), (a.demand + b.demand) + (c.demand + d.demand),
           std::max(std::max(a.top, b.top), std::max(c.top, d.top))};
  if (!link.mixed && !link.twice) {
    all.fixed *= link.demand;
    all.demand = link.demand * groups_[l].members.size;
  }
  return all;
}

void FastSolver::evaluate(Index l) {
  Link& link = links_[l];
  if (link.size == 0) return;
  ++counters_.evaluations;
  const Sums s = sums(l);
  const double tie = 1 + slack(link.size);
  if (s.demand == 0) {
    if (s.fixed > link.capacity * tie) return split(l, s);
    level_[l] = kUnbounded;
    link.load = s.fixed;
    return;
  }
  const double level = std::max(0.0, (link.capacity - s.fixed) / s.demand);
  if (s.top > level * tie || level > link.least_cap) return split(l, s);
  set_level(l, level);
}

// What holds entry i elsewhere, as a level. Ties stay where they are; a group that is still due may stand above a
// member's cap.
double FastSolver::bound_of(const Link& link, Index i, double tie) const {
  const Index g = link.group()[i];
  const double level = level_[g];
  if (g >= link_count_ || links_[g].least_cap >= level) return level / tie;
  return std::min(level / tie, flows_[link.ref()[i] >> stride_log_].cap);
}

// Water-filling of this resource alone, each flow bounded by what holds it elsewhere. Leaves in bounds_ the entries
// that the resource holds, but for members when it leaves all of them where they are.
void FastSolver::gather_bounds(Index l, const Sums& s) {
  const Link& link = links_[l];
  const double tie = 1 + slack(link.size);
  const bool capped = link.least_cap < kUnbounded;
  // Below this level nothing can end up: only flows above it may join.
  const double floor = capped || s.demand == 0 ? -1 : std::max(0.0, (link.capacity - s.fixed) / s.demand);
  double rest = link.capacity;
  double demand = capped ? 0 : s.demand;
  bounds_.clear();
  for (Index i = 0; i < link.size; ++i) {
    const Index g = link.group()[i];
    if (g == l && !capped) continue;
    const double d = link.demand_of(i);
    if (g != l && level_[g] <= floor) {
      rest -= d * level_[g];
      continue;
    }
    const double bound = g == l ? flows_[link.ref()[i] >> stride_log_].cap : bound_of(link, i, tie);
    bounds_.push_back({bound, d, i});
    demand += d;
  }
  for (std::size_t before = 0; before != bounds_.size() && demand > 0;) {
    before = bounds_.size();
    const double level = std::max(0.0, rest / demand);
    std::size_t kept = 0;
    double left = 0;
    for (const Bound& b : bounds_) {
      if (b.level <= level) {
        rest -= b.demand * b.level;
        demand -= b.demand;
      } else {
        left += b.demand;
        bounds_[kept++] = b;
      }
    }
    bounds_.resize(kept);
    if (capped || s.demand == 0) demand = left;  // no rounding left over where there are no members
  }
}

// Membership changed.
void FastSolver::split(Index l, const Sums& before) {
  ++counters_.splits;
  gather_bounds(l, before);
  Link& link = links_[l];
  const bool capped = link.least_cap < kUnbounded;
  double least_cap = kUnbounded;
  std::size_t next = 0;
  for (Index i = 0; capped && i < link.size; ++i) {
    const Index slot = link.ref()[i] >> stride_log_;
    if (next < bounds_.size() && bounds_[next].entry == i) {
      ++next;
      least_cap = std::min(least_cap, flows_[slot].cap);
    } else if (link.group()[i] == l) {
      move(slot, own_group(slot));
      mark_hops(slot, l);
    }
  }
  if (capped) link.least_cap = least_cap;
  for (const Bound& b : bounds_) {
    if (link.group()[b.entry] == l) continue;
    const Index slot = link.ref()[b.entry] >> stride_log_;
    move(slot, l);
    mark_hops(slot, l);
  }
  const Sums s = sums(l);
  link.load = s.fixed;
  if (s.demand == 0)
    level_[l] = kUnbounded;
  else
    set_level(l, std::max(0.0, (link.capacity - s.fixed) / s.demand));
}

}  // namespace overlap::fast
