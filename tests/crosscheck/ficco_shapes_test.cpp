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

// Rows and K of the GEMM on the own shard (0: none) and of the others.
struct Row {
  const char* variant;
  std::uint32_t own_rows, own_k;
  std::size_t gemms;
  std::uint32_t rows, k;
  std::size_t accumulating, gathers;
};

TEST_CASE("GEMMs and gathers of every variant, by hand") {
  const Row table[] = {
      // The four that the paper keeps.
      {"uniform-fused-1d", 0, 0, 8, 1024, 1024, 0, 8},         // an eighth of the rows, gathered
      {"uniform-fused-2d", 0, 0, 8, 8192, 128, 7, 8},          // all rows and an eighth of K, C read again 7 times
      {"hetero-fused-1d", 1024, 1024, 8, 896, 1024, 0, 0},     // own shard, then 7 chunks a step
      {"hetero-unfused-1d", 1024, 1024, 56, 128, 1024, 0, 0},  // own shard, then a 64th of the rows each
      // The other four.
      {"uniform-unfused-1d", 0, 0, 64, 128, 1024, 0, 0},
      {"uniform-unfused-2d", 0, 0, 64, 1024, 128, 56, 0},
      {"hetero-fused-2d", 1024, 1024, 8, 7168, 128, 7, 0},
      {"hetero-unfused-2d", 1024, 1024, 56, 1024, 128, 49, 0}};
  for (const Row& r : table) {
    INFO(r.variant);
    const Totals t = totals(r.variant);
    const std::size_t own = r.own_rows > 0 ? 1 : 0;
    REQUIRE(t.shapes.size() == own + r.gemms);
    if (own > 0) CHECK(all_are(std::span(t.shapes).subspan(0, 1), r.own_rows, r.own_k));
    CHECK(all_are(std::span(t.shapes).subspan(own), r.rows, r.k));
    CHECK(t.accumulating == r.accumulating);
    CHECK(t.gathers == r.gathers);
    if (r.gathers > 0) CHECK(t.gathered == 2 * 2097152.0);  // 1024 x 1024 or 8192 x 128 bf16, read and written
  }
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
