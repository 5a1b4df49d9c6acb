// Filling from scratch: all flows rise together until a resource is full or a cap is reached, again and again.
#include <algorithm>
#include <queue>

#include "engine/fast_solver.hpp"

namespace overlap::fast {

namespace {

struct Candidate {
  double level;
  Index id;  // resource, or slot of a capped flow
  bool operator<(const Candidate& o) const { return level > o.level || (level == o.level && id > o.id); }
};

using Queue = std::priority_queue<Candidate>;

}  // namespace

void FastSolver::refill() {
  ++counters_.refills;
  due_.clear();
  slack_.clear();
  wave_.clear();
  wave_at_ = 0;
  dirty_ = 0;
  std::vector<double> taken(link_count_, 0.0);   // bytes/s of the flows held so far
  std::vector<double> rising(link_count_, 0.0);  // demand of those not held yet
  Queue resources;
  Queue caps;
  std::vector<char> held(flows_.size(), 0);
  std::vector<double> fill(link_count_, kUnbounded);
  for (Index l = 0; l < link_count_; ++l) {
    links_[l].dirty = false;
    Link& link = links_[l];
    for (Index i = 0; i < link.size; ++i) rising[l] += link.demand_of(i);
    link.least_cap = kUnbounded;
    link.load = link.capacity;  // unknown: look again at the next change
    if (link.size > 0) resources.push({links_[l].capacity / rising[l], l});
  }
  for (Index slot = 0; slot < flows_.size(); ++slot) {
    const Flow& flow = flows_[slot];
    if (flow.live && (flow.cap != kUnbounded || flow.hop_count == 0)) caps.push({flow.cap, slot});
  }
  const auto hold = [&](Index slot, Index group, double level) {
    held[slot] = 1;
    if (flows_[slot].group != group) move(slot, group);
    for (const Hop& hop : hops(slot)) {
      const Index l = hop.link;
      const double demand = links_[l].demand_of(hop.at);
      taken[l] += demand * level;
      rising[l] -= demand;
    }
  };
  // Levels are set at the end: until then clocks run on at the old ones (no time passes meanwhile).
  while (!resources.empty() || !caps.empty()) {
    if (!caps.empty() && (resources.empty() || caps.top().level <= resources.top().level)) {
      const Candidate c = caps.top();
      caps.pop();
      if (held[c.id] == 0) hold(c.id, own_group(c.id), c.level);
      continue;
    }
    const Candidate c = resources.top();
    resources.pop();
    const Link& link = links_[c.id];
    double demand = 0;  // afresh: the running difference carries rounding
    for (Index i = 0; i < link.size; ++i)
      if (held[link.ref()[i] >> stride_log_] == 0) demand += link.demand_of(i);
    if (demand == 0) continue;
    const double level = std::max(0.0, (link.capacity - taken[c.id]) / demand);
    if (level > c.level &&
        ((!resources.empty() && level > resources.top().level) || (!caps.empty() && level > caps.top().level))) {
      resources.push({level, c.id});
      continue;
    }
    fill[c.id] = level;
    for (Index i = 0; i < link.size; ++i) {
      const Index slot = link.ref()[i] >> stride_log_;
      if (held[slot] == 0) hold(slot, c.id, level);
    }
  }
  for (Index l = 0; l < link_count_; ++l) {
    if (fill[l] != level_[l] && groups_[l].members.size > 0) touch(l);
    level_[l] = fill[l];
    const Block<Member>& members = groups_[l].members;
    for (Index i = 0; i < members.size; ++i)
      links_[l].least_cap = std::min(links_[l].least_cap, flows_[members.at[i].slot].cap);
  }
}

}  // namespace overlap::fast
