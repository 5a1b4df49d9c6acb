#include "boxes.hpp"

#include "overlap/codec.hpp"
#include "overlap/graph_check.hpp"

using namespace overlap;

namespace families {
namespace {

Device plain_device() {
  Device d;
  d.name = "plain";
  d.sms = 108;
  d.clock = Frequency(1.4e9);
  d.peak[static_cast<std::size_t>(DType::bf16)] = FlopRate(300e12);
  d.l2 = Bytes(40e6);
  d.memory = Bytes(40e9);
  d.hbm = Bandwidth(1.5e12);
  d.copy_engines = 8;
  return d;
}

Bandwidth rate(double gb) {
  return Bandwidth(gb * 1e9);
}

}  // namespace

Box numa_box(double nvlink, double pcie, double qpi) {
  TopologyBuilder t("numa box");
  std::vector<NodeId> gpus;
  std::vector<NodeId> numa;
  for (std::uint32_t g = 0; g < 8; ++g) {
    gpus.push_back(t.node(
        {.name = "gpu" + std::to_string(g), .kind = NodeKind::gpu, .transit = false, .injection = {}, .ejection = {}}));
    t.device(gpus[g], g / 4);
  }
  for (std::uint32_t n = 0; n < 2; ++n) {
    numa.push_back(t.node({.name = "numa" + std::to_string(n),
                           .kind = NodeKind::numa,
                           .transit = true,
                           .injection = {},
                           .ejection = {}}));
  }
  for (std::uint32_t g = 0; g < 8; ++g) t.link(gpus[g], numa[g / 4], LinkKind::pcie, rate(pcie), 1.0, Seconds());
  for (std::uint32_t g = 0; g < 8; g += 2) t.link(gpus[g], gpus[g + 1], LinkKind::nvlink, rate(nvlink), 1.0, Seconds());
  t.link(numa[0], numa[1], LinkKind::inter_socket, rate(qpi), 1.0, Seconds());
  return {std::move(t).finish("numa box"), std::vector<Device>(8, plain_device())};
}

Box mesh(std::uint32_t n) {
  TopologyBuilder t("mesh");
  std::vector<NodeId> gpus;
  for (std::uint32_t g = 0; g < n; ++g) {
    gpus.push_back(t.node(
        {.name = "gpu" + std::to_string(g), .kind = NodeKind::gpu, .transit = false, .injection = {}, .ejection = {}}));
    t.device(gpus[g]);
  }
  for (std::uint32_t a = 0; a < n; ++a) {
    for (std::uint32_t b = a + 1; b < n; ++b) t.link(gpus[a], gpus[b], LinkKind::xgmi, rate(50), 1.0, Seconds());
  }
  return {std::move(t).finish("mesh"), std::vector<Device>(n, plain_device())};
}

Box switched(std::uint32_t n) {
  TopologyBuilder t("switched");
  const NodeId sw =
      t.node({.name = "switch", .kind = NodeKind::nvswitch, .transit = true, .injection = {}, .ejection = {}});
  for (std::uint32_t g = 0; g < n; ++g) {
    const NodeId gpu = t.node(
        {.name = "gpu" + std::to_string(g), .kind = NodeKind::gpu, .transit = false, .injection = {}, .ejection = {}});
    t.device(gpu);
    t.link(gpu, sw, LinkKind::nvlink, rate(450), 1.0, Seconds());
  }
  t.capabilities({.in_switch_multicast = true, .peer_access = true});
  return {std::move(t).finish("switched"), std::vector<Device>(n, plain_device())};
}

Box star(std::uint32_t n, double gb) {
  TopologyBuilder t("star");
  const NodeId hub = t.node({.name = "host", .kind = NodeKind::numa, .transit = true, .injection = {}, .ejection = {}});
  for (std::uint32_t g = 0; g < n; ++g) {
    const NodeId gpu = t.node(
        {.name = "gpu" + std::to_string(g), .kind = NodeKind::gpu, .transit = false, .injection = {}, .ejection = {}});
    t.device(gpu);
    t.link(gpu, hub, LinkKind::pcie, rate(gb), 1.0, Seconds());
  }
  return {std::move(t).finish("star"), std::vector<Device>(n, plain_device())};
}

CostOptions bare() {
  CostOptions o;
  o.compute = ComputeModel::ideal;
  o.effects = {false, false, false, false, false, false, false, true, false};
  return o;
}

Workload layer(Pattern p, std::uint32_t tokens, std::uint32_t in, std::uint32_t out, std::uint32_t tp) {
  Workload w;
  w.name = "test";
  w.pattern = p;
  w.tokens = tokens;
  w.in = in;
  w.out = out;
  w.tp = tp;
  return w;
}

std::optional<OpGraph> graph_of(std::string_view schedule, const Box& box, const Workload& w, const Given& given) {
  const ScheduleInfo& info = find_schedule(schedule);
  const Params params = complete_params(info, given);
  const ScheduleContext ctx{w, box.topology, box.devices, params};
  if (info.refuses(ctx)) return std::nullopt;
  return build_layer(info, ctx);
}

std::vector<std::string> problems(std::string_view schedule, const Box& box, const Workload& w, const Given& given,
                                  int* refused) {
  const auto graph = graph_of(schedule, box, w, given);
  if (!graph) {
    if (refused != nullptr) ++*refused;
    return {};
  }
  std::vector<std::string> out = validate(*graph);
  if (out.empty()) out = find_races(*graph);
  for (const std::uint64_t seed : {1U, 2U}) {
    if (out.empty()) out = reference_run(*graph, seed, real_codecs());
  }
  if (!out.empty()) {
    const Params params = complete_params(find_schedule(schedule), given);
    out.insert(out.begin(), std::string(schedule) + " " + params.to_text() + " on " + box.topology.name());
  }
  return out;
}

std::vector<Given> search_space(const ScheduleInfo& info) {
  std::vector<Given> space{{}};
  for (const ParamInfo& p : info.params) {
    if (p.search.empty()) continue;
    std::vector<Given> wider;
    for (const Given& g : space) {
      for (const ParamValue& v : p.search) {
        wider.push_back(g);
        wider.back().emplace_back(std::string(p.name), v);
      }
    }
    space = std::move(wider);
  }
  return space;
}

}  // namespace families
