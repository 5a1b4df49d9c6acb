// Devices behind a switch. With several planes (NVSwitch chips), a striped transfer spreads evenly over all of them, so
// that they act as one switch of their summed rate; without striping a transfer from a to b keeps to plane
// (a + b) mod planes. "link" is the whole of a device's links to the switch, all planes together.
#include <fmt/format.h>

#include "topology/kinds.hpp"

namespace overlap::switched {
namespace {

constexpr std::string_view kKeys[] = {"devices", "node_kind", "injection", "ejection",
                                      "link",    "planes",    "striped",   "switch_kind"};

void pin_to_planes(TopologyBuilder& b, std::uint32_t devices, std::uint32_t planes) {
  for (std::uint32_t i = 0; i < devices; ++i) {
    for (std::uint32_t j = 0; j < devices; ++j) {
      if (i == j) continue;
      b.explicit_route(DeviceId(i), DeviceId(j), {NodeId(i), NodeId(devices + (i + j) % planes), NodeId(j)});
    }
  }
}

void build(const config::Object& file, TopologyBuilder& b) {
  constexpr std::uint32_t kMostPinned = 512;
  const std::uint32_t n = file.at("devices").count(kMostDevices);
  const std::uint32_t planes = file.has("planes") ? file.at("planes").count(64) : 1;
  const bool striped = !file.has("striped") || file.at("striped").boolean();
  constexpr std::string_view kSwitches[] = {"nvswitch", "switch", "pcie_switch"};
  const NodeKind kind =
      *parse_node_kind(file.has("switch_kind") ? kSwitches[file.at("switch_kind").choice(kSwitches)] : kSwitches[0]);
  LinkSpec link = read_link(file.at("link"), LinkKind::nvlink);
  const DeviceSpec spec = read_devices(file);
  for (std::uint32_t i = 0; i < n; ++i) add_device(b, spec, i);
  const std::uint32_t switches = striped ? 1 : planes;
  if (!striped) {
    if (n > kMostPinned)
      file.at("striped").fail(fmt::format("planes without striping take at most {} devices", kMostPinned));
    link.wire /= planes;
  }
  for (std::uint32_t s = 0; s < switches; ++s) {
    const std::string name = fmt::format("{}{}", to_text(kind), s);
    const NodeId node = b.node({name, kind, true, std::nullopt, std::nullopt});
    for (std::uint32_t i = 0; i < n; ++i) add_link(b, NodeId(i), node, link);
  }
  if (!striped && planes > 1) pin_to_planes(b, n, planes);
}

}  // namespace
}  // namespace overlap::switched

namespace overlap {

Generator switched_kind() {
  return {"switched", "devices behind a non-blocking switch (NVSwitch), of one or several planes", switched::kKeys,
          switched::build};
}

}  // namespace overlap
