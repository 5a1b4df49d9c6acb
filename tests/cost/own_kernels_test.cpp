// Rates of this project's own kernels count where a measured run of ours is replayed, and nowhere else.
#include "catch.hpp"
#include "overlap/config.hpp"
#include "overlap/cost.hpp"
#include "overlap/engine.hpp"
#include "overlap/graph_builder.hpp"

using namespace overlap;

namespace {

constexpr std::uint32_t kRows = 1000, kCols = 100000;  // 100 MB of bytes

Experiment two_gpus() {
  Experiment e = parse_experiment(R"({"device": "h200", "schedules": ["serial"],
    "topology": {"kind": "full_mesh", "devices": 2,
                 "link": {"bandwidth": "100 GB/s", "efficiency": 1, "latency": "0 us"}},
    "workloads": [{"name": "w", "pattern": "ag+gemm", "tokens": 8, "in": 8, "out": 8, "tp": 2}],
    "cost": {"effects": {"launch": false, "latency": false}}})",
                                  "test");
  for (Device& d : e.devices) d.own_kernels = {Bandwidth(10e9), Bandwidth(200e9), Bandwidth(50e9), Seconds(1e-4), {}};
  return e;
}

double time_of(const OpGraph& graph, bool own) {
  Experiment e = two_gpus();
  e.cost.own_kernels = own;
  const Priced p = price(graph, {e.topology, e.devices, e.background}, e.cost);
  return simulate(graph, p.demands, p.resources, {}).makespan.si();
}

OpGraph copy_by(std::uint16_t sms) {
  GraphBuilder b(2);
  const Slice from[] = {b.all(b.buffer(DeviceId(0U), kRows, kCols, DType::u8, BufferRole::input, "from"))};
  const Slice to[] = {b.all(b.buffer(DeviceId(1U), kRows, kCols, DType::u8, BufferRole::output, "to"))};
  b.transfer(b.lane(DeviceId(0U), 0, "copy"), {.mover = Mover::sm, .ctas = sms}, from, to, {});
  return std::move(b).finish();
}

OpGraph code(ElementwiseKind kind) {
  GraphBuilder b(2);
  const Slice plain[] = {b.all(b.buffer(DeviceId(0U), kRows, kCols / 2, DType::bf16, BufferRole::scratch, "plain"))};
  const Slice coded[] = {b.all(b.buffer(DeviceId(0U), kRows, kCols, DType::u8, BufferRole::scratch, "coded"))};
  const bool in = kind == ElementwiseKind::compress;
  b.elementwise(b.lane(DeviceId(0U), 0, "code"), {.kind = kind, .codec = Codec::window, .delay = {}},
                in ? plain : coded, in ? coded : plain, {});
  return std::move(b).finish();
}

}  // namespace

TEST_CASE("a copy by SMs: 10 GB/s each, at most the link") {
  CHECK(time_of(copy_by(4), true) == Approx(0.1 / 40));
  CHECK(time_of(copy_by(32), true) == Approx(0.1 / 100));
  CHECK(time_of(copy_by(4), false) == Approx(0.1 / 100));
}

TEST_CASE("codec kernels: start and rate of original bytes") {
  CHECK(time_of(code(ElementwiseKind::compress), true) == Approx(1e-4 + 0.1 / 200));
  CHECK(time_of(code(ElementwiseKind::decompress), true) == Approx(0.1 / 50));
  CHECK(time_of(code(ElementwiseKind::compress), false) < 0.5 * (1e-4 + 0.1 / 200));
}
