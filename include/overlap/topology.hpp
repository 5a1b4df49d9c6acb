// The machine's network: nodes, links (one Link a direction), routes between devices. Knows no times of ops.
//
// Sharing rule: flows share each link direction, and each node's injection and ejection limit, by max-min fairness.
// Transfers are cut-through: a route costs the sum of its latencies once, plus bytes over its slowest share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "overlap/ids.hpp"
#include "overlap/units.hpp"

namespace overlap {

enum class NodeKind : std::uint8_t { gpu, tpu, nvswitch, network_switch, pcie_switch, numa, nic, host_memory };
enum class LinkKind : std::uint8_t { nvlink, pcie, inter_socket, xgmi, ici, ethernet, infiniband, internal };
enum class RoutingPolicy : std::uint8_t {
  shortest,         // fewest hops, then least latency, then lexicographically least node ids
  dimension_order,  // torus: x, then y, then z, the shorter way round, ties upwards
};

[[nodiscard]] std::string_view to_text(NodeKind k);
[[nodiscard]] std::string_view to_text(LinkKind k);
[[nodiscard]] std::optional<NodeKind> parse_node_kind(std::string_view text);
[[nodiscard]] std::optional<LinkKind> parse_link_kind(std::string_view text);

struct Node {
  std::string name;
  NodeKind kind = NodeKind::gpu;
  bool transit = false;                // flows may pass through (switches, NUMA nodes, TPU routers)
  std::optional<Bandwidth> injection;  // limit of the sum of what leaves the node
  std::optional<Bandwidth> ejection;   // limit of the sum of what enters the node
};

// One direction. payload() is what flows share: wire rate times efficiency.
struct Link {
  NodeId from;
  NodeId to;
  LinkKind kind = LinkKind::nvlink;
  Bandwidth wire;           // data-sheet rate of this direction
  double efficiency = 1.0;  // wire rate to payload, measured or stated in the file
  Seconds latency;
  std::optional<LinkId> shares_with;  // half duplex: the direction that owns the common capacity
  std::optional<LinkId> reverse;      // the other direction; empty on a one-way link
  double both_ways = 1.0;             // share of twice the payload that both directions reach together
  [[nodiscard]] Bandwidth payload() const { return wire * efficiency; }
};

// Physical capability that a schedule may need.
struct Capabilities {
  bool in_switch_multicast = false;  // NVSwitch multicast and reduction (NVLS)
  bool peer_access = true;           // devices copy to each other without staging through the host
};

// Cut of the devices in two sides with the payload rate from left to right and back.
struct Cut {
  std::string name;
  std::vector<DeviceId> left;
  Bandwidth left_to_right;
  Bandwidth right_to_left;
};

class Topology {
 public:
  Topology();
  ~Topology();
  Topology(Topology&&) noexcept;
  Topology& operator=(Topology&&) noexcept;

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] const std::vector<Node>& nodes() const;
  [[nodiscard]] const std::vector<Link>& links() const;
  [[nodiscard]] const Capabilities& capabilities() const;
  // Nodes that compute, in rank order.
  [[nodiscard]] const std::vector<NodeId>& devices() const;
  [[nodiscard]] std::uint32_t device_count() const;
  [[nodiscard]] std::optional<NodeId> find_node(std::string_view name) const;
  // Links from a to b, in order. Empty when a == b. Throws InputError naming both when there is no path.
  // Found when first asked for and kept; safe to call from several threads.
  [[nodiscard]] std::span<const LinkId> route(DeviceId a, DeviceId b) const;
  // The same between any two nodes (background traffic of a host); explicit routes of devices do not apply.
  [[nodiscard]] std::vector<LinkId> route_between(NodeId a, NodeId b) const;
  [[nodiscard]] Seconds route_latency(DeviceId a, DeviceId b) const;
  // Rate of one flow from a to b alone on the machine, injection and ejection limits included.
  [[nodiscard]] Bandwidth route_bandwidth(DeviceId a, DeviceId b) const;
  // The link when a and b are neighbours (one hop, no switch between).
  [[nodiscard]] std::optional<LinkId> direct_link(DeviceId a, DeviceId b) const;
  // Rank order of a ring over the first `count` devices that crosses the slowest links as rarely as it can; ties by id.
  [[nodiscard]] std::vector<DeviceId> ring_order(std::uint32_t count) const;
  // Torus extents {a, b, c}, or {n} for a ring; empty where the topology has none.
  [[nodiscard]] const std::vector<std::uint32_t>& dimensions() const;
  // NUMA node or box of a device: equal numbers are on the same side of an inter-socket link. 0 where flat.
  [[nodiscard]] std::uint32_t group_of(DeviceId d) const;
  // Cuts worth a bound: around each device, and between the groups (of a group against the rest, the largest flow).
  [[nodiscard]] std::vector<Cut> cuts() const;

  struct Impl;  // src/topology/impl.hpp

 private:
  friend class TopologyBuilder;
  std::unique_ptr<Impl> impl_;
};

// Reads a topology file; a bare name ("h200x8-nvswitch") is looked up among the bundled ones. Throws InputError with
// file, JSON pointer and remedy.
Topology load_topology(const std::string& path);

// Assembles a topology and checks it: positive finite rates, latency 0..1 s, efficiency in (0, 1], every device
// reaches every other. Throws InputError with `where` as place.
class TopologyBuilder {
 public:
  explicit TopologyBuilder(std::string name);
  TopologyBuilder(TopologyBuilder&&) noexcept;
  ~TopologyBuilder();
  NodeId node(Node n);
  // Two Links, from -> to and back. Half duplex: both share the one capacity.
  void link(NodeId a, NodeId b, LinkKind kind, Bandwidth wire, double efficiency, Seconds latency,
            bool half_duplex = false);
  void one_way(NodeId from, NodeId to, LinkKind kind, Bandwidth wire, double efficiency, Seconds latency);
  void device(NodeId n, std::uint32_t group = 0);  // next rank
  // What has been added so far, to look up or to change in place.
  [[nodiscard]] std::vector<Node>& nodes();
  [[nodiscard]] std::vector<Link>& links();
  [[nodiscard]] const std::vector<NodeId>& devices() const;  // by rank
  void capabilities(const Capabilities& c);
  void routing(RoutingPolicy p, std::vector<std::uint32_t> dimensions = {});
  // Explicit route that overrides the policy for one ordered pair; nodes from a's to b's, both included.
  void explicit_route(DeviceId a, DeviceId b, std::vector<NodeId> nodes);
  Topology finish(const std::string& where) &&;

 private:
  std::unique_ptr<Topology::Impl> impl_;
};

}  // namespace overlap
