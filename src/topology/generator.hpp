// Kinds of topology file: each one file with a reader that adds nodes and links, and one line in table.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/reader.hpp"
#include "overlap/topology.hpp"

namespace overlap {

struct Generator {
  std::string_view kind;
  std::string_view summary;
  std::span<const std::string_view> keys;  // besides those that every topology file may have
  void (*build)(const config::Object& file, TopologyBuilder& builder);
};

// All kinds, in the order of the table.
std::span<const Generator> generators();
// Keys of every topology file, whatever its kind.
std::span<const std::string_view> common_topology_keys();
config::KeySet link_keys();
config::KeySet listed_node_keys();
config::KeySet listed_link_keys();
config::KeySet override_keys();
config::KeySet route_keys();
config::KeySet capability_keys();

// Reads the object of a topology file or one that stands inline. Throws InputError with the place.
Topology read_topology(const config::Cursor& at, const std::string& fallback_name);

// What the kinds share.
struct LinkSpec {
  LinkKind kind = LinkKind::nvlink;
  Bandwidth wire;  // per direction
  double efficiency = 1.0;
  Seconds latency;
  bool half_duplex = false;
  double both_ways = 1.0;
};
// `fallback` is the kind where the file names none.
LinkSpec read_link(const config::Cursor& at, LinkKind fallback);
LinkSpec read_link(const config::Object& link, LinkKind fallback);
void add_link(TopologyBuilder& b, NodeId from, NodeId to, const LinkSpec& link);

// Reads "node_kind" ("gpu" unless said), "injection" and "ejection" of the devices.
struct DeviceSpec {
  NodeKind kind = NodeKind::gpu;
  bool transit = false;
  std::optional<Bandwidth> injection;
  std::optional<Bandwidth> ejection;
};
DeviceSpec read_devices(const config::Object& file);
NodeId add_device(TopologyBuilder& b, const DeviceSpec& spec, std::uint32_t number, std::uint32_t group = 0);

inline constexpr std::uint32_t kMostDevices = 65536;

}  // namespace overlap
