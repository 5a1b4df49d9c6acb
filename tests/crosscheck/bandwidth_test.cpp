// Bandwidth claims of the papers on their machines, by simulation: exact under max-min sharing.
// "Effective bandwidth" is bytes of the gathered tensor over time.
#include <algorithm>

#include "catch.hpp"
#include "machines.hpp"

using namespace crosscheck;

namespace {

struct Rates {
  double pcie = 1;
  double qpi = 1;
  double nvlink = 0;  // 0: no bridges
  bool half_duplex = false;
  bool shared_uplink = false;  // pairs of devices behind one PCIe switch
};

// `nodes` NUMA nodes of 4 devices each; bridges join pairs.
Topology box(std::uint32_t nodes, const Rates& r) {
  TopologyBuilder b("box");
  const auto rate = [](double v) { return Bandwidth(v * 1e9); };
  std::vector<NodeId> numa;
  std::vector<NodeId> gpus;
  const auto hub = [&](const std::string& name, NodeKind kind) {
    Node n;
    n.name = name;
    n.kind = kind;
    n.transit = true;
    return b.node(n);
  };
  for (std::uint32_t i = 0; i < nodes; ++i) {
    numa.push_back(hub("numa" + std::to_string(i), NodeKind::numa));
    NodeId uplink = numa.back();
    for (std::uint32_t g = 0; g < 4; ++g) {
      Node n;
      n.name = "gpu" + std::to_string(4 * i + g);
      gpus.push_back(b.node(n));
      b.device(gpus.back(), i);
      if (r.shared_uplink && g % 2 == 0) {
        uplink = hub("switch" + std::to_string(4 * i + g), NodeKind::pcie_switch);
        b.link(uplink, numa.back(), LinkKind::pcie, rate(r.pcie), 1.0, Seconds(), r.half_duplex);
      }
      b.link(gpus.back(), uplink, LinkKind::pcie, rate(r.pcie), 1.0, Seconds(), r.half_duplex);
    }
  }
  for (std::uint32_t g = 0; g < gpus.size() && r.nvlink > 0; g += 2)
    b.link(gpus[g], gpus[g + 1], LinkKind::nvlink, rate(r.nvlink), 1.0, Seconds());
  for (std::uint32_t i = 1; i < nodes; ++i)
    b.link(numa[i - 1], numa[i], LinkKind::inter_socket, rate(r.qpi), 1.0, Seconds());
  return std::move(b).finish("box");
}

std::vector<Device> fast(std::uint32_t count) {
  std::vector<Device> devices = ideal_devices(count);
  for (Device& d : devices)
    for (auto& peak : d.peak) peak = FlopRate(1e30);
  return devices;
}

// Gathered bytes over time, in GB/s, when compute costs nothing.
double effective(const Topology& t, const std::string& schedule, const Given& given) {
  const std::uint32_t p = t.device_count();
  const Workload w = layer(Pattern::ag_gemm, p, p * 64, 512, p);
  const Run run = simulate_on(t, fast(p), w, schedule, given, ideal_options());
  return (collective_bytes(w) / run.timeline.makespan).si() / 1e9;
}

double fused(const Topology& t, const char* variant) {
  return effective(t, "intrafusion", {{"variant", std::string(variant)}});
}

bool near(double a, double b) {
  return a > b * (1 - 1e-9) && a < b * (1 + 1e-9);
}

}  // namespace

TEST_CASE("check 1-3: single ring 8/7 B_QPI, all-to-all B_QPI/2, and where other links bind") {
  struct Point {
    Rates r;
    double ring, a2a;
  };
  const Point points[] = {
      {{.pcie = 4, .qpi = 1, .nvlink = 8}, 8.0 / 7, 0.5}, {{.pcie = 4, .qpi = 1}, 8.0 / 7, 0.5},
      {{.pcie = 1, .qpi = 1, .nvlink = 8}, 8.0 / 7, 0.5}, {{.pcie = 1, .qpi = 2}, 8.0 / 7, 1.0},
      {{.pcie = 1, .qpi = 4}, 8.0 / 7, 8.0 / 7},          {{.pcie = 1, .qpi = 4, .nvlink = 8}, 8.0 / 7, 4.0 / 3}};
  for (const Point& p : points) {
    const Topology t = box(2, p.r);
    INFO("pcie " << p.r.pcie << " qpi " << p.r.qpi << " nvlink " << p.r.nvlink);
    CHECK(near(fused(t, "single_ring"), p.ring));
    CHECK(near(fused(t, "all_to_all"), p.a2a));
  }
  const Topology t = box(2, {.pcie = 4, .qpi = 1, .nvlink = 8});
  CHECK(near(fused(t, "single_ring") / fused(t, "all_to_all"), 16.0 / 7));
}

TEST_CASE("check 5: four devices, double ring twice the single ring, and no gain with a shared uplink or half duplex") {
  const Topology own = box(1, {.pcie = 1, .nvlink = 4});
  CHECK(near(fused(own, "single_ring"), 4.0 / 3));
  CHECK(near(fused(own, "double_ring"), 8.0 / 3));
  // Bridges slower than PCIe: the ring order goes round them (0, 2, 1, 3), so the single ring keeps the ports' rate
  // where the paper's order would get 4/3 of the bridges'; two directions then share the ports.
  const Topology slow = box(1, {.pcie = 1, .nvlink = 0.5});
  CHECK(near(fused(slow, "single_ring"), 4.0 / 3));
  CHECK(near(fused(slow, "double_ring"), 4.0 / 3));
  // Where nothing leads round them: 4/3 and 8/3 of the slower of both kinds of link.
  for (const double bridge : {0.25, 0.5, 1.0, 4.0}) {
    const Topology t = ring({Bandwidth(bridge * 1e9), Bandwidth(1e9), Bandwidth(bridge * 1e9), Bandwidth(1e9)});
    CHECK(near(fused(t, "single_ring"), 4.0 / 3 * std::min(bridge, 1.0)));
    CHECK(near(fused(t, "double_ring"), 8.0 / 3 * std::min(bridge, 1.0)));
  }
  const Topology shared = box(1, {.pcie = 1, .nvlink = 4, .shared_uplink = true});
  CHECK(near(fused(shared, "single_ring"), 4.0 / 3));
  CHECK(near(fused(shared, "double_ring"), 4.0 / 3));
  CHECK(near(fused(shared, "all_to_all"), 1.0));
  const Topology half = box(1, {.pcie = 1, .nvlink = 4, .half_duplex = true});
  CHECK(near(fused(half, "double_ring"), 4.0 / 3));
  CHECK(near(fused(half, "double_ring"), fused(half, "single_ring")));
}

TEST_CASE("known gap, check 6: the double ring gains 1.33x or 2x over all-to-all here, not the paper's nearly 4x") {
  const Topology bridges = box(1, {.pcie = 1, .nvlink = 4});
  CHECK(near(fused(bridges, "double_ring") / fused(bridges, "all_to_all"), 4.0 / 3));
  // The paper's figure takes peer copies of the all-to-all at a third of the ports' rate: the explicit factor on copies
  // through a NUMA node, off by default. It slows the ring's PCIe hops just as much, so applied to both it explains
  // nothing.
  const auto time = [&](const char* variant, double factor) {
    CostOptions o = ideal_options();
    o.penalties.root_complex_p2p = factor;
    const Workload w = layer(Pattern::ag_gemm, 4, 256, 512, 4);
    return simulate_on(bridges, fast(4), w, "intrafusion", {{"variant", std::string(variant)}}, o).timeline.makespan;
  };
  CHECK(near(time("all_to_all", 1.0 / 3) / time("double_ring", 1.0), 4.0));
  CHECK(near(time("all_to_all", 1.0 / 3) / time("double_ring", 1.0 / 3), 4.0 / 3));
}

TEST_CASE("check 7: shards from peer to peer are n-1 times slower on a mesh, E/b times with a cap per device") {
  const Given ring{};
  const Given rotate{{"order", std::string("rotate")}};
  const Given ficco{{"variant", std::string("uniform-fused-1d")}};
  const auto slowdown = [&](const Topology& t, const Given& order) {
    return effective(t, "ficco", ficco) / effective(t, "shard_p2p", order);
  };
  for (const Given& order : {ring, rotate}) {
    CHECK(near(slowdown(mesh(8, Bandwidth(1e9)), order), 7.0));
    CHECK(near(slowdown(mesh(8, Bandwidth(1e9), Bandwidth(3.5e9)), order), 3.5));
    CHECK(near(slowdown(switched(8, Bandwidth(1e9)), order), 1.0));
    CHECK(near(slowdown(mesh(5, Bandwidth(1e9)), order), 4.0));
  }
  CHECK(near(fused(mesh(8, Bandwidth(1e9)), "all_to_all") / fused(mesh(8, Bandwidth(1e9)), "single_ring"), 7.0));
  const Topology capped = mesh(8, Bandwidth(1e9), Bandwidth(2e9));
  CHECK(near(fused(capped, "all_to_all") / fused(capped, "single_ring"), 2.0));
}

TEST_CASE("check 8: looped einsum on a ring of eight: 7, 4 and 3.5 shard times") {
  const Topology t = ring(8, Bandwidth(1e9));
  const auto shards = [&](const std::string& schedule, const Given& given) {
    return 8.0 / effective(t, schedule, given);  // in S/b
  };
  CHECK(near(shards("looped_einsum", {{"direction", std::string("uni")}}), 7.0));
  CHECK(near(shards("looped_einsum", {{"direction", std::string("bi")}}), 4.0));
  CHECK(near(shards("intrafusion", {{"variant", std::string("double_ring")}}), 3.5));
}
