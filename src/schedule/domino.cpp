// Domino (arXiv 2409.15241): the layer in independent pieces of rows (batch) and of columns (weights), so that one
// piece's all-reduce (or reduce-scatter) runs beside the next piece's GEMM.
//
// By rows alone the graph is that of interdecom; what differs: the column pieces. A piece (i, j) is rows i and columns
// j of the result: its GEMM reads row piece i of X and column piece j of W, its collective moves that rectangle.
//
// Closed form, q = rows x cols equal pieces: T_comp/q + max((q-1) T_comp/q, (q-1) T_comm/q) + T_comm/q, ideal GEMMs.
#include <algorithm>
#include <array>

#include "schedule/signalled.hpp"

namespace overlap::domino {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::gemm_ar, Pattern::gemm_rs};

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  if (auto r = refuse_common(ctx, kPatterns)) return r;
  return refuse_few_tokens(ctx);
}

// Pieces that leave each something of every owner's share and of the columns.
std::uint32_t row_pieces(const ScheduleContext& ctx) {
  const Workload& w = ctx.workload;
  return std::min(count(ctx, "rows"), w.pattern == Pattern::gemm_ar ? w.tokens : w.tokens / w.tp);
}
std::uint32_t col_pieces(const ScheduleContext& ctx) {
  return std::min(count(ctx, "cols"), ctx.workload.out);
}

// Rows of piece i: for reduce-scatter a piece of every rank's share, so that each piece is scattered by itself.
std::vector<Extent> rows_of_piece(const Workload& w, std::uint32_t pieces, std::uint32_t i) {
  if (w.pattern == Pattern::gemm_ar) return {piece(w.tokens, pieces, i)};
  std::vector<Extent> out;
  for (std::uint32_t o = 0; o < w.tp; ++o) out.push_back(chunk_rows(w, pieces, o, i));
  return out;
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Workload& w = ctx.workload;
  const std::uint32_t rows = row_pieces(ctx);
  const std::uint32_t cols = col_pieces(ctx);
  ScatterLayer layer(b, ctx, in);
  std::vector<LaneId> lanes;
  for (std::uint32_t r = 0; r < w.tp; ++r) lanes.push_back(comm_lane(b, DeviceId(r)));
  const auto channels = static_cast<std::uint16_t>(count(ctx, "channels"));
  for (std::uint32_t i = 0; i < rows; ++i) {
    for (std::uint32_t j = 0; j < cols; ++j) {
      const Extent c = piece(w.out, cols, j);
      const std::vector<Extent> bands = rows_of_piece(w, rows, i);
      std::vector<Dep> deps;
      std::vector<Slice> reads;
      std::vector<Slice> writes;
      for (std::uint32_t r = 0; r < w.tp; ++r) {
        const DeviceId d(r);
        deps.push_back(
            {layer.gemm_bands(d, bands, c, b.label("GEMM piece {}.{}", i, j), compute_lane(b, d), unspared_sms(ctx, d)),
             {}});
        for (const Extent& e : bands) reads.push_back(columns(layer.partial(d, e), c.begin, c.size));
        const Extent mine = layer.reduces_all() ? bands[0] : bands[r];
        writes.push_back(columns(layer.result(d, mine), c.begin, c.size));
      }
      if (w.tp == 1) continue;
      const CollectiveKind kind = layer.reduces_all() ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter;
      const OpId op = b.collective(lanes, {kind, CollectiveAlgorithm::automatic, channels}, reads, writes,
                                   {.deps = deps, .label = b.label("reduce piece {}.{}", i, j)});
      for (std::uint32_t r = 0; r < w.tp; ++r) layer.done(DeviceId(r), op);
    }
  }
  return layer.take_outputs();
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const Workload& w = ctx.workload;
  const std::uint32_t q = row_pieces(ctx) * col_pieces(ctx);
  if (w.tp == 1 || w.tokens % (w.tp * row_pieces(ctx)) != 0 || w.out % col_pieces(ctx) != 0) return std::nullopt;
  GemmShape shape = local_gemm(w, 0);
  shape.m /= row_pieces(ctx);
  shape.n /= col_pieces(ctx);
  const Seconds tc = times.gemm(shape, false);
  const Seconds tm = times.collective(collective_bytes(w) / static_cast<double>(q));
  return ClosedForm{tc + std::max(tc, tm) * static_cast<double>(q - 1) + tm,
                    "Tc/q + (q-1) max(Tc, Tm)/q + Tm/q, q = rows x cols", "equal pieces, ranks in step", true};
}

}  // namespace
}  // namespace overlap::domino

namespace overlap {

ScheduleInfo domino_schedule() {
  return {.name = "domino",
          .summary = "pieces of rows and columns: one piece's collective beside the next piece's GEMM",
          .source = "Domino (arXiv 2409.15241)",
          .patterns = domino::kPatterns,
          .params = {blocks::integer_param("rows", "pieces", "pieces of the tokens", 2, 1, 256, {1, 2, 4}),
                     blocks::integer_param("cols", "pieces", "pieces of the weights' columns", 2, 1, 256, {1, 2, 4}),
                     blocks::channels_param(), blocks::spare_sms_param()},
          .refuses = domino::refuses,
          .build = domino::build,
          .closed_form = domino::closed_form};
}

}  // namespace overlap
