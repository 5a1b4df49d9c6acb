#include "measure/suite.hpp"

#include <algorithm>
#include <set>

#include "catch.hpp"
#include "measure/baseline.hpp"
#include "measure/measure.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "overlap/graph_check.hpp"

using namespace overlap;
using namespace overlap::cuda;

namespace {
struct Host {
  Topology topology = load_topology("h200x2-nv18");
  std::vector<Device> devices{2, load_device("h200")};
};
}  // namespace

TEST_CASE("the suite names every record once and covers every section") {
  const Host m;
  std::set<std::string> keys;
  std::set<std::string> sections;
  for (const Job& j : suite(m.topology, m.devices, {})) {
    CAPTURE(j.keys);
    CHECK(keys.insert(j.keys).second);
    sections.insert(j.section);
  }
  CHECK(sections.size() == suite_sections().size());
  for (const char* name : {"interdecom", "hetero_unfused", "intrafusion", "looped_einsum", "shard_p2p", "commfuse",
                           "async_tp", "flux", "wave_groups", "serial_dma"}) {
    CAPTURE(name);
    CHECK(std::any_of(keys.begin(), keys.end(), [&](const std::string& k) {
      return k.find("\"schedule\": \"" + std::string(name)) != std::string::npos;
    }));
  }
  CHECK(keys.size() > 800);
  CHECK_THROWS_AS(suite(m.topology, m.devices, {"gem"}), InputError);
}

TEST_CASE("the suite's graphs are valid and have a launch plan on two GPUs") {
  const Host m;
  std::uint32_t planned = 0;
  for (const Job& j : suite(m.topology, m.devices, {"primitives", "contention", "gemm_rs", "ag_gemm", "tiles"})) {
    const bool layer = j.section == "ag_gemm" || j.section == "gemm_rs";
    if (layer && j.group != "ag_gemm 4096 7168 4096" && j.group != "gemm_rs 4096 4096 7168") continue;
    const OpGraph graph = j.graph();
    CAPTURE(j.keys);
    if (!j.contention && j.keys.find("event_chain") == std::string::npos) CHECK(validate(graph).empty());
    CHECK_NOTHROW(plan_launch(graph, DeviceMap::spread(graph.devices(), 2), {}));
    ++planned;
  }
  CHECK(planned > 100);
}

TEST_CASE("at least 24 gather layers and, in both patterns, five or more bound by communication") {
  // The rates measured on two H200: 390 GB/s one way, 700 TFLOP/s.
  std::uint32_t gather_bound = 0;
  for (const GemmShape& s : gather_shapes())
    gather_bound += s.m / 2.0 * s.k * 2 / 390e9 > s.flops().si() / 7e14 ? 1 : 0;
  std::uint32_t scatter_bound = 0;
  for (const GemmShape& s : scatter_shapes())
    scatter_bound += s.m / 2.0 * s.n * 2 / 390e9 > s.flops().si() / 7e14 ? 1 : 0;
  CHECK(gather_shapes().size() >= 24);
  CHECK(gather_bound >= 5);
  CHECK(scatter_bound >= 5);
}

TEST_CASE("measured schedules keep their published short names") {
  const auto name = [](const char* schedule, std::vector<std::pair<std::string, ParamValue>> given) {
    const ScheduleInfo& info = find_schedule(schedule);
    return measured_name(info, complete_params(info, given));
  };
  CHECK(name("serial", {{"mover", std::string("library")}}).schedule == "serial_nccl");
  CHECK(name("interdecom", {{"mover", std::string("dma")}, {"d", std::int64_t{8}}}).schedule == "interdecom_dma");
  CHECK(name("interdecom", {{"mover", std::string("dma")}, {"d", std::int64_t{8}}}).d == 8);
}

TEST_CASE("a layer's job states the GEMM of one GPU") {
  const Host m;
  const Workload w = layer(Pattern::gemm_rs, {4096, 1024, 512}, 2);
  CHECK(local_gemm(w, 0).k == 512);
  CHECK(w.in == 1024);
  const ScheduleInfo& info = find_schedule("serial");
  const Job j = layer_job(w, info, complete_params(info, {}), m.topology, m.devices);
  CHECK_THAT(j.keys, contains_text("\"m\": 4096, \"n\": 1024, \"k\": 512"));
}

TEST_CASE("statistics take the measured files' quantiles") {
  CHECK(
      statistics({3, 1, 2, 5, 4, 9, 8, 7, 6}) ==
      "\"reps\": 9, \"median_us\": 5.000, \"min_us\": 1.000, \"max_us\": 9.000, \"p10_us\": 1.000, \"p90_us\": 9.000");
}
