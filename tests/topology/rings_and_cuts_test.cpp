// Ring orders that spare the slow links, and cuts.
#include <algorithm>

#include "catch.hpp"
#include "overlap/config.hpp"
#include "topology/build.hpp"

using namespace overlap;
using Ranks = std::vector<std::uint32_t>;

namespace {

// Ordered pairs of neighbours in the ring whose route uses a link of the kind.
std::vector<std::pair<std::uint32_t, std::uint32_t>> hops_over(const Topology& t, LinkKind kind) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  const Ranks order = ranks(t.ring_order(t.device_count()));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint32_t a = order[i];
    const std::uint32_t b = order[(i + 1) % order.size()];
    for (const LinkId l : t.route(DeviceId(a), DeviceId(b))) {
      if (t.links()[l.index()].kind == kind) out.emplace_back(a, b);
    }
  }
  return out;
}

std::size_t longest_hop(const Topology& t) {
  const Ranks order = ranks(t.ring_order(t.device_count()));
  std::size_t most = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    most = std::max(most, t.route(DeviceId(order[i]), DeviceId(order[(i + 1) % order.size()])).size());
  }
  return most;
}

void check_permutation(const Topology& t) {
  Ranks order = ranks(t.ring_order(t.device_count()));
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < t.device_count(); ++i) REQUIRE(order[i] == i);
}

}  // namespace

TEST_CASE("on the two-socket box of 8, only 3-4 and 7-0 cross QPI and every bridge is used") {
  const Topology t = load_topology("a6000x8-numa");
  CHECK(ranks(t.ring_order(8)) == Ranks{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(hops_over(t, LinkKind::inter_socket) == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{3, 4}, {7, 0}});
  CHECK(hops_over(t, LinkKind::nvlink).size() == 4);
  CHECK(ranks(t.ring_order(4)) == Ranks{0, 1, 2, 3});
}

TEST_CASE("the ring follows the wiring, not the numbers: QPI is crossed twice whatever the rates") {
  // Ranks alternate between the sockets; bridges join 0-2, 1-3, 4-6, 5-7.
  for (const char* qpi : {"1 GB/s", "25 GB/s", "200 GB/s"}) {
    std::string json = R"({"kind": "listed", "nodes": [{"name": "n0", "kind": "numa"}, {"name": "n1", "kind": "numa"})";
    std::string links = R"({"from": "n0", "to": "n1", "kind": "inter_socket", "efficiency": 1, "latency": "1 us",
                            "bandwidth": ")" +
                        std::string(qpi) + R"("})";
    for (int i = 0; i < 8; ++i) {
      const std::string n = std::to_string(i);
      json += R"(, {"name": "g)" + n + R"(", "kind": "gpu", "group": )" + std::to_string(i % 2) + "}";
      links += R"(, {"from": "g)" + n + R"(", "to": "n)" + std::to_string(i % 2) +
               R"(", "kind": "pcie", "bandwidth": "25 GB/s", "efficiency": 1, "latency": "1 us"})";
    }
    for (const auto& [a, b] : {std::pair{"0", "2"}, {"1", "3"}, {"4", "6"}, {"5", "7"}}) {
      links += std::string(R"(, {"from": "g)") + a + R"(", "to": "g)" + b +
               R"(", "kind": "nvlink", "bandwidth": "50 GB/s", "efficiency": 1, "latency": "1 us"})";
    }
    const Topology t = topology_of(json + R"(], "links": [)" + links + "]}");
    CHECK(hops_over(t, LinkKind::inter_socket).size() == 2);
    CHECK(hops_over(t, LinkKind::nvlink).size() == 4);
  }
}

TEST_CASE("a torus has a ring of single hops whatever its extents") {
  for (const char* extents : {"[2]", "[5]", "[4, 4]", "[3, 4]", "[4, 3]", "[3, 3]", "[5, 3]", "[3, 5, 3]", "[2, 2, 2]",
                              "[4, 4, 4]", "[3, 3, 3]", "[1, 6, 1]", "[2, 3, 5]", "[5, 3, 2]", "[8, 16, 16]"}) {
    INFO(extents);
    const Topology t = topology_of(R"({"kind": "torus", "extents": )" + std::string(extents) + R"(,
      "link": {"bandwidth": "45 GB/s", "efficiency": 1, "latency": "1 us"}})");
    check_permutation(t);
    CHECK(longest_hop(t) == 1);
  }
}

TEST_CASE("the cube mesh has a ring over its double links alone") {
  const Topology t = load_topology("dgx1v-8xv100");
  check_permutation(t);
  const Ranks order = ranks(t.ring_order(8));
  for (std::size_t i = 0; i < 8; ++i) {
    const auto link = t.direct_link(DeviceId(order[i]), DeviceId(order[(i + 1) % 8]));
    REQUIRE(link.has_value());
    CHECK(t.links()[link->index()].wire.si() == 50e9);
  }
}

TEST_CASE("cuts: around a device its links or its limit, between groups the largest flow") {
  const Topology box = load_topology("a6000x8-numa");
  const std::vector<Cut> cuts = box.cuts();
  REQUIRE(cuts.size() == 9);
  CHECK(cuts[0].left_to_right.si() == Approx(31.5e9 * 0.8 + 56.25e9 * 0.9));
  CHECK(cuts[8].left.size() == 4);
  CHECK(cuts[8].left_to_right.si() == Approx(20.8e9 * 0.8));
  CHECK(cuts[8].right_to_left.si() == Approx(20.8e9 * 0.8));
  const Topology mesh = load_topology("mi300x8-mesh-capped");
  CHECK(mesh.cuts()[0].left_to_right.si() == 168e9);
  CHECK(load_topology("mi300x8-mesh").cuts()[0].right_to_left.si() == Approx(7 * 48e9));
  const Topology unequal = load_topology("unequal-4+6");
  CHECK(unequal.cuts().back().left.size() == 4);
  CHECK(unequal.cuts().back().left_to_right.si() == Approx(50e9 * 0.95));
  CHECK(unequal.group_of(DeviceId(3U)) == 0);
  CHECK(unequal.group_of(DeviceId(4U)) == 1);
}

TEST_CASE("half duplex: both directions name one capacity") {
  const Topology t = topology_of(R"({"kind": "numa_pcie", "numa_nodes": 1, "gpus_per_numa": 2,
    "pcie": {"bandwidth": "32 GB/s", "efficiency": 1, "latency": "1 us", "half_duplex": true}})");
  CHECK_FALSE(t.links()[0].shares_with.has_value());
  CHECK(t.links()[1].shares_with == LinkId(0U));
}
