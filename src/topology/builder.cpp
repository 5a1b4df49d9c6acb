#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "overlap/error.hpp"
#include "topology/impl.hpp"

namespace overlap {
namespace {

using Impl = Topology::Impl;

std::string describe(const Impl& t, const Link& l) {
  return fmt::format("link {} -> {}", t.nodes[l.from.index()].name, t.nodes[l.to.index()].name);
}

void check_rate(const std::string& where, const std::string& what, Bandwidth b) {
  if (!(b.si() > 0) || !std::isfinite(b.si())) {
    throw InputError(where, fmt::format("{} must be a positive bandwidth, not {}", what, to_text(b)));
  }
}

void check_numbers(const Impl& t, const std::string& where) {
  for (const Link& l : t.links) {
    check_rate(where, "the bandwidth of " + describe(t, l), l.wire);
    if (!(l.efficiency > 0) || l.efficiency > 1) {
      throw InputError(where,
                       fmt::format("the efficiency of {} must lie in (0, 1], not {}", describe(t, l), l.efficiency));
    }
    if (!(l.latency.si() >= 0) || l.latency.si() > 1) {
      throw InputError(where,
                       fmt::format("the latency of {} must lie in 0..1 s, not {}", describe(t, l), to_text(l.latency)));
    }
  }
  for (const Node& n : t.nodes) {
    if (n.injection) check_rate(where, "the injection limit of node " + n.name, *n.injection);
    if (n.ejection) check_rate(where, "the ejection limit of node " + n.name, *n.ejection);
  }
}

void index_nodes(Impl& t, const std::string& where) {
  for (std::size_t i = 0; i < t.nodes.size(); ++i) {
    if (!t.by_name.emplace(t.nodes[i].name, NodeId(i)).second) {
      throw InputError(where, fmt::format("two nodes are named '{}'", t.nodes[i].name));
    }
  }
  t.out_begin.assign(t.nodes.size() + 1, 0);
  for (const Link& l : t.links) ++t.out_begin[l.from.index() + 1];
  for (std::size_t i = 1; i < t.out_begin.size(); ++i) t.out_begin[i] += t.out_begin[i - 1];
  t.out_links.resize(t.links.size());
  std::vector<std::uint32_t> next(t.out_begin.begin(), t.out_begin.end() - 1);
  for (std::size_t i = 0; i < t.links.size(); ++i) t.out_links[next[t.links[i].from.index()]++] = LinkId(i);
}

// Nodes that flows from `start` reach; other devices that do not forward end there.
std::vector<bool> reached_from(const Impl& t, NodeId start) {
  std::vector<bool> seen(t.nodes.size());
  std::vector<NodeId> todo = {start};
  seen[start.index()] = true;
  while (!todo.empty()) {
    const NodeId n = todo.back();
    todo.pop_back();
    if (n != start && !t.nodes[n.index()].transit) continue;
    for (const LinkId l : t.out(n)) {
      const NodeId to = t.links[l.index()].to;
      if (!seen[to.index()]) {
        seen[to.index()] = true;
        todo.push_back(to);
      }
    }
  }
  return seen;
}

void refuse_unreached(const Impl& t, const std::string& where, NodeId from, const std::vector<bool>& seen) {
  for (const NodeId to : t.devices) {
    if (seen[to.index()]) continue;
    throw InputError(where, fmt::format("the topology is disconnected: no path leads from {} to {} (flows pass only "
                                        "through nodes with \"transit\": true)",
                                        t.nodes[from.index()].name, t.nodes[to.index()].name));
  }
}

// Devices whose links all join one forwarding node see what that node sees, so a search a node does for all of them.
void check_connected(const Impl& t, const std::string& where) {
  std::vector<bool> done(t.nodes.size());
  for (const NodeId d : t.devices) {
    NodeId start = d;
    const auto out = t.out(d);
    if (!out.empty()) {
      const NodeId first = t.links[out.front().index()].to;
      const bool leaf = std::all_of(out.begin(), out.end(), [&](LinkId l) { return t.links[l.index()].to == first; });
      if (leaf && t.nodes[first.index()].transit) start = first;
    }
    if (done[start.index()]) continue;
    done[start.index()] = true;
    std::vector<bool> seen = reached_from(t, start);
    if (start != d) seen[d.index()] = true;
    refuse_unreached(t, where, d, seen);
  }
}

}  // namespace

TopologyBuilder::TopologyBuilder(std::string name) : impl_(std::make_unique<Impl>()) {
  impl_->name = std::move(name);
}
TopologyBuilder::TopologyBuilder(TopologyBuilder&&) noexcept = default;
TopologyBuilder::~TopologyBuilder() = default;

NodeId TopologyBuilder::node(Node n) {
  impl_->nodes.push_back(std::move(n));
  return NodeId(impl_->nodes.size() - 1);
}

void TopologyBuilder::one_way(NodeId from, NodeId to, LinkKind kind, Bandwidth wire, double efficiency,
                              Seconds latency) {
  impl_->links.push_back({from, to, kind, wire, efficiency, latency, {}, {}});
}

void TopologyBuilder::link(NodeId a, NodeId b, LinkKind kind, Bandwidth wire, double efficiency, Seconds latency,
                           bool half_duplex) {
  one_way(a, b, kind, wire, efficiency, latency);
  one_way(b, a, kind, wire, efficiency, latency);
  const std::size_t n = impl_->links.size();
  impl_->links[n - 2].reverse = LinkId(n - 1);
  impl_->links[n - 1].reverse = LinkId(n - 2);
  if (half_duplex) impl_->links.back().shares_with = LinkId(n - 2);
}

void TopologyBuilder::device(NodeId n, std::uint32_t group) {
  impl_->devices.push_back(n);
  impl_->groups.push_back(group);
}

std::vector<Node>& TopologyBuilder::nodes() {
  return impl_->nodes;
}
std::vector<Link>& TopologyBuilder::links() {
  return impl_->links;
}

const std::vector<NodeId>& TopologyBuilder::devices() const {
  return impl_->devices;
}

void TopologyBuilder::capabilities(const Capabilities& c) {
  impl_->capabilities = c;
}

void TopologyBuilder::routing(RoutingPolicy p, std::vector<std::uint32_t> dimensions) {
  impl_->policy = p;
  impl_->dimensions = std::move(dimensions);
}

void TopologyBuilder::explicit_route(DeviceId a, DeviceId b, std::vector<NodeId> nodes) {
  // Kept as nodes' links once all links are known; until finish() the ids of nodes stand in.
  std::vector<LinkId>& stored = impl_->explicit_routes[{a.v, b.v}];
  stored.clear();
  const std::vector<NodeId> hops = std::move(nodes);
  for (const NodeId n : hops) stored.emplace_back(n.v);
}

namespace {

void resolve_explicit_routes(Impl& t, const std::string& where) {
  for (auto& [pair, stored] : t.explicit_routes) {
    const NodeId from = t.devices[pair.first];
    const NodeId to = t.devices[pair.second];
    std::vector<NodeId> nodes;
    for (const LinkId l : stored) nodes.emplace_back(l.v);
    const std::string what =
        fmt::format("the route from {} to {}", t.nodes[from.index()].name, t.nodes[to.index()].name);
    if (nodes.size() < 2 || nodes.front() != from || nodes.back() != to) {
      throw InputError(where, what + " must begin and end at these two");
    }
    stored.clear();
    for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
      const Node& next = t.nodes[nodes[i + 1].index()];
      const LinkId l = link_between(t, nodes[i], nodes[i + 1]);
      if (!l.valid()) {
        throw InputError(where, fmt::format("{} needs a link from {} to {}, and there is none", what,
                                            t.nodes[nodes[i].index()].name, next.name));
      }
      if (i + 2 < nodes.size() && !next.transit) {
        throw InputError(where, fmt::format("{} passes through {}, which does not forward traffic", what, next.name));
      }
      stored.push_back(l);
    }
  }
}

}  // namespace

Topology TopologyBuilder::finish(const std::string& where) && {
  Impl& t = *impl_;
  if (t.devices.empty()) throw InputError(where, "the topology has no device");
  check_numbers(t, where);
  index_nodes(t, where);
  std::vector<NodeId> sorted = t.devices;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    throw InputError(where, fmt::format("node {} is listed as a device twice", t.nodes[twice->index()].name));
  }
  resolve_explicit_routes(t, where);
  t.router = t.policy == RoutingPolicy::dimension_order ? make_dimension_order_router(t, where) : nullptr;
  if (!t.router) {
    check_connected(t, where);
    t.router = make_shortest_router(t);
  }
  t.cache = std::make_unique<std::vector<RouteCache>>(t.devices.size());
  Topology out;
  out.impl_ = std::move(impl_);
  return out;
}

}  // namespace overlap
