// Sums by copies beside a resident fused GEMM: kernels that add need SMs of their own, or they queue behind its tiles.
#include "boxes.hpp"
#include "catch.hpp"
#include "overlap/config.hpp"
#include "overlap/cost.hpp"
#include "paths.hpp"

using namespace overlap;
using namespace families;

namespace {

Box box_of(const std::string& topology, const std::string& device) {
  Topology t = load_topology(source_dir() + "/topologies/" + topology + ".json");
  const std::vector<Device> devices(t.device_count(),
                                    load_device(source_dir() + "/configs/devices/" + device + ".json"));
  return {std::move(t), devices};
}

Seconds time_of(const Box& box, const Workload& w, std::string_view schedule, const Given& given = {}) {
  const auto graph = graph_of(schedule, box, w, given);
  REQUIRE(graph);
  const Priced p = price(*graph, {box.topology, box.devices, {}}, {});
  return simulate(*graph, p.demands, p.resources, {}).makespan;
}

const Given kNone{{"reduce_sms", std::int64_t{0}}};

}  // namespace

TEST_CASE("fused GEMM+RS beats serial by default, and loses what it gains where no SM is left to the adds") {
  const Box h200 = box_of("h200x8-nvswitch", "h200");
  const Workload w = layer(Pattern::gemm_rs, 8192, 28672, 8192, 8);  // Llama-3 70B, down projection
  const Seconds serial = time_of(h200, w, "serial");
  for (const char* schedule : {"intrafusion", "hierarchical"}) {
    INFO(schedule);
    CHECK(serial / time_of(h200, w, schedule) > 1.0);  // 1.01: seven sums in a row, each on a quarter of the SMs
    CHECK(serial / time_of(h200, w, schedule, kNone) < 0.95);
  }
  const Box numa = box_of("a6000x8-numa", "a6000");
  const Seconds slow = time_of(numa, w, "serial");
  CHECK(slow / time_of(numa, w, "hierarchical") > 1.6);
  CHECK(time_of(numa, w, "hierarchical") < time_of(numa, w, "intrafusion"));
  CHECK(time_of(numa, w, "intrafusion") < time_of(numa, w, "intrafusion", kNone));
}

TEST_CASE("the SMs of the adds are those that the fused GEMM does not use, and AG+GEMM keeps none") {
  const Box box = mesh(4);
  const Workload rs = layer(Pattern::gemm_rs, 64, 32, 32, 4);
  for (const std::int64_t sms : {-1, 5}) {
    const std::uint32_t kept = sms < 0 ? 108 / 4 : 5;
    for (const char* schedule : {"intrafusion", "hierarchical"}) {
      const OpGraph g = *graph_of(schedule, box, rs, {{"reduce_sms", sms}});
      for (const Op& op : g.ops()) {
        if (const auto* gemm = std::get_if<Gemm>(&op.work)) CHECK(gemm->max_sms == 108 - kept);
        if (const auto* add = std::get_if<Elementwise>(&op.work)) CHECK(add->ctas == kept);
      }
    }
  }
  const OpGraph two = *graph_of("intrafusion", mesh(2), layer(Pattern::gemm_rs, 64, 32, 32, 2), {});
  for (const Op& op : two.ops()) {
    if (const auto* gemm = std::get_if<Gemm>(&op.work)) CHECK(gemm->max_sms == 0);  // the only sum comes after it
  }
  const OpGraph ag = *graph_of("intrafusion", box, layer(Pattern::ag_gemm, 64, 32, 32, 4), {});
  CHECK(std::get<Gemm>(ag.ops().back().work).max_sms == 0);
}

TEST_CASE("an add on few SMs is bound by what they have in flight, on many by the memory") {
  const Box box = mesh(2);
  const auto add_on = [&](std::uint16_t sms) {
    GraphBuilder b(2);
    const Slice from = b.all(b.buffer(DeviceId(0U), 4096, 4096, DType::bf16, BufferRole::input, "x"));
    const Slice to = b.all(b.buffer(DeviceId(0U), 4096, 4096, DType::bf16, BufferRole::scratch, "sum"));
    Elementwise add;
    add.kind = ElementwiseKind::add;
    add.ctas = sms;
    b.elementwise(b.lane(DeviceId(0U), 0, "add"), add, std::array{from, to}, std::array{to}, {});
    const OpGraph g = std::move(b).finish();
    CostOptions cost;
    cost.effects.launch = false;
    const Priced p = price(g, {box.topology, box.devices, {}}, cost);
    return simulate(g, p.demands, p.resources, {}).makespan.si();
  };
  const double bytes = 3.0 * 4096 * 4096 * 2;
  const double whole = bytes / (1.5e12 * 0.9);
  CHECK(add_on(4) == Approx(bytes / (4 * 16.5 * 1.4e9)).epsilon(1e-9));
  CHECK(add_on(54) == Approx(bytes / (54 * 16.5 * 1.4e9)).epsilon(1e-9));
  CHECK(add_on(100) == Approx(whole).epsilon(1e-9));
  CHECK(add_on(0) == Approx(whole).epsilon(1e-9));  // as many as it likes
}
