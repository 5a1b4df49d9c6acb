#include "engine/fast_solver.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace overlap::fast {

namespace {

// Completions closer than this, relative to the date, form one batch.
constexpr double kBatch = 1e-12;
constexpr double kNoCap = 1e299;
// What leaves a tracked load is rounded down, so that the load stays a bound.
constexpr double kBitLess = 1 - 0x1p-50;

// Increasing ids. A batch is often one run of them, or two, since flows that end together started together.
void sort_batch(std::span<FlowId> batch, std::vector<FlowId>& scratch) {
  const auto fall = std::is_sorted_until(batch.begin(), batch.end());
  if (fall == batch.end()) return;
  if (batch.back() < batch.front() && std::is_sorted(fall, batch.end())) {
    std::rotate(batch.begin(), fall, batch.end());
    return;
  }
  constexpr std::size_t kFew = 128;
  constexpr std::size_t kMost = 1U << 16U;  // beyond, the scratch would be memory that counts
  if (batch.size() < kFew || batch.size() > kMost) {
    std::sort(batch.begin(), batch.end());
    return;
  }
  const Index most = std::max_element(batch.begin(), batch.end())->v;
  scratch.resize(batch.size());
  for (unsigned shift = 0; shift < 32 && most >> shift != 0; shift += 8) {  // by digits, the least first
    std::array<Index, 256> first{};
    for (const FlowId f : batch) ++first[(f.v >> shift) & 255U];
    Index at = 0;
    for (Index& n : first) at += std::exchange(n, at);
    for (const FlowId f : batch) scratch[first[(f.v >> shift) & 255U]++] = f;
    std::copy(scratch.begin(), scratch.end(), batch.begin());
  }
}

double cap_level(Bandwidth cap, double share) {
  return cap.si() >= kNoCap ? kUnbounded : cap.si() / share;
}

}  // namespace

FastSolver::FastSolver(std::span<const Bandwidth> capacities, Options options)
    : options_(options),
      link_count_(static_cast<Index>(capacities.size())),
      links_(capacities.size()),
      level_(capacities.size(), kUnbounded),
      groups_(capacities.size()) {
  for (std::size_t i = 0; i < capacities.size(); ++i) links_[i].capacity = capacities[i].si();
}

void FastSolver::more_slots(Index id) {
  flows_.resize(std::size_t{id} + 1);
  hops_.resize(flows_.size() << stride_log_);
}

// More hops a flow than ever before: renumber the references of all entries.
void FastSolver::widen(Index count) {
  const Index old_log = stride_log_;
  while ((Index{1} << stride_log_) < count) ++stride_log_;
  std::vector<Hop> wider(flows_.size() << stride_log_);
  for (std::size_t slot = 0; slot < flows_.size(); ++slot) {
    if (!flows_[slot].live) continue;
    for (Index h = 0; h < flows_[slot].hop_count; ++h) {
      const Hop hop = hops_[(slot << old_log) + h];
      const std::size_t ref = (slot << stride_log_) + h;
      wider[ref] = hop;
      links_[hop.link].ref()[hop.at] = static_cast<Index>(ref);
    }
  }
  hops_.swap(wider);
}

void FastSolver::start(FlowId id, const FlowSpec& spec) {
  if (spec.uses.size() > std::size_t{1} << stride_log_) widen(static_cast<Index>(spec.uses.size()));
  const Index slot = id.v;
  if (slot >= flows_.size()) more_slots(slot);
  const double share = spec.share;
  Flow& flow = flows_[slot];
  flow.live = true;
  flow.share = share;
  flow.cap = cap_level(spec.cap, share);
  flow.left = spec.work.si() / share;
  const Index log = stride_log_;
  const Index first = slot << log;
  Hop* const hops = hops_.data() + first;
  Index count = 0;
  for (const Use& use : spec.uses) {
    const double demand = use.weight * share;
    if (demand == 0) continue;
    Link& link = links_[use.resource.v];
    const Index n = link.size;
    if (n > 0 && link.ref()[n - 1] >> log == slot) link.twice = true;
    hops[count] = {use.resource.v, n};
    push_entry(link, pools_, first + count++, demand);
    if (!link.busy) note_busy(use.resource.v);
  }
  flow.hop_count = count;
  pending_.push_back(slot);
}

void FastSolver::note_busy(Index l) {
  links_[l].busy = true;
  busy_.push_back(l);
}

// Takes the flow's entries out of its resources' lists; what that frees makes saturated resources due.
void FastSolver::detach(Index slot) {
  const Index g = flows_[slot].group;
  const double level = g == kNone ? 0 : level_[g] * kBitLess;
  for (const Hop& hop : hops(slot)) {
    const Index l = hop.link;
    Link& link = links_[l];
    if (link.size == 1) {
      remove_entry(link, 0);
      link.least_cap = kUnbounded;
      link.load = 0;
      level_[l] = kUnbounded;
      continue;
    }
    const double carried = link.demand_of(hop.at) * level;
    const Index moved = remove_entry(link, hop.at);
    if (moved != kNone) hops_[moved].at = hop.at;
    link.load -= carried;
    if (level_[l] != kUnbounded) mark(l);
  }
}

void FastSolver::drop(Index slot) {
  Flow& flow = flows_[slot];
  if (flow.own != kNone) {
    free_own_.push_back(flow.own);
    flow.own = kNone;
  }
  flow.live = false;
  flow.group = kNone;
}

double FastSolver::left_of(const Flow& flow) const {
  if (flow.group == kNone) return flow.left;
  const Group& group = groups_[flow.group];
  const double clock = group.clock + level_[flow.group] * (now_ - group.since);
  const double ends = flow.group >= link_count_ ? group.solo_ends : group.members.at[flow.member_at].ends;
  return std::max(0.0, ends - clock);
}

Bytes FastSolver::cancel(FlowId id) {
  const Index slot = id.v;
  Flow& flow = flows_[slot];
  const Bytes left(left_of(flow) * flow.share);
  if (flow.group == kNone)
    pending_.erase(std::find(pending_.rbegin(), pending_.rend(), slot).base() - 1);
  else
    leave(slot);
  detach(slot);
  drop(slot);
  return left;
}

void FastSolver::set_capacity(ResourceId r, Bandwidth capacity) {
  links_[r.v].capacity = capacity.si();
  mark(r.v);
}

void FastSolver::set_cap(FlowId id, Bandwidth cap) {
  Flow& flow = flows_[id.v];
  flow.cap = cap_level(cap, flow.share);
  if (flow.group == kNone) return;
  if (flow.group < link_count_) {
    Link& link = links_[flow.group];
    link.least_cap = std::min(link.least_cap, flow.cap);
    mark(flow.group);
  } else {
    touch(flow.group);
    ++changes_;
    level_[flow.group] = flow.cap;
    mark_hops(id.v, kNone);
  }
}

Seconds FastSolver::next_completion() {
  solve();
  return dates_.empty() ? kForever : Seconds(dates_.top_date());
}

// `g` is without a date.
void FastSolver::finish_group(Index g, double limit, std::vector<FlowId>& finished) {
  Group& group = groups_[g];
  if (g >= link_count_ || group.members.size == 1) {
    const Index slot = g >= link_count_ ? group.solo : group.members.at[0].slot;
    group.solo = kNone;
    group.members.size = 0;
    finished.push_back(FlowId(slot));
    detach(slot);
    drop(slot);
    return;
  }
  touch(g);
  // The first one ends now whatever rounding did to the clock.
  const double until = std::max(group.members.at[0].ends, group.clock + level_[g] * (limit - now_));
  const std::span<const Member> members(group.members.at, group.members.size);
  if (std::all_of(members.begin(), members.end(), [until](const Member& m) { return m.ends <= until; })) {
    group.members.size = 0;
    const std::size_t first = finished.size();
    finished.resize(first + members.size());
    for (std::size_t i = members.size(); i-- > 0;) {  // backwards: entries that came last go without a swap
      finished[first + i] = FlowId(members[i].slot);
      detach(members[i].slot);
      drop(members[i].slot);
    }
    return;
  }
  do {
    const Index slot = group.members.at[0].slot;
    const Member last = group.members.at[--group.members.size];
    if (group.members.size > 0) member_sink(group, 0, last);
    finished.push_back(FlowId(slot));
    detach(slot);
    drop(slot);
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
  sort_batch(std::span(finished).subspan(static_cast<std::size_t>(before)), sorted_);
}

Bandwidth FastSolver::rate(FlowId id) {
  solve();
  const Flow& flow = flows_[id.v];
  return Bandwidth(flow.share * level_[flow.group]);
}

Bytes FastSolver::remaining(FlowId id) {
  const Flow& flow = flows_[id.v];
  return Bytes(left_of(flow) * flow.share);
}

}  // namespace overlap::fast

namespace overlap {

std::unique_ptr<FlowSolver> make_fast_solver(std::span<const Bandwidth> capacities) {
  return std::make_unique<fast::FastSolver>(capacities);
}

std::unique_ptr<FlowSolver> make_solver(std::span<const Bandwidth> capacities) {
  return make_fast_solver(capacities);
}

}  // namespace overlap
