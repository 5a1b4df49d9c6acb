#include <algorithm>
#include <array>

#include "fixture.hpp"
#include "overlap/graph_builder.hpp"

using namespace gpu_test;

namespace {

struct OneGemm {
  GraphBuilder g{1};
  OneGemm(std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint32_t cuts, bool fused, DType type = DType::bf16,
          std::uint32_t slack = 0, PartOrder order = PartOrder::ready) {
    const DeviceId d(0U);
    const BufferId x = g.buffer(d, m, k + slack, type, BufferRole::input, "x");
    const BufferId w = g.buffer(d, k, n + slack, type, BufferRole::weight, "w");
    const BufferId y = g.buffer(d, m, n + slack, type, BufferRole::output, "y");
    const Slice a{x, 0, m, 0, k};
    const Slice b{w, 0, k, 0, n};
    const Slice c{y, 0, m, 0, n};
    g.input({Matrix::x, 0, 0, 0, a});
    g.input({Matrix::w, 0, 0, 0, b});
    g.output({Matrix::y, 0, 0, 0, c});
    Gemm work{.m = m, .n = n, .k = k, .parts = {}};
    work.dtype = type;
    work.order = order;
    const LaneId lane = g.lane(d, 0, "compute");
    if (!fused) {
      g.gemm(lane, work, std::array{a}, std::array{b}, std::array{c}, {{}, g.label("gemm")});
      return;
    }
    const OpId op = g.fused_gemm(lane, work, {{}, g.label("fused")});
    for (std::uint32_t i = 0; i < cuts; ++i) {
      const std::uint32_t row = m * i / cuts;
      const std::uint32_t rows = m * (i + 1) / cuts - row;
      g.part(op, {{row, rows, 0, n},
                  {},
                  std::array{Slice{x, row, rows, 0, k}},
                  std::array{b},
                  std::array{Slice{y, row, rows, 0, n}}});
    }
  }
};

double run_once(GpuSession& s, const OpGraph& graph, std::string* choice = nullptr) {
  const LaunchPlan plan = plan_launch(graph, DeviceMap::spread(graph.devices(), 1), plan_options(s));
  const auto program = s.load(graph, plan);
  program->fill(7);
  program->warm();
  if (choice != nullptr) *choice = program->gemms().front().kernel;
  return program->error();
}

double rate(GpuSession& s, std::uint32_t n, bool fused) {
  const OneGemm x(n, n, n, 2, fused);
  const LaunchPlan plan = plan_launch(x.g.graph(), DeviceMap::spread(1, 1), plan_options(s));
  const auto program = s.load(x.g.graph(), plan);
  program->fill(3);
  program->warm();
  double best = 1e9;
  for (int i = 0; i < 7; ++i) best = std::min(best, program->run(Seconds(0.01)).si());
  CHECK(program->error() < kBf16);
  return 2.0 * n * n * n / best;
}

}  // namespace

TEST_CASE("the library multiplies right in bf16, f16 and f32") {
  const auto s = open(1);
  if (s == nullptr) return;
  CHECK(run_once(*s, OneGemm(256, 384, 512, 1, false).g.graph()) < kBf16);
  CHECK(run_once(*s, OneGemm(200, 136, 264, 1, false, DType::f16).g.graph()) < kF32);
  CHECK(run_once(*s, OneGemm(256, 384, 512, 1, false, DType::f32).g.graph()) < kF32);
}

TEST_CASE("the tile kernel multiplies right at whole tiles, edges and odd extents, in both orders") {
  const auto s = open(1);
  if (s == nullptr) return;
  struct Case {
    std::uint32_t m, n, k, cuts, slack;
  };
  for (const Case c :
       {Case{128, 256, 64, 2, 0}, Case{256, 512, 256, 2, 0}, Case{1024, 1024, 1024, 4, 0}, Case{200, 320, 136, 2, 0},
        Case{1000, 520, 328, 3, 8}, Case{77, 96, 64, 2, 0}, Case{130, 131, 67, 2, 0}, Case{300, 260, 100, 5, 3}}) {
    for (const PartOrder order : {PartOrder::ready, PartOrder::fixed}) {
      std::string choice;
      const OneGemm x(c.m, c.n, c.k, c.cuts, true, DType::bf16, c.slack, order);
      const double error = run_once(*s, x.g.graph(), &choice);
      CAPTURE(c.m, c.n, c.k, c.cuts, c.slack, choice);
      CHECK(error < kBf16);
    }
  }
}

TEST_CASE("the tile kernel reaches 60 % of the library's rate at 8192^3") {
  const auto s = open(1);
  if (s == nullptr) return;
  if (!s->host().gpus[0].wgmma) {
    WARN("skipped: not a Hopper GPU");
    return;
  }
  const double library = rate(*s, 8192, false);
  const double tiles = rate(*s, 8192, true);
  WARN("8192^3 bf16: library " << library / 1e12 << " TFLOP/s, tile kernel " << tiles / 1e12 << " TFLOP/s, ratio "
                               << tiles / library);
  CHECK(tiles > 0.6 * library);
}

TEST_CASE("runs back to back tell each run's time, and tile times come in order of launch") {
  const auto s = open(1);
  if (s == nullptr) return;
  const OneGemm x(2048, 2048, 2048, 2, true, DType::bf16, 0, PartOrder::fixed);
  const LaunchPlan plan = plan_launch(x.g.graph(), DeviceMap::spread(1, 1), plan_options(*s));
  const auto program = s->load(x.g.graph(), plan);
  program->fill(5);
  program->warm();
  const GpuLoad load = program->repeat(Seconds(0.05));
  REQUIRE(load.times.size() > 100);
  CHECK(load.ends.size() == load.times.size());
  CHECK(load.ends.back().si() > 0.03);
  CHECK(load.times[load.times.size() / 2].si() < 2e-4);
  CHECK(program->error() < kBf16);
  const GpuSpans spans = program->spans(Seconds(0.001));
  REQUIRE(spans.tiles.size() == 1);
  const TileTimes& t = spans.tiles[0];
  CHECK(t.ends.size() == (2048 / t.tile_rows) * (2048 / t.tile_cols));
  const Seconds last = *std::max_element(t.ends.begin(), t.ends.end());
  CHECK(last <= spans.timeline.ops[0].end + Seconds(2e-6));
  CHECK(last.si() > 0.5 * spans.timeline.ops[0].end.si());
}
