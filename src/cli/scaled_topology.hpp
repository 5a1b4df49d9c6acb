// A network with other numbers, for sensitivities.
#pragma once

#include <optional>

#include "overlap/topology.hpp"

namespace overlap {

// Factors on what a topology states: rates and latencies of the links of one kind, limits of the nodes.
struct LinkScale {
  std::optional<LinkKind> kind;
  double rate = 1.0;
  double latency = 1.0;
  double limits = 1.0;  // injection and ejection
};

// The same network and the same routes between its devices.
Topology scaled(const Topology& t, const LinkScale& s);

}  // namespace overlap
