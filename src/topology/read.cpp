// Topology files: what all kinds have in common, then the kind's own generator.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/paths.hpp"
#include "topology/generator.hpp"
#include "topology/names.hpp"

namespace overlap {
namespace {

constexpr std::string_view kCommonKeys[] = {"$schema", "name",   "kind",      "summary",     "source",
                                            "notes",   "routes", "overrides", "capabilities"};
constexpr std::string_view kLinkKeys[] = {"kind",        "bandwidth", "efficiency", "latency",
                                          "half_duplex", "both_ways", "source"};
constexpr std::string_view kOverrideKeys[] = {"from", "to", "bandwidth", "efficiency", "latency", "one_way", "source"};
constexpr std::string_view kRouteKeys[] = {"path", "one_way"};
constexpr std::string_view kCapabilityKeys[] = {"in_switch_multicast", "peer_access"};

NodeId named_node(TopologyBuilder& b, const config::Cursor& at) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < b.nodes().size(); ++i) {
    if (b.nodes()[i].name == at.text()) return NodeId(i);
    known.push_back(b.nodes()[i].name);
  }
  at.fail(config::unknown_name("node", at.text(), known));
}

void apply_override(TopologyBuilder& b, const config::Cursor& at) {
  const config::Object o(at, override_keys());
  const NodeId from = named_node(b, o.at("from"));
  const NodeId to = named_node(b, o.at("to"));
  const bool one_way = o.has("one_way") && o.at("one_way").boolean();
  bool found = false;
  for (Link& l : b.links()) {
    const bool there = l.from == from && l.to == to;
    const bool back = !one_way && l.from == to && l.to == from;
    if (!there && !back) continue;
    found = true;
    if (o.has("bandwidth")) l.wire = o.at("bandwidth").bandwidth();
    if (o.has("efficiency")) l.efficiency = o.at("efficiency").fraction();
    if (o.has("latency")) l.latency = o.at("latency").time();
  }
  if (!found) o.fail(fmt::format("there is no link from {} to {}", o.at("from").text(), o.at("to").text()));
}

void read_route(TopologyBuilder& b, const config::Cursor& at, const std::map<NodeId, DeviceId>& ranks) {
  const config::Object o(at, route_keys());
  std::vector<NodeId> path;
  for (const config::Cursor& c : o.at("path").items()) path.push_back(named_node(b, c));
  if (path.size() < 2) o.at("path").fail("a route needs at least two nodes");
  const auto from = ranks.find(path.front());
  const auto to = ranks.find(path.back());
  if (from == ranks.end() || to == ranks.end()) o.at("path").fail("a route begins and ends at a device");
  b.explicit_route(from->second, to->second, path);
  if (o.has("one_way") && o.at("one_way").boolean()) return;
  std::reverse(path.begin(), path.end());
  b.explicit_route(to->second, from->second, path);
}

Capabilities read_capabilities(const config::Cursor& at) {
  const config::Object o(at, capability_keys());
  Capabilities c;
  if (o.has("in_switch_multicast")) c.in_switch_multicast = o.at("in_switch_multicast").boolean();
  if (o.has("peer_access")) c.peer_access = o.at("peer_access").boolean();
  return c;
}

const Generator& find_generator(const config::Cursor& root) {
  const config::Cursor kind = root.member("kind");
  std::vector<std::string> known;
  for (const Generator& g : generators()) {
    if (g.kind == kind.text()) return g;
    known.emplace_back(g.kind);
  }
  kind.fail(config::unknown_name("kind of topology", kind.text(), known));
}

}  // namespace

std::span<const std::string_view> common_topology_keys() {
  return kCommonKeys;
}
config::KeySet link_keys() {
  return {"link", kLinkKeys};
}
config::KeySet override_keys() {
  return {"link override", kOverrideKeys};
}
config::KeySet route_keys() {
  return {"route", kRouteKeys};
}
config::KeySet capability_keys() {
  return {"set of capabilities", kCapabilityKeys};
}

LinkSpec read_link(const config::Object& o, LinkKind fallback) {
  LinkSpec l;
  l.kind = o.has("kind") ? static_cast<LinkKind>(o.at("kind").choice(kLinkKinds)) : fallback;
  l.wire = o.at("bandwidth").bandwidth();
  l.efficiency = o.at("efficiency").fraction();
  l.latency = o.at("latency").time();
  if (l.latency.si() > 1) o.at("latency").fail("a latency must lie in 0..1 s");
  l.half_duplex = o.has("half_duplex") && o.at("half_duplex").boolean();
  if (o.has("both_ways")) l.both_ways = o.at("both_ways").fraction();
  return l;
}

LinkSpec read_link(const config::Cursor& at, LinkKind fallback) {
  return read_link(config::Object(at, link_keys()), fallback);
}

void add_link(TopologyBuilder& b, NodeId from, NodeId to, const LinkSpec& l) {
  b.link(from, to, l.kind, l.wire, l.efficiency, l.latency, l.half_duplex);
  for (std::size_t i = b.links().size() - 2; i < b.links().size(); ++i) b.links()[i].both_ways = l.both_ways;
}

DeviceSpec read_devices(const config::Object& file) {
  constexpr std::string_view kKinds[] = {"gpu", "tpu"};
  DeviceSpec spec;
  if (file.has("node_kind")) spec.kind = *parse_node_kind(kKinds[file.at("node_kind").choice(kKinds)]);
  if (file.has("injection")) spec.injection = file.at("injection").bandwidth();
  if (file.has("ejection")) spec.ejection = file.at("ejection").bandwidth();
  return spec;
}

NodeId add_device(TopologyBuilder& b, const DeviceSpec& spec, std::uint32_t number, std::uint32_t group) {
  const NodeId id =
      b.node({fmt::format("{}{}", to_text(spec.kind), number), spec.kind, spec.transit, spec.injection, spec.ejection});
  b.device(id, group);
  return id;
}

Topology read_topology(const config::Cursor& at, const std::string& fallback_name) {
  if (!at.is_object()) at.fail("an object (topology) belongs here");
  const Generator& generator = find_generator(at);
  std::vector<std::string_view> keys(std::begin(kCommonKeys), std::end(kCommonKeys));
  keys.insert(keys.end(), generator.keys.begin(), generator.keys.end());
  const std::string what = fmt::format("topology of kind {}", generator.kind);
  const config::Object file(at, {what, keys});
  TopologyBuilder b(file.has("name") ? file.at("name").text() : fallback_name);
  generator.build(file, b);
  if (file.has("capabilities")) b.capabilities(read_capabilities(file.at("capabilities")));
  if (file.has("overrides")) {
    for (const config::Cursor& c : file.at("overrides").items()) apply_override(b, c);
  }
  if (file.has("routes")) {
    std::map<NodeId, DeviceId> ranks;
    for (std::size_t i = 0; i < b.devices().size(); ++i) ranks.emplace(b.devices()[i], DeviceId(i));
    for (const config::Cursor& c : file.at("routes").items()) read_route(b, c, ranks);
  }
  return std::move(b).finish(at.where());
}

Topology load_topology(const std::string& path) {
  const config::Document doc(config::resolve(path, "", "topologies"));
  return read_topology(doc.root(), config::stem_of(doc.file()));
}

}  // namespace overlap
