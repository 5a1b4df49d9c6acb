#include <fmt/format.h>

#include <algorithm>

#include "overlap/solver.hpp"

namespace overlap {

std::string certificate_violation(std::span<const Bandwidth> capacities, std::span<const RatedFlow> flows,
                                  double tolerance) {
  std::vector<double> load(capacities.size(), 0.0);
  std::vector<double> fastest(capacities.size(), 0.0);
  for (const RatedFlow& f : flows) {
    for (const Use& use : f.uses) {
      load[use.resource.index()] += use.weight * f.rate.si();
      if (use.weight > 0.0) {
        double& top = fastest[use.resource.index()];
        top = std::max(top, f.rate.si() / f.share);
      }
    }
  }
  for (std::size_t r = 0; r < capacities.size(); ++r) {
    if (load[r] > capacities[r].si() * (1.0 + tolerance)) {
      return fmt::format("resource {} carries {} of {}", r, to_text(Bandwidth(load[r])), to_text(capacities[r]));
    }
  }
  for (const RatedFlow& f : flows) {
    if (f.rate.si() > f.cap.si() * (1.0 + tolerance)) {
      return fmt::format("flow {} runs at {}, over its cap of {}", f.id.v, to_text(f.rate), to_text(f.cap));
    }
    if (f.rate.si() >= f.cap.si() * (1.0 - tolerance)) continue;
    const bool justified = std::any_of(f.uses.begin(), f.uses.end(), [&](const Use& use) {
      const std::size_t r = use.resource.index();
      return use.weight > 0.0 && load[r] >= capacities[r].si() * (1.0 - tolerance) &&
             f.rate.si() / f.share >= fastest[r] * (1.0 - tolerance);
    });
    if (!justified) {
      return fmt::format("flow {} runs at {}: neither at its cap nor the fastest on a full resource", f.id.v,
                         to_text(f.rate));
    }
  }
  return {};
}

}  // namespace overlap
