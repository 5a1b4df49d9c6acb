// New flows: who stands alone is placed at once, the others get a first guess that the checks put right.
#include <algorithm>
#include <span>

#include "engine/fast_solver.hpp"

namespace overlap::fast {

// A flow that has all its resources to itself needs no queue: the one that gives it least holds it, or its cap.
void FastSolver::place_alone(Index slot, Index holder, double level) {
  const Index g = holder == kNone ? own_group(slot) : holder;
  for (const Hop& hop : hops(slot)) {
    Link& link = links_[hop.link];
    link.load = link.demand * level;
    link.group()[0] = g;
  }
  Flow& flow = flows_[slot];
  const double left = flow.left;
  found(slot, flow, g);
  level_[g] = level;
  dates_.set(groups_, g, level > 0 ? std::min(kUnbounded, now_ + left / level) : kUnbounded);
}

// Nor does one that its cap, or a resource which it has to itself, holds at a level at which all others on its way,
// which hold nobody, have room.
bool FastSolver::place_at_once(Index slot) {
  Flow& flow = flows_[slot];
  double level = flow.cap;
  Index holder = kNone;
  bool alone = true;
  for (const Hop& hop : hops(slot)) {
    const Link& link = links_[hop.link];
    if (link.size > 1) {
      alone = false;
      continue;
    }
    const double lone = link.capacity / link.demand_of(0);
    if (lone < level) {
      level = lone;
      holder = hop.link;
    }
  }
  if (alone) {
    place_alone(slot, holder, level);
    return true;
  }
  if (level == kUnbounded || !have_room(slot, level)) return false;
  const Index group = holder == kNone ? own_group(slot) : holder;
  for (const Hop& hop : hops(slot)) {
    Link& link = links_[hop.link];
    if (link.size == 1)
      link.load = link.demand_of(0) * level;
    else
      link.load += link.demand_of(hop.at) * level;
    link.group()[hop.at] = group;
  }
  found(slot, flow, group);
  if (holder != kNone) level_[holder] = level;
  note_touched(group);
  return true;
}

// The first of a group that had nobody.
void FastSolver::found(Index slot, Flow& flow, Index g) {
  Group& group = groups_[g];
  const double left = flow.left;
  flow.group = g;
  if (counted_) count(slot, g);
  group.clock = 0;
  group.since = now_;
  if (g >= link_count_) {
    group.solo = slot;
    group.solo_ends = left;
    return;
  }
  links_[g].least_cap = flow.cap;
  group.members.push(pools_.members, {left, slot, flow.hop_count});
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

// First guess of a new flow's group; the checks that follow put it right: where it gets least if all entries get the
// same, or the members of a saturated resource share with one more what they had.
void FastSolver::place(Index slot) {
  Flow& flow = flows_[slot];
  Link* const links = links_.data();
  const double* const levels = level_.data();
  const std::span<const Hop> route = hops(slot);
  double least = flow.cap;
  Index holder = kNone;
  bool busy = options_.from_scratch;  // something that it shares holds somebody
  for (const Hop& hop : route) {
    const Link& link = links[hop.link];
    double share = link.load;
    if (levels[hop.link] != kUnbounded) {
      busy = true;
      share = std::max(share / (link.demand_of(hop.at) * (groups_[hop.link].members.size + 1.0)),
                       link.capacity / link.total_demand());
    } else if (!link.dirty) {
      share = link.capacity / link.total_demand();
    } else {
      busy |= link.size > 1;
    }
    if (share < least) {
      least = share;
      holder = hop.link;
    }
  }
  if (!busy && place_at_once(slot)) return;
  if (holder == kNone) holder = own_group(slot);
  enter(slot, flow, holder, flow.left);
  for (const Hop& hop : route) {
    Link& link = links[hop.link];
    link.group()[hop.at] = holder;
    if (!link.dirty) mark(hop.link);
  }
}

}  // namespace overlap::fast
