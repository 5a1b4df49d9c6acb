// One resource of the fast solver: the level that its capacity leaves to its members, and who they are.
#include <algorithm>

#include "engine/fast_solver.hpp"

namespace overlap::fast {

// Four sums side by side; the order of additions is part of the result. With the resource's own level at 0 its members
// add nothing to `fixed` and `top`.
FastSolver::Sums FastSolver::sums(Index l) {
  const double own = level_[l];
  level_[l] = 0;
  const Sums all = links_[l].mixed || links_[l].twice ? sums_of_each(l) : sums_alike(l);
  level_[l] = own;
  return all;
}

FastSolver::Sums FastSolver::sums_alike(Index l) const {
  const Link& link = links_[l];
  const double* const level = level_.data();
  const Index* group = link.group();
  const Index* const end = group + link.size;
  double a = 0, b = 0, c = 0, d = 0;
  double top = 0;
  for (; end - group >= 4; group += 4) {
    const double w = level[group[0]], x = level[group[1]], y = level[group[2]], z = level[group[3]];
    a += w;
    b += x;
    c += y;
    d += z;
    top = std::max(top, std::max(std::max(w, x), std::max(y, z)));
  }
  for (; group != end; ++group) {
    const double theirs = level[*group];
    a += theirs;
    top = std::max(top, theirs);
  }
  return {((a + b) + (c + d)) * link.demand, link.demand * groups_[l].members.size, top};
}

FastSolver::Sums FastSolver::sums_of_each(Index l) const {
  const Link& link = links_[l];
  Sums part[4];
  const Index whole = link.size / 4 * 4;
  for (Index i = 0; i < link.size; ++i) {
    Sums& s = part[i < whole ? i % 4 : 0];
    const Index g = link.group()[i];
    const double theirs = level_[g];
    s.fixed += link.demand_of(i) * theirs;
    s.top = std::max(s.top, theirs);
    s.demand += g == l ? link.demand_of(i) : 0.0;
  }
  return {(part[0].fixed + part[1].fixed) + (part[2].fixed + part[3].fixed),
          (part[0].demand + part[1].demand) + (part[2].demand + part[3].demand),
          std::max(std::max(part[0].top, part[1].top), std::max(part[2].top, part[3].top))};
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
  link.load = link.capacity - s.fixed;
  const double level = std::max(0.0, link.load / s.demand);
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
  link.load = s.demand == 0 ? s.fixed : link.capacity - s.fixed;
  if (s.demand == 0)
    level_[l] = kUnbounded;
  else
    set_level(l, std::max(0.0, link.load / s.demand));
}

}  // namespace overlap::fast
