#include "oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace test {

using namespace overlap;

void fill(const std::vector<long double>& capacity, LiveFlows& flows) {
  std::vector<long double> rest = capacity;
  std::vector<LiveFlow*> rising;
  for (auto& [id, flow] : flows) rising.push_back(&flow);
  while (!rising.empty()) {
    std::vector<long double> demand(capacity.size(), 0);
    for (const LiveFlow* f : rising)
      for (const Use& u : f->uses) demand[u.resource.v] += static_cast<long double>(u.weight) * f->share;
    long double level = 1e300L;
    for (std::size_t r = 0; r < capacity.size(); ++r)
      if (demand[r] > 0) level = std::min(level, std::max(0.0L, rest[r]) / demand[r]);
    for (const LiveFlow* f : rising) level = std::min(level, f->cap / f->share);
    std::vector<LiveFlow*> still;
    const long double reach = level * (1 + 1e-17L);
    for (LiveFlow* f : rising) {
      bool held = f->cap / f->share <= reach;
      for (const Use& u : f->uses)
        held = held || (u.weight > 0 && std::max(0.0L, rest[u.resource.v]) / demand[u.resource.v] <= reach);
      f->rate = level * f->share;
      if (!held) still.push_back(f);
    }
    for (const LiveFlow* f : rising)
      if (std::find(still.begin(), still.end(), f) == still.end())
        for (const Use& u : f->uses) rest[u.resource.v] -= static_cast<long double>(u.weight) * f->rate;
    rising.swap(still);
  }
}

std::string certificate(const std::vector<long double>& capacity, const LiveFlows& flows, long double tolerance) {
  std::vector<long double> load(capacity.size(), 0), top(capacity.size(), 0);
  for (const auto& [id, f] : flows)
    for (const Use& u : f.uses) {
      if (u.weight == 0) continue;
      load[u.resource.v] += static_cast<long double>(u.weight) * f.rate;
      top[u.resource.v] = std::max(top[u.resource.v], f.rate / f.share);
    }
  for (std::size_t r = 0; r < capacity.size(); ++r)
    if (load[r] > capacity[r] * (1 + tolerance))
      return fmt::format("resource {} carries {} of {}", r, static_cast<double>(load[r]),
                         static_cast<double>(capacity[r]));
  for (const auto& [id, f] : flows) {
    if (!(f.rate <= f.cap * (1 + tolerance))) return fmt::format("flow {} is above its cap", id);
    bool held = f.rate >= f.cap * (1 - tolerance);
    for (const Use& u : f.uses)
      held = held || (u.weight > 0 && load[u.resource.v] >= capacity[u.resource.v] * (1 - tolerance) &&
                      f.rate / f.share >= top[u.resource.v] * (1 - tolerance));
    if (!held) return fmt::format("nothing holds flow {} at {}", id, static_cast<double>(f.rate));
  }
  return {};
}

OracleSolver::OracleSolver(std::span<const Bandwidth> capacities) {
  for (const Bandwidth c : capacities) capacity_.push_back(c.si());
}

void OracleSolver::start(FlowId id, const FlowSpec& spec) {
  flows_[id.v] = {{spec.uses.begin(), spec.uses.end()}, spec.share, spec.cap.si(), spec.work.si(), 0};
  stale_ = true;
}

Bytes OracleSolver::cancel(FlowId id) {
  const long double left = flows_.at(id.v).left;
  flows_.erase(id.v);
  stale_ = true;
  return Bytes(static_cast<double>(left));
}

void OracleSolver::set_capacity(ResourceId r, Bandwidth capacity) {
  capacity_[r.v] = capacity.si();
  stale_ = true;
}

void OracleSolver::set_cap(FlowId id, Bandwidth cap) {
  flows_.at(id.v).cap = cap.si();
  stale_ = true;
}

void OracleSolver::refill() {
  if (stale_) fill(capacity_, flows_);
  stale_ = false;
}

Seconds OracleSolver::next_completion() {
  refill();
  long double next = 1e300L;
  for (const auto& [id, f] : flows_)
    if (f.rate > 0) next = std::min(next, now_ + f.left / f.rate);
  return Seconds(static_cast<double>(next));
}

void OracleSolver::advance_to(Seconds t, std::vector<FlowId>& finished) {
  refill();
  // Wider than the batches under test: their dates carry rounding that ours do not.
  const long double limit = static_cast<long double>(t.si()) * (1 + 1e-11L);
  for (auto it = flows_.begin(); it != flows_.end();) {
    LiveFlow& f = it->second;
    if (f.rate > 0 && now_ + f.left / f.rate <= limit) {
      finished.emplace_back(it->first);
      it = flows_.erase(it);
      stale_ = true;
    } else {
      f.left = std::max(0.0L, f.left - f.rate * (static_cast<long double>(t.si()) - now_));
      ++it;
    }
  }
  now_ = t.si();
}

Bandwidth OracleSolver::rate(FlowId id) {
  refill();
  return Bandwidth(static_cast<double>(flows_.at(id.v).rate));
}

Bytes OracleSolver::remaining(FlowId id) {
  return Bytes(static_cast<double>(flows_.at(id.v).left));
}

}  // namespace test
