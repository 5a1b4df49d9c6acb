// Background traffic takes its max-min share of the links on its route, while it lasts.
#include "catch.hpp"
#include "overlap/config.hpp"
#include "overlap/cost.hpp"
#include "overlap/engine.hpp"
#include "overlap/graph_builder.hpp"

using namespace overlap;

namespace {

// End of one DMA copy of 1 GB from GPU 0 to GPU 1 over a 10 GB/s link (0.1 s alone), beside the config's traffic.
double copy_time(const std::string& background) {
  const Experiment e = parse_experiment(R"({"device": "h200", "schedules": ["serial"],
    "topology": {"kind": "full_mesh", "devices": 3,
                 "link": {"bandwidth": "10 GB/s", "efficiency": 1, "latency": "0 us"}},
    "workloads": [{"name": "w", "pattern": "ag+gemm", "tokens": 8, "in": 8, "out": 8, "tp": 2}],
    "cost": {"effects": {"launch": false, "latency": false, "hbm": false}},
    "background": [)" + background + "]}",
                                        "test");
  GraphBuilder b(2);
  const BufferId from = b.buffer(DeviceId(0U), 1000, 1000000, DType::u8, BufferRole::input, "from");
  const BufferId to = b.buffer(DeviceId(1U), 1000, 1000000, DType::u8, BufferRole::output, "to");
  const LaneId lane = b.lane(DeviceId(0U), 0, "copy");
  const Slice reads[] = {b.all(from)};
  const Slice writes[] = {b.all(to)};
  b.transfer(lane, Transfer{}, reads, writes, {});
  const OpGraph graph = std::move(b).finish();
  const Priced p = price(graph, {e.topology, e.devices, e.background}, e.cost);
  return simulate(graph, p.demands, p.resources, {}).makespan.si();
}

std::string flow(const std::string& to, const std::string& rest) {
  return R"({"from": "gpu0", "to": ")" + to + "\", " + rest + "}";
}

}  // namespace

TEST_CASE("a copy shares its link with background traffic by max-min fairness") {
  CHECK(copy_time("") == Approx(0.1));
  CHECK(copy_time(flow("gpu1", R"("rate": "2 GB/s")")) == Approx(1.0 / 8));    // takes what it asks for
  CHECK(copy_time(flow("gpu1", R"("rate": "100 GB/s")")) == Approx(1.0 / 5));  // and no more than half
  CHECK(copy_time(flow("gpu2", R"("rate": "100 GB/s")")) == Approx(0.1));      // another link
}

TEST_CASE("background traffic starts and stops") {
  // Half speed from 0.02 s to 0.06 s: 0.2 + 0.2 of the bytes by then, 0.6 left at full speed.
  CHECK(copy_time(flow("gpu1", R"("rate": "100 GB/s", "start": "20 ms", "stop": "60 ms")")) == Approx(0.12));
}
