// What a Topology holds, and the strategy that finds its routes. Private to src/topology.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "overlap/topology.hpp"

namespace overlap {

// Routes of one policy. Deterministic and safe to call from several threads.
class Router {
 public:
  Router() = default;
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;
  virtual ~Router() = default;
  // Links from a to b, a != b; empty when there is no path.
  [[nodiscard]] virtual std::vector<LinkId> find(NodeId a, NodeId b) = 0;
};

// Routes found so far from one device. Blocks never move, so pointers into them stay valid. A route that is known is
// read without the lock: its links are stored last.
struct RouteCache {
  struct Known {
    std::atomic<const LinkId*> links = nullptr;
    std::uint32_t count = 0;
  };
  std::mutex mutex;
  std::atomic<Known*> to = nullptr;  // routes, once asked for
  std::unique_ptr<Known[]> routes;   // by destination
  std::deque<std::vector<LinkId>> blocks;
};

struct Topology::Impl {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Link> links;
  Capabilities capabilities;
  std::vector<NodeId> devices;
  std::vector<std::uint32_t> groups;  // by device
  RoutingPolicy policy = RoutingPolicy::shortest;
  std::vector<std::uint32_t> dimensions;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<LinkId>> explicit_routes;  // by ranks

  // Built by finish().
  std::vector<std::uint32_t> out_begin;  // by node, one more at the end
  std::vector<LinkId> out_links;         // grouped by `from`, in order of id
  std::unordered_map<std::string, NodeId> by_name;
  std::unique_ptr<Router> router;
  std::unique_ptr<std::vector<RouteCache>> cache;  // by source device

  [[nodiscard]] std::span<const LinkId> out(NodeId n) const {
    return {out_links.data() + out_begin[n.index()], out_begin[n.index() + 1] - out_begin[n.index()]};
  }
};

// Best direct link between two nodes: the greatest payload, ties by id; invalid when there is none.
[[nodiscard]] LinkId link_between(const Topology::Impl& t, NodeId a, NodeId b);

[[nodiscard]] std::unique_ptr<Router> make_shortest_router(const Topology::Impl& t);
// Throws InputError at `where` when the links do not form the torus or mesh that `dimensions` says.
[[nodiscard]] std::unique_ptr<Router> make_dimension_order_router(const Topology::Impl& t, const std::string& where);

[[nodiscard]] std::vector<DeviceId> best_ring_order(const Topology& t, std::uint32_t count);
[[nodiscard]] std::vector<Cut> device_and_group_cuts(const Topology& t);

}  // namespace overlap
