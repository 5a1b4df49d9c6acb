#include "cli/scaled_topology.hpp"

#include <algorithm>

namespace overlap {

Topology scaled(const Topology& t, const LinkScale& s) {
  TopologyBuilder b(t.name());
  for (Node n : t.nodes()) {
    if (n.injection) *n.injection *= s.limits;
    if (n.ejection) *n.ejection *= s.limits;
    b.node(std::move(n));
  }
  b.links() = t.links();
  for (Link& l : b.links()) {
    if (l.kind != s.kind) continue;
    l.wire *= s.rate;
    l.latency = std::min(l.latency * s.latency, Seconds(1.0));  // the longest that a topology may have
  }
  for (std::uint32_t d = 0; d < t.device_count(); ++d) b.device(t.devices()[d], t.group_of(DeviceId(d)));
  b.capabilities(t.capabilities());
  b.routing(t.dimensions().empty() ? RoutingPolicy::shortest : RoutingPolicy::dimension_order, t.dimensions());
  for (std::uint32_t from = 0; from < t.device_count(); ++from) {
    for (std::uint32_t to = 0; to < t.device_count(); ++to) {
      if (from == to) continue;
      std::vector<NodeId> nodes{t.devices()[from]};
      for (const LinkId l : t.route(DeviceId(from), DeviceId(to))) nodes.push_back(t.links()[l.index()].to);
      b.explicit_route(DeviceId(from), DeviceId(to), std::move(nodes));
    }
  }
  return std::move(b).finish(t.name());
}

}  // namespace overlap
