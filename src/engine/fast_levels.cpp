// The certificate of max-min fairness, restored after every change: see fast_solver.hpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "engine/fast_solver.hpp"

namespace overlap::fast {

namespace {

// A group of so many members counts what they use.
constexpr Index kCountMembers = 3;

// A group of so many members sweeps when it has more than a share of the resources in use.
constexpr Index kSweepMembers = 12;
constexpr Index kSweepBusy = 40;
constexpr Index kSweepShare = 8;

}  // namespace

void FastSolver::mark(Index l) {
  Link& link = links_[l];
  if (link.dirty || link.size == 0) return;
  queue_in_order(l);
}

void FastSolver::queue_in_order(Index l) {
  if (queue(l)) std::push_heap(due_.begin(), due_.end(), later);
}

// Appends to the list that it belongs to; true if that is `due_`, whose order is then broken.
bool FastSolver::queue(Index l) {
  Link& link = links_[l];
  link.dirty = true;
  dirty_ |= bit(l);
  double level = level_[l];
  if (level == kUnbounded) {
    link.load = level = link.capacity / link.total_demand();  // a new group: where it stands if it is the lowest
    if (groups_[l].members.size == 0) {
      slack_.push_back(l);
      return false;
    }
  }
  due_.push_back({level, l});
  return true;
}

void FastSolver::mark_hops(Index slot, Index except) {
  for (const Hop& hop : hops(slot))
    if (hop.link != except) mark(hop.link);
}

void FastSolver::solve() {
  if (!pending_.empty() || !due_.empty() || !slack_.empty()) {
    ++counters_.solves;
    ++changes_;
    for (const Index slot : pending_) place(slot);
    pending_.clear();
    const std::uint64_t budget = counters_.evaluations + 1000 + 20 * std::uint64_t{link_count_};
    done_.clear();
    swept_ = kUnbounded;
    Index l = kNone;
    while (!options_.from_scratch && ((wave_at_ < wave_.size() && next_of_wave(l)) || next_due(l))) {
      const double before = level_[l];
      evaluate(l);
      if (swept_ != kUnbounded) note_done(l, std::max(before, level_[l]));
      if (counters_.evaluations > budget) break;
    }
    if (!due_.empty() || !slack_.empty() || wave_at_ < wave_.size()) refill();
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
// the load may have reached capacity. One that has members but no level yet is due already.
void FastSolver::propagate(Index l, double change) {
  const double level = level_[l];
  const Member* const members = groups_[l].members.at;
  const Member* const end = members + groups_[l].members.size;
  if (link_count_ <= kFew && change != kUnbounded && end - members >= kCountMembers) {
    if (!counted_) count_all();
    return propagate_counted(l, change);
  }
  Link* const links = links_.data();
  links[l].dirty = true;  // passed over
  for (const Member* m = members; m != end; ++m) {
    const Hop* const first = hops_.data() + (std::size_t{m->slot} << stride_log_);
    for (const Hop& hop : std::span(first, m->hop_count)) {
      const Index k = hop.link;
      Link& link = links[k];
      if (link.dirty) continue;
      if (level_[k] == kUnbounded) {
        link.load = link.size == 1 ? link.demand * level : link.load + link.demand_of(hop.at) * change;
        if (roomy(link)) continue;
      }
      queue_in_order(k);
    }
  }
  links[l].dirty = false;
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
  ++counters_.sweeps;
  start_wave(from);
  done_.clear();
  swept_ = from;
  return true;
}

// By insertion, unless that takes too many steps.
void FastSolver::sort_nearly_sorted(std::span<Due> list) {
  constexpr std::size_t kSteps = 8;  // an element
  std::size_t left = kSteps * list.size();
  for (std::size_t i = 1; i < list.size(); ++i) {
    const Due x = list[i];
    std::size_t at = i;
    for (; at > 0 && later(list[at - 1], x); --at) list[at] = list[at - 1];
    list[at] = x;
    if (i - at > left)
      return std::sort(list.begin(), list.end(), [](const Due& a, const Due& b) { return later(b, a); });
    left -= i - at;
  }
}

// All that are not due yet at `from` or above, in the order of their turn. The list of resources in use keeps that
// order: at the next wave little of it has changed.
void FastSolver::start_wave(double from) {
  wave_.erase(wave_.begin(), wave_.begin() + static_cast<std::ptrdiff_t>(std::exchange(wave_at_, 0)));
  const std::size_t before = wave_.size();
  std::size_t kept = 0;
  for (const Index l : busy_) {
    Link& link = links_[l];
    if (link.size == 0) {
      link.busy = false;
    } else if (link.dirty || level_[l] < from || !queue(l)) {
      busy_[kept++] = l;
    } else {
      wave_.push_back(due_.back());
      due_.pop_back();
    }
  }
  const std::span<Due> fresh = std::span(wave_).subspan(before);
  sort_nearly_sorted(fresh);
  busy_.resize(kept);
  for (const Due& d : fresh) busy_.push_back(d.link);
  std::inplace_merge(wave_.begin(), wave_.begin() + static_cast<std::ptrdiff_t>(before), wave_.end(),
                     [](const Due& a, const Due& b) { return later(b, a); });
}

void FastSolver::note_done(Index l, double level) {
  const double before = done_.empty() ? 0 : done_.back().reach;
  done_.push_back({l, std::max(before, level)});
}

}  // namespace overlap::fast
