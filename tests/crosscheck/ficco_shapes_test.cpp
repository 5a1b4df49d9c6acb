// GEMM shapes, gathers and bytes a step of each FiCCO variant against numbers worked out by hand for 8 ranks, 8 chunks,
// M = 8192, K = 1024, N = 512 a rank, bf16: shard 1024 rows, chunk 128 rows (1d) or 128 columns (2d).
#include "catch.hpp"
#include "machines.hpp"

using namespace crosscheck;

namespace {

struct Totals {
  std::vector<GemmShape> shapes;  // of rank 0, in order
  std::size_t accumulating = 0;   // GEMMs of rank 0 with beta = 1
  std::size_t gathers = 0;        // gather kernels of rank 0
  double gathered = 0;            // bytes that one gather of rank 0 reads and writes
  std::size_t sent = 0;           // transfers that rank 0 issues
  double received = 0;            // bytes that rank 0 receives
  double message = 0;             // bytes of one transfer
  bool strided = false;           // transfers read rectangles narrower than their buffer
};

Totals totals(const std::string& variant) {
  const std::uint32_t ranks = 8;
  const Topology t = mesh(ranks, Bandwidth(48e9));
  const std::vector<Device> devices = ideal_devices(ranks);
  const ScheduleInfo& info = find_schedule("ficco");
  const Params params = complete_params(info, {{"variant", variant}});
  const Workload w = layer(Pattern::ag_gemm, ranks, 8192, 1024, 8 * 512);
  const OpGraph g = build_layer(info, {w, t, devices, params});
  Totals out;
  for (const Op& op : g.ops()) {
    const bool mine = g.device_of(op) == DeviceId(0U);
    if (const auto* gemm = std::get_if<Gemm>(&op.work); gemm != nullptr && mine) {
      out.shapes.push_back({gemm->m, gemm->n, gemm->k});
      out.accumulating += gemm->accumulate ? 1 : 0;
    }
    if (std::holds_alternative<Elementwise>(op.work) && mine) {
      ++out.gathers;
      out.gathered = g.bytes(op.reads).si() + g.bytes(op.writes).si();
    }
    if (!std::holds_alternative<Transfer>(op.work)) continue;
    const Slice& from = g.slices(op.reads)[0];
    out.message = g.bytes(op.reads).si();
    out.strided = from.cols < g.buffer(from.buffer).cols;
    out.sent += mine ? 1 : 0;
    if (g.buffer(g.slices(op.writes)[0].buffer).device == DeviceId(0U)) out.received += g.bytes(op.writes).si();
  }
  return out;
}

bool all_are(std::span<const GemmShape> shapes, std::uint32_t m, std::uint32_t k) {
  for (const GemmShape& s : shapes)
    if (s.m != m || s.n != 512 || s.k != k) return false;
  return !shapes.empty();
}

}  // namespace

TEST_CASE("every variant moves the same bytes: 7 shards of 1024 x 1024 bf16, 56 messages of 256 KiB a rank") {
  for (const std::string& v : find_schedule("ficco").params[0].choices) {
    const Totals t = totals(v);
    INFO(v);
    CHECK(t.received == 7 * 2097152.0);
    CHECK(t.sent == 56);
    CHECK(t.message == 262144.0);
    CHECK(t.strided == v.ends_with("2d"));
  }
}

TEST_CASE("uniform-fused-1d: 8 GEMMs of an eighth of the rows, 8 gathers of 1024 x 1024 read and written") {
  const Totals t = totals("uniform-fused-1d");
  CHECK(t.shapes.size() == 8);
  CHECK(all_are(t.shapes, 1024, 1024));
  CHECK(t.gathers == 8);
  CHECK(t.gathered == 2 * 2097152.0);
  CHECK(t.accumulating == 0);
}

TEST_CASE("uniform-fused-2d: 8 GEMMs of all rows and an eighth of K, 7 of them accumulate, 8 gathers of 8192 x 128") {
  const Totals t = totals("uniform-fused-2d");
  CHECK(t.shapes.size() == 8);
  CHECK(all_are(t.shapes, 8192, 128));
  CHECK(t.gathers == 8);
  CHECK(t.gathered == 2 * 2097152.0);
  CHECK(t.accumulating == 7);
}

TEST_CASE("hetero-fused-1d: own shard, then 8 GEMMs of 7 chunks, nothing gathered") {
  const Totals t = totals("hetero-fused-1d");
  CHECK(t.shapes.size() == 9);
  CHECK(all_are(std::span(t.shapes).subspan(0, 1), 1024, 1024));
  CHECK(all_are(std::span(t.shapes).subspan(1), 896, 1024));
  CHECK(t.gathers == 0);
  CHECK(t.accumulating == 0);
}

TEST_CASE("hetero-unfused-1d: own shard, then 56 GEMMs of a 64th of the rows, nothing gathered") {
  const Totals t = totals("hetero-unfused-1d");
  CHECK(t.shapes.size() == 57);
  CHECK(all_are(std::span(t.shapes).subspan(0, 1), 1024, 1024));
  CHECK(all_are(std::span(t.shapes).subspan(1), 128, 1024));
  CHECK(t.gathers == 0);
}

TEST_CASE("the four points that the paper does not keep") {
  CHECK(all_are(totals("uniform-unfused-1d").shapes, 128, 1024));
  CHECK(totals("uniform-unfused-1d").shapes.size() == 64);
  CHECK(all_are(totals("uniform-unfused-2d").shapes, 1024, 128));
  CHECK(totals("uniform-unfused-2d").accumulating == 56);
  const Totals fused = totals("hetero-fused-2d");
  CHECK(all_are(std::span(fused.shapes).subspan(1), 7168, 128));
  CHECK(fused.accumulating == 7);
  const Totals unfused = totals("hetero-unfused-2d");
  CHECK(all_are(std::span(unfused.shapes).subspan(1), 1024, 128));
  CHECK(unfused.shapes.size() == 57);
  CHECK(unfused.accumulating == 49);
}

TEST_CASE("without 2D copy engines slices are packed and sent as 1D copies of equal size") {
  const Topology t = mesh(4, Bandwidth(48e9));
  std::vector<Device> devices = ideal_devices(4);
  for (Device& d : devices) d.dma_2d = false;
  const ScheduleInfo& info = find_schedule("ficco");
  const Workload w = layer(Pattern::ag_gemm, 4, 64, 64, 64);
  const Params packed = complete_params(info, {{"variant", std::string("uniform-fused-2d")}});
  const OpGraph g = build_layer(info, {w, t, devices, packed});
  for (const Op& op : g.ops()) {
    if (!std::holds_alternative<Transfer>(op.work)) continue;
    const Slice& from = g.slices(op.reads)[0];
    CHECK(from.cols == g.buffer(from.buffer).cols);
    CHECK(g.bytes(op.reads).si() == 16 * 16 * 2);
  }
  const Params strided =
      complete_params(info, {{"variant", std::string("uniform-fused-2d")}, {"two_d", std::string("strided")}});
  const auto refusal = info.refuses({w, t, devices, strided});
  REQUIRE(refusal);
  CHECK(refusal->kind == RefusalKind::capability);
}
