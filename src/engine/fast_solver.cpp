#include "engine/fast_solver.hpp"

#include <algorithm>

namespace overlap::fast {

namespace {

constexpr double kNoCap = 1e299;

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
  slots_ = id + 1;
  flows_.resize(slots_);
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
  if (slot >= slots_) more_slots(slot);
  const double share = spec.share;
  Flow& flow = flows_[slot];
  flow.live = true;
  flow.share = share;
  flow.cap = cap_level(spec.cap, share);
  flow.left = share == 1 ? spec.work.si() : spec.work.si() / share;
  const Index log = stride_log_;
  const Index first = slot << log;
  Hop* const hops = hops_.data() + first;
  Index count = 0;
  Link* const links = links_.data();
  double level = flow.cap;
  Index holder = kNone;
  bool alone = true;
  for (const Use& use : spec.uses) {
    const double demand = use.weight * share;
    if (demand == 0) continue;
    const Index l = use.resource.v;
    Link& link = links[l];
    const Index n = link.size;
    hops[count] = {l, n};
    if (n == 0) {
      if (!link.busy) note_busy(l);
      alone = alone && !link.shared;
      if (const double lone = alone ? link.capacity / demand : kUnbounded; lone < level) {
        level = lone;
        holder = l;
      }
      link.demand = demand;
      link.size = 1;
      link.ref()[0] = first + count++;
    } else {
      alone = false;
      link.shared = true;
      if (link.ref()[n - 1] >> log == slot) link.twice = true;
      push_entry(link, pools_, first + count++, demand);
    }
  }
  flow.hop_count = count;
  if (alone)
    place_alone(slot, holder, level);
  else
    pending_.push_back(slot);
}

// And has room for an entry.
void FastSolver::note_busy(Index l) {
  if (links_[l].room == 0) grow(links_[l], pools_);
  links_[l].busy = true;
  busy_.push_back(l);
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
  const double level = flow.group == kNone ? 0 : level_[flow.group];
  if (flow.group == kNone)
    pending_.erase(std::find(pending_.rbegin(), pending_.rend(), slot).base() - 1);
  else
    leave(slot);
  remove(slot, flow.hop_count, level);
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
