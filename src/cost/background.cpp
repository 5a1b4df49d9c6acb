// Background traffic of the machine as flows of the engine: over the route's links and limits, and the memory of the
// devices at its ends.
#include <map>

#include "cost/pricer.hpp"

namespace overlap::cost {

void Pricer::make_background() {
  const Topology& topo = machine_.topology;
  std::map<NodeId, DeviceId> rank;
  for (std::uint32_t d = 0; d < graph_.devices(); ++d) rank.emplace(topo.devices()[d], DeviceId(d));
  for (const Traffic& t : machine_.background) {
    BackgroundFlow flow;
    flow.cap = t.rate;
    flow.start = t.start;
    flow.stop = t.stop;
    const auto add = [&flow](ResourceId r) {
      if (r.valid()) flow.uses.push_back({r, 1.0});
    };
    for (const LinkId id : t.route) {
      const Link& l = topo.links()[id.index()];
      add(injection_[l.from.index()]);
      add(link_[id.index()]);
      add(both_ways_[id.index()]);
      add(ejection_[l.to.index()]);
    }
    for (const NodeId end : {t.from, t.to}) {
      const auto device = rank.find(end);
      if (device != rank.end()) add_hbm(flow.uses, device->second, 1.0);
    }
    if (!flow.uses.empty()) out_.resources.background.push_back(std::move(flow));
  }
}

}  // namespace overlap::cost
