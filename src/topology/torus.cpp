// A grid of chips in one to three dimensions; "wrap" closes a dimension to a ring (torus) or leaves it open (mesh).
// Chip (x, y, z) has rank x + a (y + b z). A dimension of two chips has one link between them, wrapped or not.
#include <fmt/format.h>

#include "topology/kinds.hpp"

namespace overlap::torus {
namespace {

constexpr std::string_view kKeys[] = {"extents", "wrap", "node_kind", "injection", "ejection", "link", "links"};

std::vector<std::uint32_t> read_extents(const config::Object& file) {
  const config::Cursor at = file.at("extents");
  std::vector<std::uint32_t> out;
  std::uint64_t chips = 1;
  for (const config::Cursor& c : at.items()) {
    out.push_back(c.count(kMostDevices));
    chips *= out.back();
    if (chips > kMostDevices) at.fail(fmt::format("more than {} chips", kMostDevices));
  }
  if (out.empty() || out.size() > 3) at.fail("one to three extents belong here, such as [4, 4, 4]");
  return out;
}

std::vector<bool> read_wraps(const config::Object& file, std::size_t dimensions) {
  if (!file.has("wrap")) return std::vector<bool>(dimensions, true);
  const config::Cursor at = file.at("wrap");
  if (!at.is_array()) return std::vector<bool>(dimensions, at.boolean());
  std::vector<bool> out;
  for (const config::Cursor& c : at.items()) out.push_back(c.boolean());
  if (out.size() != dimensions) at.fail(fmt::format("one entry a dimension belongs here: {}", dimensions));
  return out;
}

std::vector<LinkSpec> read_links(const config::Object& file, std::size_t dimensions) {
  if (file.has("links") == file.has("link")) {
    file.fail("a torus needs either 'link' for all dimensions or 'links' with one entry a dimension");
  }
  if (file.has("link")) return std::vector<LinkSpec>(dimensions, read_link(file.at("link"), LinkKind::ici));
  std::vector<LinkSpec> out;
  for (const config::Cursor& c : file.at("links").items()) out.push_back(read_link(c, LinkKind::ici));
  if (out.size() != dimensions) {
    file.at("links").fail(fmt::format("one entry a dimension belongs here: {}", dimensions));
  }
  return out;
}

void build(const config::Object& file, TopologyBuilder& b) {
  const std::vector<std::uint32_t> extents = read_extents(file);
  const std::vector<bool> wraps = read_wraps(file, extents.size());
  const std::vector<LinkSpec> links = read_links(file, extents.size());
  DeviceSpec spec = read_devices(file);
  spec.transit = true;
  std::uint32_t chips = 1;
  for (const std::uint32_t e : extents) chips *= e;
  for (std::uint32_t i = 0; i < chips; ++i) add_device(b, spec, i);
  std::uint32_t stride = 1;
  for (std::size_t d = 0; d < extents.size(); stride *= extents[d], ++d) {
    for (std::uint32_t i = 0; i < chips; ++i) {
      const std::uint32_t c = i / stride % extents[d];
      if (c + 1 < extents[d]) {
        add_link(b, NodeId(i), NodeId(i + stride), links[d]);
      } else if (wraps[d] && extents[d] > 2) {
        add_link(b, NodeId(i), NodeId(i - c * stride), links[d]);
      }
    }
  }
  b.routing(RoutingPolicy::dimension_order, extents);
}

}  // namespace
}  // namespace overlap::torus

namespace overlap {

Generator torus_kind() {
  return {"torus", "a grid of chips in 1 to 3 dimensions, each wrapped (torus) or open (mesh); dimension-order routes",
          torus::kKeys, torus::build};
}

}  // namespace overlap
