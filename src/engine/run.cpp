#include "engine/run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "overlap/error.hpp"

namespace overlap::engine {

Run::Run(const OpGraph& graph, const Demands& demands, const Resources& resources, const SimOptions& options)
    : graph_(graph), demands_(demands), resources_(resources), options_(options) {
  check_demands(graph, demands, resources);
  plan_ = make_plan(graph, demands);
  const std::size_t n = graph.ops().size();
  left_ = n;
  const Seconds never(-1.0);
  timeline_.ops.assign(n, {never, never, never, never});
  timeline_.part_ends.assign(graph.parts().size(), never);
  members_missing_.assign(n, 1);
  activity_.assign(n, kNone);
  watched_ = options.record_rates || options.check_certificate;
  make_streams();
  for (const FluidResource& f : resources.fluids) capacities_.push_back(f.capacity);
  if (options.solver == SolverKind::plain) {
    solver_ = make_plain_solver(capacities_);
  } else {
    auto fast = std::make_unique<fast::FastSolver>(capacities_);
    fast_ = fast.get();
    solver_ = std::move(fast);
  }
  make_members();
  make_pools();
  make_tokens();
  make_power();
  make_load();
  tanks_.resize(resources.tanks.size() + 1);
  for (std::size_t t = 0; t < resources.tanks.size(); ++t) tanks_[t].capacity = resources.tanks[t].capacity.si();
  background_.resize(resources.background.size());
  if (options.record_rates) {
    op_rate_.assign(n, 0.0);
    new_rate_.assign(n, 0.0);
  }
}

void Run::make_members() {
  if (plan_.member_op.size() == graph_.ops().size()) return;  // one each
  const auto several = [](const Op& o) { return o.lanes.size() > 1; };
  member_times_.assign(graph_.ops().size(), kNone);
  for (std::uint32_t i = 0; i < graph_.ops().size(); ++i) {
    members_missing_[i] = lanes_of(i).size();
    if (!several(op(i))) continue;
    member_times_[i] = static_cast<std::uint32_t>(timeline_.members.size());
    for (std::uint32_t m = lanes_of(i).begin; m < lanes_of(i).end; ++m) {
      timeline_.members.push_back({OpId(i), lane(m).device, Seconds(-1.0), Seconds(-1.0)});
    }
  }
}

Timeline Run::go() {
  for (std::uint32_t i = 0; i < background_.size(); ++i) {
    push(resources_.background[i].start.si(), EventKind::background_start, i);
  }
  start_lanes();
  while (left_ > 0) {
    settle();
    if (left_ == 0) break;
    if (timeline_.past_limit) return std::move(timeline_);
    if (watched_) inspect_flows();
    advance();
  }
  timeline_.past_limit = false;
  if (options_.record_rates) record_rates();
  finish_timeline();
  return std::move(timeline_);
}

// Members that wait for nothing: the first of a lane, or any after an op without members there.
void Run::start_lanes() {
  for (std::uint32_t m = 0; m < plan_.member_op.size(); ++m) {
    if (plan_.member_op[m] == kNone) continue;
    if (!lanes_.empty() && plan_.lane_first[lane_id(m).index()] == m) reach(m, kNone);
    if (plan_.member_pending[m] == 0) worklist_.push_back(m);
  }
}

// Everything that happens at this date. Slots are dealt out only when nothing else is left to happen, so that all who
// became ready at one date stand in line together.
void Run::settle() {
  const double window = now_ + kBatch * now_;
  for (;;) {
    for (std::size_t i = 0; i < worklist_.size(); ++i) unblocked(worklist_[i]);
    worklist_.clear();
    if (!events_.empty() && events_.next_time() <= window) {
      ++timeline_.events;
      handle(events_.pop());
      continue;
    }
    if (arbitrate()) continue;
    update_power();
    update_load();
    if (active_tanks_.empty() || left_ == 0 || !update_tanks()) return;
  }
}

void Run::advance() {
  const double flows = (fast_ != nullptr ? fast_->next_completion() : solver_->next_completion()).si();
  const double next = std::max(now_, std::min(events_.empty() ? kForever.si() : events_.next_time(), flows));
  if (next >= kNever) stuck();
  now_ = next;
  finished_.clear();
  if (fast_ != nullptr)
    fast_->advance_to(Seconds(now_), finished_);
  else
    solver_->advance_to(Seconds(now_), finished_);
  for (const FlowId f : finished_) {
    ++timeline_.events;
    flow_done(f);
  }
}

void Run::handle(const Event& e) {
  switch (static_cast<EventKind>(e.kind)) {
    case EventKind::member_ready:
      claim(e.index);
      return;
    case EventKind::first_byte:
      first_byte(e.index);
      return;
    case EventKind::op_end:
      end_op(e.index);
      return;
    case EventKind::part_end:
      timeline_.part_ends[e.index] = Seconds(now_);
      complete(static_cast<std::uint32_t>(graph_.ops().size()) + e.index);
      return;
    case EventKind::cohort:
      if (cohorts_[e.index].generation == e.generation) end_cohort(e.index);
      return;
    case EventKind::kernel_release:
      free_kernel_slots(e.index);
      return;
    case EventKind::tank:
      if (tanks_[e.index].generation == e.generation) tanks_[e.index].dirty = true;
      return;
    case EventKind::background_start:
      start_background(e.index);
      return;
    case EventKind::background_stop:
      stop_background(e.index);
      return;
    case EventKind::power_step:
      if (power_[e.index].generation == e.generation) step_power(e.index);
      return;
  }
}

void Run::unblocked(std::uint32_t member) {
  const double ready = stream_ready(member) + race_delay(member);
  if (ready > now_ + kBatch * now_) {
    push(ready, EventKind::member_ready, member);
  } else {
    claim(member);
  }
}

// The member has its slots; the op begins with its last member. Tiled kernels come in through begin_kernel().
void Run::admit(std::uint32_t member) {
  const std::uint32_t i = plan_.member_op[member];
  const Seconds now(now_);
  if (members_missing_[i] == lanes_of(i).size()) timeline_.ops[i].admitted = now;
  if (lanes_of(i).size() > 1) {
    timeline_.members[member_times_[i] + (member - lanes_of(i).begin)].admitted = now;
  }
  if (--members_missing_[i] == 0) begin(i);
}

void Run::begin(std::uint32_t i) {
  timeline_.ops[i].begin = Seconds(now_);
  const Demand& d = demand(i);
  switch (d.kind) {
    case DemandKind::fixed:
      push(now_ + (d.latency + d.tail).si(), EventKind::op_end, i);
      return;
    case DemandKind::fluid:
    case DemandKind::store:
      if (d.latency.si() > 0.0) {
        push(now_ + d.latency.si(), EventKind::first_byte, i);
      } else {
        first_byte(i);
      }
      return;
    case DemandKind::tiles:
      return;  // begin_kernel() has started it
  }
}

void Run::first_byte(std::uint32_t i) {
  const Demand& d = demand(i);
  if (d.work.si() <= 0.0) {
    push(now_ + d.tail.si(), EventKind::op_end, i);
  } else if (d.kind == DemandKind::store) {
    begin_store(i);
  } else {
    const bool slowed = d.beside > 1.0;
    const Bandwidth cap = slowed ? Bandwidth(beside_cap(i)) : d.cap;
    const FlowId flow = start_flow(FlowKind::op, i, {uses_of(d), d.share, cap, d.work});
    if (slowed) {
      activity_[i] = flow.v;
      slowed_.push_back(i);
    }
  }
}

void Run::end_op(std::uint32_t i) {
  timeline_.ops[i].end = Seconds(now_);
  --left_;
  if (!options_.least_after.empty()) hold_to_limit(i);
  const Demand& d = demand(i);
  if (d.kind == DemandKind::tiles) {
    free_kernel(activity_[i]);
  } else if (const Gemm* gemm = plan_.whole_gemms ? std::get_if<Gemm>(&op(i).work) : nullptr) {
    for (std::uint32_t p = gemm->parts.begin; p < gemm->parts.end; ++p) timeline_.part_ends[p] = Seconds(now_);
  }
  if (d.kind != DemandKind::store || d.work.si() <= 0.0) {
    release_slots(i);
    leave_lanes(i);
  }
  give_tokens(i);
  complete(i);
}

void Run::hold_to_limit(std::uint32_t i) {
  const Seconds least = Seconds(now_) + options_.least_after[i];
  if (least <= options_.limit) return;
  timeline_.past_limit = true;
  timeline_.makespan = std::max(timeline_.makespan, least);
}

void Run::leave_lanes(std::uint32_t i) {
  for (std::uint32_t m = lanes_of(i).begin; m < lanes_of(i).end; ++m) {
    const std::uint32_t next = plan_.lane_next[m];
    if (next == kNone) continue;
    if (!lanes_.empty()) reach(next, i);
    if (--plan_.member_pending[next] == 0) worklist_.push_back(next);
  }
}

void Run::complete(std::uint32_t source) {
  for (const std::uint32_t target : plan_.targets(source)) {
    if ((target & kPartBit) != 0) {
      const std::uint32_t part = target & ~kPartBit;
      if (--plan_.parts[part].pending == 0) part_ready(part);
      continue;
    }
    if (!lanes_.empty()) wait_met(target, source);
    if (--plan_.member_pending[target] == 0) worklist_.push_back(target);
  }
}

void Run::finish_timeline() {
  for (std::size_t p = 0; p < timeline_.part_ends.size(); ++p) {  // a part without tiles whose kernel ended last
    Seconds& end = timeline_.part_ends[p];
    if (end.si() < 0.0) end = timeline_.ops[graph_.parts()[p].op.index()].end;
  }
  Seconds last;
  for (const OpTimes& t : timeline_.ops) last = std::max(last, t.end);
  for (const StreamCosts& s : resources_.streams) last = std::max(last, s.release_join);
  timeline_.makespan = last;
}

std::string Run::name(std::uint32_t i) const {
  const std::string text = graph_.text(op(i).label);
  return text.empty() ? fmt::format("op {}", i) : fmt::format("op {} ({})", i, text);
}

}  // namespace overlap::engine

namespace overlap {

Timeline simulate(const OpGraph& graph, const Demands& demands, const Resources& resources, const SimOptions& options) {
  return engine::Run(graph, demands, resources, options).go();
}

}  // namespace overlap
