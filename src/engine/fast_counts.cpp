// Where resources are few (a node's), sets of them are words, and what each group's members use is counted: the change
// of a level then goes once to each resource that they use, not once for each of them.
#include <algorithm>
#include <bit>

#include "engine/fast_solver.hpp"

namespace overlap::fast {

void FastSolver::count_all() {
  counted_ = true;
  reach_.assign(link_count_, 0);
  used_.assign(std::size_t{link_count_} * link_count_, {});
  for (Index g = 0; g < link_count_; ++g)
    for (Index i = 0; i < groups_[g].members.size; ++i) count(groups_[g].members.at[i].slot, g);
}

void FastSolver::count(Index slot, Index g) {
  if (g >= link_count_) return;
  for (const Hop& hop : hops(slot)) {
    Used& used = used_[std::size_t{g} * link_count_ + hop.link];
    ++used.flows;
    used.demand += links_[hop.link].demand_of(hop.at);
    reach_[g] |= bit(hop.link);
  }
}

void FastSolver::uncount(Index slot, Index g) {
  if (g >= link_count_) return;  // or not placed
  for (const Hop& hop : hops(slot)) {
    Used& used = used_[std::size_t{g} * link_count_ + hop.link];
    if (--used.flows == 0) {
      used.demand = 0;  // no rounding stays behind
      reach_[g] &= ~bit(hop.link);
    } else {
      used.demand -= links_[hop.link].demand_of(hop.at);
    }
  }
}

// As propagate() does it. `change` is finite.
void FastSolver::propagate_counted(Index l, double change) {
  const Used* const used = used_.data() + std::size_t{l} * link_count_;
  for (std::uint64_t rest = reach_[l] & ~(dirty_ | bit(l)); rest != 0; rest &= rest - 1) {
    const auto k = static_cast<Index>(std::countr_zero(rest));
    Link& link = links_[k];
    if (level_[k] == kUnbounded) {
      link.load += used[k].demand * change;
      if (roomy(link)) continue;
    }
    queue_in_order(k);
  }
}

}  // namespace overlap::fast
