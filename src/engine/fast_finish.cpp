// Flows that end: out of their resources' lists, and a batch a date.
#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "engine/fast_solver.hpp"

namespace overlap::fast {

namespace {

// Completions closer than this, relative to the date, form one batch.
constexpr double kBatch = 1e-12;
// What leaves a tracked load is rounded down, so that the load stays a bound.
constexpr double kBitLess = 1 - 0x1p-50;

// Increasing ids. A batch is often one run of them, or two, since flows that end together started together; else, where
// the ids are dense, a bit for each.
void sort_batch(std::span<FlowId> batch, std::vector<std::uint64_t>& bits) {
  const auto fall = std::is_sorted_until(batch.begin(), batch.end());
  if (fall == batch.end()) return;
  if (batch.back() < batch.front() && std::is_sorted(fall, batch.end())) {
    std::rotate(batch.begin(), fall, batch.end());
    return;
  }
  const std::size_t words = std::max_element(batch.begin(), batch.end())->v / 64 + 1;
  if (words > batch.size()) {
    std::sort(batch.begin(), batch.end());
    return;
  }
  bits.assign(words, 0);
  for (const FlowId f : batch) bits[f.v / 64] |= std::uint64_t{1} << (f.v % 64);
  std::size_t at = 0;
  for (std::size_t w = 0; w < words; ++w)
    for (std::uint64_t left = bits[w]; left != 0; left &= left - 1)
      batch[at++] = FlowId(static_cast<Index>(64 * w + static_cast<std::size_t>(std::countr_zero(left))));
}

}  // namespace

// Takes the entries of a flow that ran at `level` out of its resources' lists; what that frees makes saturated
// resources due. Its slot is free then.
void FastSolver::remove(Index slot, Index hop_count, double level) {
  if (counted_) uncount(slot, flows_[slot].group);
  Link* const links = links_.data();
  double* const levels = level_.data();
  Hop* const all = hops_.data();
  const double gone = level * kBitLess;
  const Hop* const first = all + (std::size_t{slot} << stride_log_);
  for (const Hop& hop : std::span(first, hop_count)) {
    const Index l = hop.link;
    Link& link = links[l];
    if (link.size == 1) {
      remove_entry(link, 0);
      link.least_cap = kUnbounded;
      link.load = 0;
      levels[l] = kUnbounded;
      continue;
    }
    if (levels[l] == kUnbounded)
      link.load -= link.demand_of(hop.at) * gone;
    else if (!link.dirty)
      mark(l);
    const Index moved = remove_entry(link, hop.at);
    if (moved != kNone) all[moved].at = hop.at;
  }
  Flow& flow = flows_[slot];
  if (flow.own != kNone) {
    free_own_.push_back(flow.own);
    flow.own = kNone;
  }
  flow.live = false;
  flow.group = kNone;
}

// `g` is without a date.
void FastSolver::finish_group(Index g, double limit, std::vector<FlowId>& finished) {
  Group& group = groups_[g];
  const double level = level_[g];
  if (g >= link_count_ || group.members.size == 1) {
    const Index slot = g >= link_count_ ? group.solo : group.members.at[0].slot;
    group.solo = kNone;
    group.members.size = 0;
    finished.push_back(FlowId(slot));
    remove(slot, flows_[slot].hop_count, level);
    return;
  }
  touch(g);
  // The first one ends now whatever rounding did to the clock.
  const double until = std::max(group.members.at[0].ends, group.clock + level * (limit - now_));
  const std::span<const Member> members(group.members.at, group.members.size);
  if (std::all_of(members.begin(), members.end(), [until](const Member& m) { return m.ends <= until; })) {
    group.members.size = 0;
    const std::size_t first = finished.size();
    finished.resize(first + members.size());
    for (std::size_t i = members.size(); i-- > 0;) {  // backwards: entries that came last go without a swap
      finished[first + i] = FlowId(members[i].slot);
      remove(members[i].slot, members[i].hop_count, level);
    }
    return;
  }
  do {
    const Member first = group.members.at[0];
    const Member last = group.members.at[--group.members.size];
    if (group.members.size > 0) member_sink(group, 0, last);
    finished.push_back(FlowId(first.slot));
    remove(first.slot, first.hop_count, level);
  } while (group.members.size > 0 && group.members.at[0].ends <= until);
}

void FastSolver::advance_to(Seconds t, std::vector<FlowId>& finished) {
  solve();
  now_ = t.si();
  const double limit = now_ + kBatch * now_;
  const auto before = static_cast<std::ptrdiff_t>(finished.size());
  while (!dates_.empty() && dates_.top_date() <= limit) {
    for (Index g = dates_.take_first(); g != kNone;) {
      const Index next = groups_[g].next;
      groups_[g].date_list = kNone;
      finish_group(g, limit, finished);
      g = next;
    }
  }
  sort_batch(std::span(finished).subspan(static_cast<std::size_t>(before)), bits_);
}

}  // namespace overlap::fast
