#include "machines.hpp"

#include <algorithm>
#include <filesystem>

#include "overlap/config.hpp"
#include "paths.hpp"

namespace crosscheck {

std::vector<std::string> bundled_topologies() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/topologies"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Topology bundled(const std::string& name) {
  return load_topology(source_dir() + "/topologies/" + name + ".json");
}

std::vector<Device> devices_of(const std::string& topology, std::uint32_t count) {
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"h200", "h200"}, {"h100", "h100"}, {"a6000", "a6000"}, {"mi300x", "mi300x"}, {"tpu", "tpu_v4"}};
  std::string file = "a100";
  for (const auto& [prefix, device] : kinds)
    if (topology.rfind(prefix, 0) == 0) file = device;
  return std::vector<Device>(count, load_device(source_dir() + "/configs/devices/" + file + ".json"));
}

std::vector<Device> ideal_devices(std::uint32_t count) {
  Device d;
  d.name = "ideal";
  d.sms = 1U << 20;
  d.clock = Frequency(1e9);
  for (auto& peak : d.peak) peak = FlopRate(1e12);
  d.memory = Bytes(1e18);
  d.l2 = Bytes(1e9);
  d.hbm = Bandwidth(1e30);
  d.copy_engines = 1U << 10;
  return std::vector<Device>(count, d);
}

CostOptions ideal_options() {
  CostOptions o;
  o.compute = ComputeModel::ideal;
  o.effects = {.launch = false,
               .latency = false,
               .hbm = false,
               .sm_slots = false,
               .copy_engines = false,
               .decomposition = false,
               .accumulate = false,
               .injection_limits = true,
               .power = false};
  return o;
}

namespace {

std::vector<NodeId> add_devices(TopologyBuilder& b, std::uint32_t ranks, std::optional<Bandwidth> cap) {
  std::vector<NodeId> nodes;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    Node n;
    n.name = "gpu" + std::to_string(r);
    n.injection = cap;
    n.ejection = cap;
    nodes.push_back(b.node(n));
    b.device(nodes.back());
  }
  return nodes;
}

}  // namespace

Topology mesh(std::uint32_t ranks, Bandwidth rate, std::optional<Bandwidth> cap) {
  TopologyBuilder b("mesh");
  const std::vector<NodeId> nodes = add_devices(b, ranks, cap);
  for (std::uint32_t i = 0; i < ranks; ++i)
    for (std::uint32_t j = i + 1; j < ranks; ++j) b.link(nodes[i], nodes[j], LinkKind::xgmi, rate, 1.0, Seconds());
  return std::move(b).finish("mesh");
}

Topology switched(std::uint32_t ranks, Bandwidth port) {
  TopologyBuilder b("switched");
  const std::vector<NodeId> nodes = add_devices(b, ranks, std::nullopt);
  Node hub;
  hub.name = "switch";
  hub.kind = NodeKind::nvswitch;
  hub.transit = true;
  const NodeId h = b.node(hub);
  for (const NodeId n : nodes) b.link(n, h, LinkKind::nvlink, port, 1.0, Seconds());
  return std::move(b).finish("switched");
}

Topology ring(const std::vector<Bandwidth>& rates) {
  const auto ranks = static_cast<std::uint32_t>(rates.size());
  TopologyBuilder b("ring");
  std::vector<NodeId> nodes;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    Node n;
    n.name = "chip" + std::to_string(r);
    n.kind = NodeKind::tpu;
    n.transit = true;
    nodes.push_back(b.node(n));
    b.device(nodes.back());
  }
  for (std::uint32_t i = 0; i < (ranks > 2 ? ranks : ranks - 1); ++i)
    b.link(nodes[i], nodes[(i + 1) % ranks], LinkKind::ici, rates[i], 1.0, Seconds());
  return std::move(b).finish("ring");
}

Topology ring(std::uint32_t ranks, Bandwidth rate) {
  return ring(std::vector<Bandwidth>(ranks, rate));
}

Workload layer(Pattern pattern, std::uint32_t tp, std::uint32_t tokens, std::uint32_t in, std::uint32_t out) {
  Workload w;
  w.name = "layer";
  w.pattern = pattern;
  w.tokens = tokens;
  w.in = in;
  w.out = out;
  w.tp = tp;
  w.source = "test";
  return w;
}

}  // namespace crosscheck
