// A PCIe box: NUMA nodes joined by an inter-socket link, each with GPUs on PCIe ports of their own or behind a switch
// with a shared uplink; NVLink bridges may join the GPUs of a NUMA node in pairs (0-1, 2-3, ...).
#include <fmt/format.h>

#include "topology/kinds.hpp"

namespace overlap::numa_pcie {
namespace {

constexpr std::string_view kKeys[] = {"numa_nodes",   "gpus_per_numa", "node_kind",  "injection",
                                      "ejection",     "pcie",          "uplink",     "gpus_per_uplink",
                                      "inter_socket", "nvlink",        "host_memory"};

std::vector<std::uint32_t> read_groups(const config::Object& file) {
  constexpr std::uint32_t kMostNuma = 64;
  const std::uint32_t numa = file.at("numa_nodes").count(kMostNuma);
  const config::Cursor at = file.at("gpus_per_numa");
  if (!at.is_array()) return std::vector<std::uint32_t>(numa, at.count(256));
  std::vector<std::uint32_t> out;
  for (const config::Cursor& c : at.items()) out.push_back(c.count(256));
  if (out.size() != numa) at.fail(fmt::format("one entry a NUMA node belongs here: {}", numa));
  return out;
}

struct Box {
  std::vector<std::uint32_t> gpus;  // by NUMA node
  LinkSpec pcie;
  std::optional<LinkSpec> uplink;
  std::uint32_t gpus_per_uplink = 2;
  std::optional<LinkSpec> nvlink;
};

void add_ports(TopologyBuilder& b, const Box& box, const std::vector<NodeId>& gpus, NodeId numa, std::uint32_t group) {
  NodeId port = numa;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (box.uplink && i % box.gpus_per_uplink == 0) {
      port = b.node({fmt::format("plx{}.{}", group, i / box.gpus_per_uplink), NodeKind::pcie_switch, true, std::nullopt,
                     std::nullopt});
      add_link(b, port, numa, *box.uplink);
    }
    add_link(b, gpus[i], port, box.pcie);
    if (box.nvlink && i % 2 == 1) add_link(b, gpus[i - 1], gpus[i], *box.nvlink);
  }
}

void build(const config::Object& file, TopologyBuilder& b) {
  Box box;
  box.gpus = read_groups(file);
  box.pcie = read_link(file.at("pcie"), LinkKind::pcie);
  if (file.has("uplink")) box.uplink = read_link(file.at("uplink"), LinkKind::pcie);
  if (file.has("gpus_per_uplink")) {
    if (!box.uplink) file.at("gpus_per_uplink").fail("there is no 'uplink' to share");
    box.gpus_per_uplink = file.at("gpus_per_uplink").count(256);
  }
  if (file.has("nvlink")) box.nvlink = read_link(file.at("nvlink"), LinkKind::nvlink);
  const DeviceSpec spec = read_devices(file);
  std::vector<std::vector<NodeId>> gpus;
  std::uint32_t number = 0;
  for (std::uint32_t g = 0; g < box.gpus.size(); ++g) {
    gpus.emplace_back();
    for (std::uint32_t i = 0; i < box.gpus[g]; ++i) gpus.back().push_back(add_device(b, spec, number++, g));
  }
  std::vector<NodeId> numa;
  for (std::uint32_t g = 0; g < box.gpus.size(); ++g) {
    numa.push_back(b.node({fmt::format("numa{}", g), NodeKind::numa, true, std::nullopt, std::nullopt}));
  }
  for (std::uint32_t g = 0; g < box.gpus.size(); ++g) add_ports(b, box, gpus[g], numa[g], g);
  if (numa.size() > 1) {
    const LinkSpec socket = read_link(file.at("inter_socket"), LinkKind::inter_socket);
    for (std::size_t i = 0; i < numa.size(); ++i) {
      for (std::size_t j = i + 1; j < numa.size(); ++j) add_link(b, numa[i], numa[j], socket);
    }
  }
  if (file.has("host_memory")) {
    const LinkSpec memory = read_link(file.at("host_memory"), LinkKind::internal);
    for (std::size_t i = 0; i < numa.size(); ++i) {
      add_link(b, b.node({fmt::format("host{}", i), NodeKind::host_memory, false, std::nullopt, std::nullopt}), numa[i],
               memory);
    }
  }
}

}  // namespace
}  // namespace overlap::numa_pcie

namespace overlap {

Generator numa_pcie_kind() {
  return {"numa_pcie", "a PCIe box of NUMA nodes, with own ports or shared uplinks and optional NVLink pairs",
          numa_pcie::kKeys, numa_pcie::build};
}

}  // namespace overlap
