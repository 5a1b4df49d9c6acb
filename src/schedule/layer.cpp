// Inputs and outputs of one layer, and its scaled-down twin.
#include <fmt/format.h>

#include <algorithm>

#include "overlap/error.hpp"
#include "overlap/schedule.hpp"

namespace overlap {
namespace {

constexpr std::uint32_t kDelayLane = 1000;  // behind the lanes that schedules use

Tensor input(GraphBuilder& b, DeviceId device, Matrix matrix, std::uint32_t problem, Extent rows, Extent cols,
             DType dtype) {
  const bool weight = matrix == Matrix::w;
  const BufferId buffer = b.buffer(device, rows.size, cols.size, dtype, weight ? BufferRole::weight : BufferRole::input,
                                   weight ? "W" : "X");
  Tensor t;
  t.device = device;
  t.problem = problem;
  t.slices = {b.all(buffer)};
  t.global_row = rows.begin;
  t.global_col = cols.begin;
  b.input({matrix, problem, rows.begin, cols.begin, b.all(buffer)});
  return t;
}

}  // namespace

LayerInputs layer_inputs(GraphBuilder& b, const Workload& w) {
  LayerInputs in;
  const Extent tokens{0, w.tokens};
  const Extent all_in{0, w.in};
  const Extent all_out{0, w.out};
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const DeviceId d(r);
    const Extent my_tokens = piece(w.tokens, w.tp, r);
    const Extent my_in = piece(w.in, w.tp, r);
    const Extent my_out = piece(w.out, w.tp, r);
    switch (w.pattern) {
      case Pattern::ag_gemm:
        in.x.push_back(input(b, d, Matrix::x, 0, my_tokens, all_in, w.wire));
        in.w.push_back(input(b, d, Matrix::w, 0, all_in, my_out, w.operand));
        break;
      case Pattern::agk_gemm:
        in.x.push_back(input(b, d, Matrix::x, 0, tokens, my_in, w.wire));
        in.w.push_back(input(b, d, Matrix::w, 0, all_in, my_out, w.operand));
        break;
      case Pattern::gemm_rs:
      case Pattern::gemm_ar:
        in.x.push_back(input(b, d, Matrix::x, 0, tokens, my_in, w.operand));
        in.w.push_back(input(b, d, Matrix::w, 0, my_in, all_out, w.operand));
        break;
      case Pattern::a2a_gemm:
        in.x.push_back(input(b, d, Matrix::x, 0, tokens, my_in, w.wire));
        in.w.push_back(input(b, d, Matrix::w, 0, all_in, all_out, w.operand));
        break;
      case Pattern::bulk:
        in.x.push_back(input(b, d, Matrix::x, 0, tokens, all_in, w.operand));
        in.w.push_back(input(b, d, Matrix::w, 0, all_in, my_out, w.operand));
        in.side.push_back(input(b, d, Matrix::x, 1, my_tokens, all_in, w.wire));
        break;
    }
  }
  return in;
}

namespace {

// Holds back everything that the rank does: a host that comes late.
void delay_rank(GraphBuilder& b, LayerInputs& in, DeviceId rank, Seconds delay) {
  Elementwise wait;
  wait.kind = ElementwiseKind::delay;
  wait.delay = delay;
  const OpId op = b.elementwise(b.lane(rank, kDelayLane, "start"), wait, {}, {}, {.label = b.label("late start")});
  for (std::vector<Tensor>* tensors : {&in.x, &in.w, &in.side}) {
    for (Tensor& t : *tensors) {
      if (t.device == rank) t.ready.push_back({op, {}});
    }
  }
}

}  // namespace

OpGraph build_layer(const ScheduleInfo& info, const ScheduleContext& ctx, std::span<const Seconds> start_delay,
                    Seconds host_launch) {
  if (const auto refusal = info.refuses(ctx))
    throw CheckError(fmt::format("schedule '{}' cannot run: {}", info.name, refusal->reason));
  GraphBuilder b(ctx.workload.tp);
  LayerInputs inputs = layer_inputs(b, ctx.workload);
  for (std::uint32_t r = 0; r < ctx.workload.tp && r < start_delay.size(); ++r) {
    if (start_delay[r] > Seconds{}) delay_rank(b, inputs, DeviceId(r), start_delay[r]);
  }
  b.host_launch(host_launch);
  for (const Tensor& y : info.build(b, ctx, inputs)) {
    std::uint32_t row = y.global_row;
    for (const Slice& s : y.slices) {
      b.output({Matrix::y, y.problem, row, y.global_col, s});
      row += s.rows;
    }
  }
  return std::move(b).finish();
}

Workload twin(const Workload& w, std::uint32_t pieces) {
  // Same remainders against ranks and pieces, at least one row or column in each piece of each rank.
  const std::uint32_t period = w.tp * std::max(pieces, 1U);
  const auto shrink = [&](std::uint32_t extent) { return extent < 2 * period ? extent : period + extent % period; };
  Workload t = w;
  t.tokens = shrink(w.tokens);
  t.in = shrink(w.in);
  t.out = shrink(w.out);
  return t;
}

}  // namespace overlap
