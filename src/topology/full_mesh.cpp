// Every pair of devices has a link of its own; "injection" and "ejection" cap what a device sends and takes in all.
#include "topology/kinds.hpp"

namespace overlap::full_mesh {
namespace {

constexpr std::string_view kKeys[] = {"devices", "node_kind", "injection", "ejection", "link"};

void build(const config::Object& file, TopologyBuilder& b) {
  constexpr std::uint32_t kMost = 1024;  // links grow with the square
  const std::uint32_t n = file.at("devices").count(kMost);
  const LinkSpec link = read_link(file.at("link"), LinkKind::xgmi);
  const DeviceSpec spec = read_devices(file);
  for (std::uint32_t i = 0; i < n; ++i) add_device(b, spec, i);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t j = i + 1; j < n; ++j) add_link(b, NodeId(i), NodeId(j), link);
  }
}

}  // namespace
}  // namespace overlap::full_mesh

namespace overlap {

Generator full_mesh_kind() {
  return {"full_mesh", "a link between every two devices, with an optional cap on all that a device sends or takes",
          full_mesh::kKeys, full_mesh::build};
}

}  // namespace overlap
