// Routes: fewest hops, least latency, lexicographically least; dimension order; explicit ones; nothing through a GPU.

#include "catch.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "topology/build.hpp"

using namespace overlap;
using Names = std::vector<std::string>;

namespace {
const char* const kDiamond = R"({"kind": "listed",
  "nodes": [{"name": "a", "kind": "gpu"}, {"name": "s2", "kind": "switch"}, {"name": "s1", "kind": "switch"},
            {"name": "b", "kind": "gpu"}, {"name": "g", "kind": "gpu"}],
  "links": [
    {"from": "a", "to": "s1", "bandwidth": "1 GB/s", "efficiency": 1, "latency": "1 us"},
    {"from": "a", "to": "s2", "bandwidth": "1 GB/s", "efficiency": 1, "latency": "LATENCY"},
    {"from": "s1", "to": "b", "bandwidth": "1 GB/s", "efficiency": 1, "latency": "1 us"},
    {"from": "s2", "to": "b", "bandwidth": "1 GB/s", "efficiency": 1, "latency": "1 us"},
    {"from": "a", "to": "g", "bandwidth": "1 GB/s", "efficiency": 1, "latency": "0 us"},
    {"from": "g", "to": "b", "bandwidth": "1 GB/s", "efficiency": 1, "latency": "0 us"},
    {"from": "g", "to": "s1", "bandwidth": "1 GB/s", "efficiency": 1, "latency": "0 us"}] EXTRA })";

std::string diamond(const std::string& latency, const std::string& extra = "") {
  std::string text = kDiamond;
  text.replace(text.find("LATENCY"), 7, latency);
  text.replace(text.find("EXTRA"), 5, extra);
  return text;
}
}  // namespace

TEST_CASE("ties of hops go to the least latency, then to the least node ids") {
  // s2 was listed first, so it has the lesser id.
  CHECK(path(topology_of(diamond("1 us")), 0, 1) == Names{"a", "s2", "b"});
  CHECK(path(topology_of(diamond("2 us")), 0, 1) == Names{"a", "s1", "b"});
}

TEST_CASE("a GPU does not forward traffic, although the way through it is as short and faster") {
  const Topology t = topology_of(diamond("1 us"));
  for (const std::string& n : path(t, 0, 1)) CHECK(n != "g");
  CHECK(path(t, 0, 2) == Names{"a", "g"});
}

TEST_CASE("an explicit route overrides the policy both ways, unless one way") {
  const Topology t = topology_of(diamond("1 us", R"(, "routes": [{"path": ["a", "s1", "b"]}])"));
  CHECK(path(t, 0, 1) == Names{"a", "s1", "b"});
  CHECK(path(t, 1, 0) == Names{"b", "s1", "a"});
  const Topology one = topology_of(diamond("1 us", R"(, "routes": [{"path": ["a", "s1", "b"], "one_way": true}])"));
  CHECK(path(one, 0, 1) == Names{"a", "s1", "b"});
  CHECK(path(one, 1, 0) == Names{"b", "s2", "a"});
  CHECK_THROWS_WITH(topology_of(diamond("1 us", R"(, "routes": [{"path": ["a", "g", "b"]}])")),
                    contains_text("does not forward"));
}

TEST_CASE("latency adds once a hop, the slowest link and the device limits bound one flow") {
  const Topology t = load_topology(std::string("a6000x8-numa"));
  // 3 -> 4: PCIe, QPI, PCIe
  CHECK(path(t, 3, 4) == Names{"gpu3", "numa0", "numa1", "gpu4"});
  CHECK(t.route_latency(DeviceId(3U), DeviceId(4U)).si() == Approx(1.4e-6));
  CHECK(t.route_bandwidth(DeviceId(3U), DeviceId(4U)).si() == Approx(20.8e9 * 0.8));
  CHECK(path(t, 0, 1) == Names{"gpu0", "gpu1"});
  CHECK(t.direct_link(DeviceId(0U), DeviceId(1U)).has_value());
  CHECK_FALSE(t.direct_link(DeviceId(1U), DeviceId(2U)).has_value());
  const Topology capped = topology_of(R"({"kind": "full_mesh", "devices": 3, "injection": "10 GB/s",
    "link": {"bandwidth": "64 GB/s", "efficiency": 0.75, "latency": "1 us"}})");
  CHECK(capped.route_bandwidth(DeviceId(0U), DeviceId(1U)).si() == 10e9);
}

TEST_CASE("dimension order: x, then y, then z, the shorter way, ties upwards") {
  const Topology t = topology_of(R"({"kind": "torus", "extents": [4, 3, 2], "node_kind": "tpu",
    "link": {"bandwidth": "45 GB/s", "efficiency": 1, "latency": "1 us"}})");
  // (0,0,0) -> (2,2,1): x up twice (tie), y down once round, z once.
  CHECK(path(t, 0, 2 + 4 * (2 + 3 * 1)) == Names{"tpu0", "tpu1", "tpu2", "tpu10", "tpu22"});
  // (3,0,0) -> (0,0,0) goes round.
  CHECK(path(t, 3, 0) == Names{"tpu3", "tpu0"});
  const Topology mesh = topology_of(R"({"kind": "torus", "extents": [4], "wrap": false,
    "link": {"bandwidth": "45 GB/s", "efficiency": 1, "latency": "1 us"}})");
  CHECK(path(mesh, 3, 0) == Names{"gpu3", "gpu2", "gpu1", "gpu0"});
}

TEST_CASE("every route of a torus is as long as the distance round its dimensions") {
  const std::vector<std::uint32_t> e = {5, 4, 3};
  const Topology t = topology_of(R"({"kind": "torus", "extents": [5, 4, 3],
    "link": {"bandwidth": "45 GB/s", "efficiency": 1, "latency": "1 us"}})");
  for (std::uint32_t a = 0; a < t.device_count(); ++a) {
    for (std::uint32_t b = 0; b < t.device_count(); ++b) {
      std::size_t hops = 0;
      for (std::uint32_t d = 0, s = 1; d < 3; s *= e[d], ++d) {
        const std::uint32_t ahead = (b / s % e[d] + e[d] - a / s % e[d]) % e[d];
        hops += std::min(ahead, e[d] - ahead);
      }
      REQUIRE(t.route(DeviceId(a), DeviceId(b)).size() == hops);
    }
  }
}

TEST_CASE("thousands of devices are made and routed") {
  const Topology torus = topology_of(R"({"kind": "torus", "extents": [8, 16, 16], "node_kind": "tpu",
    "link": {"bandwidth": "45 GB/s", "efficiency": 1, "latency": "1 us"}})");
  const Topology behind = topology_of(R"({"kind": "switched", "devices": 1024,
    "link": {"bandwidth": "450 GB/s", "efficiency": 1, "latency": "1 us"}})");
  CHECK(torus.device_count() == 2048);
  CHECK(behind.ring_order(1024).size() == 1024);
  CHECK(torus.ring_order(2048).size() == 2048);
  CHECK(path(behind, 17, 1000) == Names{"gpu17", "nvswitch0", "gpu1000"});
  std::size_t links = 0;
  for (std::uint32_t a = 0; a < 1024; ++a) links += behind.route(DeviceId(a), DeviceId((a + 1) % 1024)).size();
  CHECK(links == 2048);
}

TEST_CASE("planes: striped ones are one switch of their sum, others pin a pair to one plane") {
  const std::string head = R"({"kind": "switched", "devices": 8, "planes": 4, )";
  const std::string link = R"("link": {"bandwidth": "400 GB/s", "efficiency": 1, "latency": "1 us"}})";
  const Topology striped = topology_of(head + link);
  const Topology pinned = topology_of(head + R"("striped": false, )" + link);
  CHECK(striped.nodes().size() == 9);
  CHECK(pinned.nodes().size() == 12);
  CHECK(striped.route_bandwidth(DeviceId(0U), DeviceId(5U)).si() == 400e9);
  CHECK(pinned.route_bandwidth(DeviceId(0U), DeviceId(5U)).si() == 100e9);
  CHECK(path(pinned, 0, 5)[1] == "nvswitch1");
  // Uniform traffic: both have the same cut around a device.
  CHECK(striped.cuts()[3].left_to_right.si() == Approx(pinned.cuts()[3].left_to_right.si()));
}

TEST_CASE("routes between any two nodes, for background traffic") {
  const Topology t = topology_of(R"({"kind": "numa_pcie", "numa_nodes": 2, "gpus_per_numa": 2,
    "pcie": {"bandwidth": "32 GB/s", "efficiency": 1, "latency": "1 us"},
    "inter_socket": {"bandwidth": "20 GB/s", "efficiency": 1, "latency": "1 us"},
    "host_memory": {"bandwidth": "200 GB/s", "efficiency": 1, "latency": "0 us"}})");
  CHECK(t.route_between(*t.find_node("host0"), *t.find_node("gpu3")).size() == 3);
  CHECK(t.route_between(*t.find_node("gpu0"), *t.find_node("gpu0")).empty());
  CHECK_FALSE(t.find_node("gpu9").has_value());
}
