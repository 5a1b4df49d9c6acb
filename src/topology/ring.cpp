// A ring of n chips that forward traffic; each link joins neighbours in both directions.
#include "topology/kinds.hpp"

namespace overlap::ring {
namespace {

constexpr std::string_view kKeys[] = {"devices", "node_kind", "injection", "ejection", "link"};

void build(const config::Object& file, TopologyBuilder& b) {
  const std::uint32_t n = file.at("devices").count(kMostDevices);
  const LinkSpec link = read_link(file.at("link"), LinkKind::ici);
  DeviceSpec spec = read_devices(file);
  spec.transit = true;
  for (std::uint32_t i = 0; i < n; ++i) add_device(b, spec, i);
  for (std::uint32_t i = 0; i + 1 < n; ++i) add_link(b, NodeId(i), NodeId(i + 1), link);
  if (n > 2) add_link(b, NodeId(n - 1), NodeId(std::uint32_t{0}), link);
  b.routing(RoutingPolicy::dimension_order, {n});
}

}  // namespace
}  // namespace overlap::ring

namespace overlap {

Generator ring_kind() {
  return {"ring", "n chips in a ring, each joined to the next; routes take the shorter way round", ring::kKeys,
          ring::build};
}

}  // namespace overlap
