// The window code's kernels: values come back bit by bit, from whole runs, rectangles and odd extents.
#include <array>

#include "fixture.hpp"
#include "overlap/graph_builder.hpp"

using namespace gpu_test;

namespace {

// X in two slices with `slack` columns between rows, coded (in one slice or two), decoded into a dense copy.
double there_and_back(GpuSession& s, std::uint32_t rows, std::uint32_t cols, std::uint32_t slack, bool split) {
  GraphBuilder g(1);
  const DeviceId d(0U);
  const BufferId x = g.buffer(d, rows, cols + slack, DType::bf16, BufferRole::input, "x");
  const BufferId y = g.buffer(d, rows, cols, DType::bf16, BufferRole::output, "y");
  const std::uint32_t top = rows / 3;
  const std::array reads{Slice{x, 0, top, 0, cols}, Slice{x, top, rows - top, 0, cols}};
  const std::array writes{g.all(y)};
  for (const Slice& r : reads) g.input({Matrix::x, 0, r.row, 0, r});
  g.output({Matrix::x, 0, 0, 0, g.all(y)});
  const std::uint32_t values = rows * cols;
  std::vector<Slice> coded;
  const auto bytes = [&](std::uint32_t n) {
    coded.push_back(g.all(g.buffer(d, (n + 3) / 4, 4, DType::u8, BufferRole::scratch, "coded")));
  };
  if (split) {
    bytes(values + 8);
    bytes(values / 2 + 2048);
  } else {
    bytes(values + values / 2 + 2048);
  }
  const LaneId lane = g.lane(d, 0, "codec");
  Elementwise e;
  e.codec = Codec::window;
  e.ctas = 3;
  e.kind = ElementwiseKind::compress;
  g.elementwise(lane, e, reads, coded, {.label = g.label("compress")});
  e.kind = ElementwiseKind::decompress;
  g.elementwise(lane, e, coded, writes, {.label = g.label("decompress")});
  const LaunchPlan plan = plan_launch(g.graph(), DeviceMap::spread(1, 1), plan_options(s));
  const auto program = s.load(g.graph(), plan);
  program->fill(9);
  program->warm();
  return program->error();
}

}  // namespace

TEST_CASE("coded values come back as they were") {
  const auto s = open(1);
  if (s == nullptr) return;
  for (const bool split : {false, true}) {
    for (const auto& [rows, cols, slack] :
         {std::array{256U, 512U, 0U}, std::array{3U, 8U, 0U}, std::array{77U, 131U, 0U}, std::array{77U, 131U, 3U},
          std::array{64U, 136U, 8U}, std::array{1000U, 1024U, 0U}}) {
      CAPTURE(rows, cols, slack, split);
      CHECK(there_and_back(*s, rows, cols, slack, split) == 0);
    }
  }
}
