// Power caps: a slow state of each device. Load adds up while tiles run; past the onset the clock falls in steps, and
// every running cohort of the device slows down with it.
#include <algorithm>

#include "engine/run.hpp"

namespace overlap::engine {
namespace {
constexpr std::uint32_t kSteps = 16;  // of the ramp

// Load at which step `n` (1..kSteps) begins.
double step_load(const PowerState& s, std::uint32_t n) {
  return s.onset + s.ramp * (static_cast<double>(n - 1) / kSteps);
}
}  // namespace

void Run::make_power() {
  const auto& caps = resources_.power;
  if (std::none_of(caps.begin(), caps.end(), [](const auto& c) { return c.has_value(); })) return;
  power_.resize(caps.size());
  for (std::size_t d = 0; d < caps.size(); ++d) {
    if (!caps[d]) continue;
    power_[d].capped = true;
    power_[d].onset = caps[d]->onset.si();
    power_[d].ramp = caps[d]->ramp.si();
    power_[d].steady_ratio = caps[d]->steady_ratio;
  }
}

PowerState* Run::power_of(std::uint32_t kernel) {
  PowerState& s = power_[lane(kernels_[kernel].claim.member).device.index()];
  return s.capped ? &s : nullptr;
}

// Time of a tile of this kernel now, over its time at full clock.
double Run::stretch_of(std::uint32_t kernel) {
  const PowerState* s = power_of(kernel);
  if (s == nullptr) return 1.0;
  const double ratio = 1.0 + (s->steady_ratio - 1.0) * (static_cast<double>(s->step) / kSteps);
  return 1.0 + tile_demand(kernels_[kernel].op).mma_share * (ratio - 1.0);
}

// A cohort begins (sign 1) or ends (-1) to load its device.
void Run::load_power(const Cohort& c, double sign) {
  PowerState* s = power_of(c.kernel);
  if (s == nullptr) return;
  const Kernel& k = kernels_[c.kernel];
  const TileDemand& d = tile_demand(k.op);
  settle_power(*s);
  const double sms = k.pool == kNone ? d.workers : pools_[k.pool].count;
  s->rate += sign * c.count / sms * d.mma_share;
  s->running = sign > 0.0 ? s->running + 1 : s->running - 1;
  if (s->running == 0) s->rate = 0.0;
  ++s->generation;  // the step that was due no longer is
  if (s->dirty) return;
  s->dirty = true;
  dirty_power_.push_back(static_cast<std::uint32_t>(s - power_.data()));
}

void Run::settle_power(PowerState& s) {
  const double elapsed = now_ - s.since;
  s.since = now_;
  const double most = s.onset + s.ramp;
  s.load = std::clamp(s.load + (s.running > 0 ? s.rate : -1.0) * elapsed, 0.0, most);
}

void Run::update_power() {
  for (const std::uint32_t device : dirty_power_) {
    power_[device].dirty = false;
    schedule_power(device);
  }
  dirty_power_.clear();
}

// Date of the next step, up while tiles run, down while none do.
void Run::schedule_power(std::uint32_t device) {
  PowerState& s = power_[device];
  ++s.generation;
  double wait = kNever;
  if (s.running > 0 && s.step < kSteps && s.rate > 0.0) {
    wait = (step_load(s, s.step + 1) - s.load) / s.rate;
  } else if (s.running == 0 && s.step > 0) {
    wait = s.load - step_load(s, s.step);
  }
  if (wait < kNever) push(now_ + std::max(0.0, wait), EventKind::power_step, device, s.generation);
}

void Run::step_power(std::uint32_t device) {
  PowerState& s = power_[device];
  settle_power(s);
  if (s.running > 0) {
    s.load = std::max(s.load, step_load(s, s.step + 1));
    ++s.step;
  } else {
    --s.step;
  }
  for (Cohort& c : cohorts_) {
    if (c.state != CohortState::running || !c.flow.valid() || power_of(c.kernel) != &s) continue;
    cap_flow(c.flow, Bandwidth(cohort_cap(c)));
  }
  schedule_power(device);
}

}  // namespace overlap::engine
