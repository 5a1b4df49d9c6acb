// The engine's side of the solver: ids, owners, background traffic, rate records and the certificate.
#include <algorithm>

#include "engine/run.hpp"
#include "overlap/error.hpp"

namespace overlap::engine {

FlowId Run::start_flow(FlowKind kind, std::uint32_t index, const FlowSpec& spec) {
  std::uint32_t id = 0;
  if (free_flows_.empty()) {
    id = static_cast<std::uint32_t>(flow_owner_.size());
    flow_owner_.push_back(0);
  } else {
    id = free_flows_.pop();
  }
  flow_owner_[id] = (index << 2U) | static_cast<std::uint32_t>(kind);
  if (watched_) {
    specs_.resize(flow_owner_.size());
    live_.resize(flow_owner_.size(), 0);
    specs_[id] = spec;
    live_[id] = 1;
  }
  if (fast_ != nullptr)
    fast_->start(FlowId(id), spec);
  else
    solver_->start(FlowId(id), spec);
  return FlowId(id);
}

void Run::retire_flow(FlowId id) {
  free_flows_.push(id.v);
  if (!live_.empty()) live_[id.index()] = 0;
}

Bytes Run::cancel_flow(FlowId id) {
  const Bytes left = solver_->cancel(id);
  retire_flow(id);
  return left;
}

void Run::cap_flow(FlowId id, Bandwidth cap) {
  solver_->set_cap(id, cap);
  if (!live_.empty()) specs_[id.index()].cap = cap;
}

void Run::flow_done(FlowId id) {
  const std::uint32_t owner = flow_owner_[id.index()];
  const std::uint32_t index = owner >> 2U;
  retire_flow(id);
  switch (static_cast<FlowKind>(owner & 3U)) {
    case FlowKind::op:
      if (demand(index).beside > 1.0) std::erase(slowed_, index);
      if (demand(index).tail.si() > 0.0) {
        push(now_ + demand(index).tail.si(), EventKind::op_end, index);
      } else {
        end_op(index);
      }
      return;
    case FlowKind::cohort:
      cohorts_[index].flow = FlowId();
      end_cohort(index);
      return;
    case FlowKind::store:
      store_drained(index);
      return;
    case FlowKind::background:
      background_[index] = FlowId();
      return;
  }
}

void Run::start_background(std::uint32_t i) {
  const BackgroundFlow& b = resources_.background[i];
  if (b.uses.empty() || b.stop <= b.start) return;
  background_[i] = start_flow(FlowKind::background, i, {b.uses, 1.0, b.cap, Bytes(1e300)});
  if (b.stop.si() < kNever) push(b.stop.si(), EventKind::background_stop, i);
}

void Run::stop_background(std::uint32_t i) {
  if (background_[i].valid()) cancel_flow(background_[i]);
  background_[i] = FlowId();
}

void Run::inspect_flows() {
  if (options_.record_rates) record_rates();
  if (!options_.check_certificate) return;
  std::vector<RatedFlow> flows;
  for (std::uint32_t f = 0; f < live_.size(); ++f) {
    if (live_[f] == 0) continue;
    flows.push_back({FlowId(f), specs_[f].uses, specs_[f].share, specs_[f].cap, solver_->rate(FlowId(f))});
  }
  const std::string violation = certificate_violation(capacities_, flows);
  if (!violation.empty())
    throw CheckError("rates are not max-min fair at " + to_text(Seconds(now_)) + ": " + violation);
}

// Total rate of each op's flows, where it changed.
void Run::record_rates() {
  std::vector<std::uint32_t> touched = rated_ops_;
  rated_ops_.clear();
  for (std::uint32_t f = 0; f < live_.size(); ++f) {
    if (live_[f] == 0) continue;
    const std::uint32_t index = flow_owner_[f] >> 2U;
    std::uint32_t i = index;
    switch (static_cast<FlowKind>(flow_owner_[f] & 3U)) {
      case FlowKind::op:
        break;
      case FlowKind::cohort:
        i = kernels_[cohorts_[index].kernel].op;
        break;
      case FlowKind::store:
        i = stores_[index].op;
        break;
      case FlowKind::background:
        continue;
    }
    if (new_rate_[i] == 0.0) rated_ops_.push_back(i);
    new_rate_[i] += solver_->rate(FlowId(f)).si();
  }
  touched.insert(touched.end(), rated_ops_.begin(), rated_ops_.end());
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (const std::uint32_t i : touched) {
    if (new_rate_[i] != op_rate_[i]) timeline_.rates.push_back({Seconds(now_), OpId(i), Bandwidth(new_rate_[i])});
    op_rate_[i] = new_rate_[i];
    new_rate_[i] = 0.0;
  }
}

}  // namespace overlap::engine
