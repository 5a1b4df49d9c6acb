// Cuts of the devices: around each one, and of each group against the rest by maximum flow (Boost.Graph).
#include <fmt/format.h>

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/edmonds_karp_max_flow.hpp>
#include <set>

#include "topology/impl.hpp"

namespace overlap {
namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, double,
                    boost::property<boost::edge_residual_capacity_t, double,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

void add(FlowGraph& g, std::size_t from, std::size_t to, double capacity) {
  const auto forward = boost::add_edge(from, to, g).first;
  const auto back = boost::add_edge(to, from, g).first;
  boost::put(boost::edge_capacity, g, forward, capacity);
  boost::put(boost::edge_capacity, g, back, 0.0);
  boost::put(boost::edge_reverse, g, forward, back);
  boost::put(boost::edge_reverse, g, back, forward);
}

// Largest rate from the devices of `left` to the others. Each node is split in an entry and an exit, so that its
// limits are edges: node n enters at 3n, meets itself at 3n + 1, leaves at 3n + 2.
Bandwidth largest_flow(const Topology& t, const std::vector<bool>& left, bool reverse) {
  double unlimited = 1;  // no more than the sum of all links can flow; huge capacities would swallow the flow's digits
  for (const Link& l : t.links()) unlimited += l.payload().si();
  const std::size_t n = t.nodes().size();
  FlowGraph g(3 * n + 2);
  const std::size_t source = 3 * n;
  const std::size_t sink = 3 * n + 1;
  std::vector<bool> device(n);
  for (const NodeId d : t.devices()) device[d.index()] = true;
  for (std::size_t i = 0; i < n; ++i) {
    const Node& node = t.nodes()[i];
    add(g, 3 * i, 3 * i + 1, node.ejection ? node.ejection->si() : unlimited);
    add(g, 3 * i + 1, 3 * i + 2, node.injection ? node.injection->si() : unlimited);
    if (!device[i]) continue;
    const bool sends = left[i] != reverse;
    sends ? add(g, source, 3 * i + 1, unlimited) : add(g, 3 * i + 1, sink, unlimited);
  }
  for (const Link& l : t.links()) add(g, 3 * l.from.index() + 2, 3 * l.to.index(), l.payload().si());
  return Bandwidth(boost::edmonds_karp_max_flow(g, source, sink));
}

Cut around(const Topology& t, DeviceId d) {
  const NodeId n = t.devices()[d.index()];
  const Node& node = t.nodes()[n.index()];
  Cut cut{"device " + node.name, {d}, Bandwidth(0), Bandwidth(0)};
  for (const Link& l : t.links()) {
    if (l.from == n) cut.left_to_right += l.payload();
    if (l.to == n) cut.right_to_left += l.payload();
  }
  if (node.injection) cut.left_to_right = std::min(cut.left_to_right, *node.injection);
  if (node.ejection) cut.right_to_left = std::min(cut.right_to_left, *node.ejection);
  return cut;
}

}  // namespace

std::vector<Cut> device_and_group_cuts(const Topology& t) {
  std::vector<Cut> out;
  std::set<std::uint32_t> groups;
  for (std::size_t i = 0; i < t.devices().size(); ++i) {
    groups.insert(t.group_of(DeviceId(i)));
    if (t.device_count() > 1) out.push_back(around(t, DeviceId(i)));
  }
  if (groups.size() < 2) return out;
  if (groups.size() == 2) groups.erase(*groups.rbegin());  // the second is the first seen from the other side
  for (const std::uint32_t group : groups) {
    Cut cut{fmt::format("group {}", group), {}, Bandwidth(0), Bandwidth(0)};
    std::vector<bool> left(t.nodes().size());
    for (std::size_t i = 0; i < t.devices().size(); ++i) {
      if (t.group_of(DeviceId(i)) != group) continue;
      cut.left.emplace_back(i);
      left[t.devices()[i].index()] = true;
    }
    cut.left_to_right = largest_flow(t, left, false);
    cut.right_to_left = largest_flow(t, left, true);
    out.push_back(std::move(cut));
  }
  return out;
}

}  // namespace overlap
