// Topologies that must be refused, each with one message that says where and why.
#include "catch.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "topology/build.hpp"
#include "topology/impl.hpp"

using namespace overlap;

namespace {
std::string mesh_with(const std::string& link, const std::string& rest = "") {
  return R"({"kind": "full_mesh", "devices": 4)" + rest + R"(, "link": {)" + link + "}}";
}
const std::string kLink = R"("bandwidth": "64 GB/s", "efficiency": 0.75, "latency": "1 us")";
}  // namespace

TEST_CASE("what is wrong is said with its place") {
  struct Case {
    std::string json;
    std::string where;
    std::string what;
  };
  const std::string gpu = R"({"name": "a", "kind": "gpu"}, {"name": "b", "kind": "gpu"})";
  const std::vector<Case> cases = {
      {"[]", "test.json:/", "object"},
      {"{}", "test.json:/", "'kind' is missing"},
      {R"({"kind": "full_mash"})", "/kind", "full_mesh"},
      {mesh_with(kLink, R"(, "device": 4)"), "/device", "devices"},
      {mesh_with(R"("bandwidth": "64 Gb", "efficiency": 1, "latency": "1 us")"), "/link/bandwidth", "unknown unit"},
      {mesh_with(R"("bandwidth": "64 us", "efficiency": 1, "latency": "1 us")"), "/link/bandwidth", "time where"},
      {mesh_with(R"("bandwidth": 64, "efficiency": 1, "latency": "1 us")"), "/link/bandwidth", "bare number 64"},
      {mesh_with(R"("bandwidth": "0 GB/s", "efficiency": 1, "latency": "1 us")"), "/link/bandwidth", "more than zero"},
      {mesh_with(R"("bandwidth": "-1 GB/s", "efficiency": 1, "latency": "1 us")"), "/link/bandwidth", "more than zero"},
      {mesh_with(R"("bandwidth": "nan GB/s", "efficiency": 1, "latency": "1 us")"), "/link/bandwidth", "finite"},
      {mesh_with(R"("bandwidth": "tbd", "efficiency": 1, "latency": "1 us")"), "/link/bandwidth", "finite number"},
      {mesh_with(R"("bandwidth": "1 GB/s", "efficiency": 1.2, "latency": "1 us")"), "/link/efficiency", "(0, 1]"},
      {mesh_with(R"("bandwidth": "1 GB/s", "efficiency": 1, "latency": "2 s")"), "/link/latency", "0..1 s"},
      {mesh_with(R"("bandwidth": "1 GB/s", "efficiency": 1)"), "/link", "needs the key 'latency'"},
      {mesh_with(R"("bandwith": "1 GB/s", "efficiency": 1, "latency": "1 us")"), "/link/bandwith", "'bandwidth'"},
      {R"({"kind": "full_mesh", "devices": 0, "link": {)" + kLink + "}}", "/devices", "whole number in 1.."},
      {R"({"kind": "full_mesh", "devices": 2.5, "link": {)" + kLink + "}}", "/devices", "2.5"},
      {R"({"kind": "full_mesh", "devices": -3, "link": {)" + kLink + "}}", "/devices", "-3"},
      {R"({"kind": "torus", "extents": [4, 0], "link": {)" + kLink + "}}", "/extents/1", "whole number"},
      {R"({"kind": "torus", "extents": [60000, 60000], "link": {)" + kLink + "}}", "/extents", "more than"},
      {R"({"kind": "torus", "extents": [2, 2, 2, 2], "link": {)" + kLink + "}}", "/extents", "one to three"},
      {R"({"kind": "torus", "extents": [2, 2], "wrap": [true], "link": {)" + kLink + "}}", "/wrap", "2"},
      {R"({"kind": "torus", "extents": [2, 2]})", "test.json:/", "'link'"},
      {R"({"kind": "numa_pcie", "numa_nodes": 2, "gpus_per_numa": [2], "pcie": {)" + kLink + "}}", "/gpus_per_numa",
       "2"},
      {R"({"kind": "numa_pcie", "numa_nodes": 2, "gpus_per_numa": 2, "pcie": {)" + kLink + "}}", "test.json:/",
       "inter_socket"},
      {R"({"kind": "listed", "nodes": [], "links": []})", "test.json:/", "no device"},
      {R"({"kind": "listed", "nodes": [)" + gpu + R"(], "links": []})", "test.json:/", "no path leads from a to b"},
      {R"({"kind": "listed", "nodes": [)" + gpu + R"(], "links": [{"from": "a", "to": "b", "one_way": true, )" + kLink +
           "}]}",
       "test.json:/", "no path leads from b to a"},
      {R"({"kind": "listed", "nodes": [)" + gpu + R"(], "links": [{"from": "a", "to": "c", )" + kLink + "}]}",
       "/links/0/to", "unknown node 'c'"},
      {R"({"kind": "listed", "nodes": [)" + gpu + R"(], "links": [{"from": "a", "to": "a", )" + kLink + "}]}",
       "/links/0", "itself"},
      {R"({"kind": "listed", "nodes": [{"name": "a", "kind": "gpu"}, {"name": "a", "kind": "gpu"}], "links": []})",
       "/nodes/1/name", "'a'"},
      {R"({"kind": "full_mesh", "devices": 2, "devices": 3, "link": {)" + kLink + "}}", "test.json:/devices", "twice"},
      {mesh_with(kLink, R"(, "overrides": [{"from": "gpu0", "to": "gpu0"}])"), "/overrides/0", "no link"},
      {mesh_with(kLink, R"(, "overrides": [{"from": "gpu0", "to": "gpux"}])"), "/overrides/0/to", "gpu"},
      {mesh_with(kLink, R"(, "routes": [{"path": ["gpu0"]}])"), "/routes/0/path", "two nodes"},
      {mesh_with(kLink, R"(, "capabilities": {"multicast": true})"), "/capabilities/multicast", "unknown key"},
  };
  for (const Case& c : cases) {
    INFO(c.json);
    try {
      topology_of(c.json);
      FAIL("was accepted");
    } catch (const InputError& e) {
      INFO(e.what());
      CHECK(e.where().find(c.where) != std::string::npos);
      CHECK(e.problem().find(c.what) != std::string::npos);
    }
  }
}

TEST_CASE("an override changes both directions of a link, or one") {
  const Topology t =
      topology_of(mesh_with(kLink, R"(, "overrides": [{"from": "gpu0", "to": "gpu1", "bandwidth": "32 GB/s"},
                                {"from": "gpu2", "to": "gpu3", "efficiency": 0.5, "one_way": true}])"));
  const auto rate = [&t](std::uint32_t a, std::uint32_t b) { return t.route_bandwidth(DeviceId(a), DeviceId(b)).si(); };
  CHECK(rate(0, 1) == 24e9);
  CHECK(rate(1, 0) == 24e9);
  CHECK(rate(2, 3) == 32e9);
  CHECK(rate(3, 2) == 48e9);
}

TEST_CASE("every bundled topology has routes both ways between all devices") {
  for (const char* name : {"a6000x8-numa", "a6000x8-pcie", "a6000x4-hybrid", "a6000x4-shared-uplink", "dgx1v-8xv100",
                           "mi300x8-mesh", "h200x8-nvswitch", "h200x2-nv18", "tpu-v4-2x2x2", "unequal-4+6"}) {
    INFO(name);
    const Topology t = load_topology(name);
    for (std::uint32_t a = 0; a < t.device_count(); ++a) {
      for (std::uint32_t b = 0; b < t.device_count(); ++b) {
        if (a == b) continue;
        const auto links = t.route(DeviceId(a), DeviceId(b));
        REQUIRE_FALSE(links.empty());
        REQUIRE(t.links()[links.front().index()].from == t.devices()[a]);
        REQUIRE(t.links()[links.back().index()].to == t.devices()[b]);
        for (std::size_t i = 1; i < links.size(); ++i) {
          REQUIRE(t.links()[links[i - 1].index()].to == t.links()[links[i].index()].from);
        }
      }
    }
  }
}
