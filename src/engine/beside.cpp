// Ops that run slower while tiles run on their devices (Demand::beside).
#include <algorithm>

#include "engine/run.hpp"

namespace overlap::engine {

void Run::make_load() {
  const auto slows = [](const Demand& d) { return d.beside > 1.0; };
  if (std::any_of(demands_.ops.begin(), demands_.ops.end(), slows)) load_.assign(graph_.devices(), 0);
}

void Run::load_device(const Cohort& c, bool begins) {
  std::uint32_t& load = load_[lane(kernels_[c.kernel].claim.member).device.index()];
  load = begins ? load + c.count : load - c.count;
  load_changed_ = !slowed_.empty();
}

// The rate of an op beside the tiles that run now on the busiest of its devices.
double Run::beside_cap(std::uint32_t i) const {
  const Demand& d = demand(i);
  double most = 0.0;
  for (std::uint32_t m = lanes_of(i).begin; m < lanes_of(i).end; ++m) {
    for (const SlotNeed& need : slots_of(i)) {
      const double sms = pools_[pool_of(need, m)].count;
      most = std::max(most, std::min(1.0, 2 * load_[lane(m).device.index()] / sms));
    }
  }
  return d.cap.si() / (1.0 + (d.beside - 1.0) * most);
}

void Run::update_load() {
  if (!load_changed_) return;
  load_changed_ = false;
  for (const std::uint32_t i : slowed_) cap_flow(FlowId(activity_[i]), Bandwidth(beside_cap(i)));
}

}  // namespace overlap::engine
