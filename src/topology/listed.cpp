// Any graph: nodes and links one by one. Ranks follow the order of the nodes that are devices.
#include <map>

#include "topology/kinds.hpp"
#include "topology/names.hpp"

namespace overlap::listed {
namespace {

constexpr std::string_view kKeys[] = {"nodes", "links"};
constexpr std::string_view kNodeKeys[] = {"name", "kind", "device", "transit", "group", "injection", "ejection"};
constexpr std::string_view kLinkKeys[] = {"from",    "to",          "kind",      "bandwidth", "efficiency",
                                          "latency", "half_duplex", "both_ways", "one_way",   "source"};

using Names = std::map<std::string, NodeId>;

void read_node(const config::Cursor& at, TopologyBuilder& b, Names& names) {
  const config::Object o(at, listed_node_keys());
  const NodeKind kind = static_cast<NodeKind>(o.at("kind").choice(kNodeKinds));
  const bool computes = kind == NodeKind::gpu || kind == NodeKind::tpu;
  const bool device = o.has("device") ? o.at("device").boolean() : computes;
  const bool forwards = !computes && kind != NodeKind::host_memory;
  Node node{o.at("name").text(), kind, o.has("transit") ? o.at("transit").boolean() : forwards, std::nullopt,
            std::nullopt};
  if (o.has("injection")) node.injection = o.at("injection").bandwidth();
  if (o.has("ejection")) node.ejection = o.at("ejection").bandwidth();
  if (names.count(node.name) != 0) o.at("name").fail("another node has the name '" + node.name + "'");
  const std::string name = node.name;
  const NodeId id = b.node(std::move(node));
  names.emplace(name, id);
  const std::uint32_t group = o.has("group") ? static_cast<std::uint32_t>(o.at("group").integer(0, 1 << 20)) : 0;
  if (device) b.device(id, group);
}

NodeId end_of(const config::Cursor& at, const Names& names) {
  const auto found = names.find(at.text());
  if (found != names.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, id] : names) known.push_back(name);
  at.fail(config::unknown_name("node", at.text(), known));
}

void build(const config::Object& file, TopologyBuilder& b) {
  Names names;
  for (const config::Cursor& c : file.at("nodes").items()) read_node(c, b, names);
  for (const config::Cursor& c : file.at("links").items()) {
    const config::Object o(c, listed_link_keys());
    const NodeId from = end_of(o.at("from"), names);
    const NodeId to = end_of(o.at("to"), names);
    if (from == to) o.fail("a link from a node to itself");
    const LinkSpec link = read_link(o, LinkKind::internal);
    if (o.has("one_way") && o.at("one_way").boolean()) {
      if (link.half_duplex) o.at("half_duplex").fail("a one-way link has no other direction to share with");
      b.one_way(from, to, link.kind, link.wire, link.efficiency, link.latency);
    } else {
      add_link(b, from, to, link);
    }
  }
}

}  // namespace
}  // namespace overlap::listed

namespace overlap {

config::KeySet listed_node_keys() {
  return {"node", listed::kNodeKeys};
}
config::KeySet listed_link_keys() {
  return {"listed link", listed::kLinkKeys};
}

Generator listed_kind() {
  return {"listed", "any graph, node by node and link by link", listed::kKeys, listed::build};
}

}  // namespace overlap
