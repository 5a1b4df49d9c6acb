// Bulk overlap as TransformerEngine and Megatron-LM users run it: a whole collective beside a GEMM that does not need
// it.
//
//   kind=all_gather      Y = X W beside gathering the shards of another tensor (AG + wgrad, AG + dgrad)
//   kind=reduce_scatter  Y = X W beside reducing partial sums of another tensor (RS + wgrad)
//   kind=backward        the backward pass of a column-parallel layer: gather X beside dgrad (dY W'), then
//   reduce-scatter
//                        what dgrad made beside wgrad (X' dY), which waits for the gathered X
//
// Closed form: max(T_comp, T_comm); backward: max(T_dgrad, T_ag) + max(T_wgrad, T_rs) while T_ag <= T_dgrad.
// Exact with nothing shared. On machines a library collective holds SMs; `spare_sms` leaves it some.
// Source: TransformerEngine, bulk overlap (ub_bulk_dgrad, ub_bulk_wgrad).
#include <algorithm>
#include <array>

#include "schedule/signalled.hpp"

namespace overlap::bulk {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::bulk};

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  return refuse_common(ctx, kPatterns);
}

Gemm work_of(const ScheduleContext& ctx, DeviceId d, std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  Gemm g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.dtype = ctx.workload.operand;
  g.max_sms = unspared_sms(ctx, d);
  return g;
}

struct Result {
  std::vector<Tensor> tensors;       // by rank
  std::vector<std::vector<Dep>> at;  // by rank: complete there
};

// Shards of problem 1 on every rank.
Result gather(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Comm& comm) {
  const Workload& w = ctx.workload;
  Result out;
  out.at.resize(w.tp);
  GatherPlan plan;
  plan.label = b.label("shard of {} to {}");
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const DeviceId d(r);
    plan.from.push_back(in.side[r].slices);
    plan.ready.push_back(in.side[r].ready);
    if (w.tp > 1) plan.to.push_back(b.all(b.buffer(d, w.tokens, w.in, w.wire, BufferRole::output, "gathered X")));
  }
  Arrivals arrivals(w.tp);
  all_gather(b, comm, plan, arrivals);
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    Tensor t;
    t.device = DeviceId(r);
    t.problem = 1;
    gathered_stack(comm, plan, t.device, t.slices);
    for (std::uint32_t o = 0; o < w.tp; ++o) {
      const Dep& a = arrivals.at(t.device, DeviceId(o));
      if (a.op.valid()) out.at[r].push_back(a);
    }
    t.ready = out.at[r];
    out.tensors.push_back(std::move(t));
  }
  return out;
}

// Partial sums [tokens, in] by rank, each complete when `ready` is, summed by owner.
std::vector<Tensor> scatter(GraphBuilder& b, const ScheduleContext& ctx, const Comm& comm, std::vector<Slice> partial,
                            const std::vector<std::vector<Dep>>& ready, std::uint32_t problem) {
  const Workload& w = ctx.workload;
  ReducePlan plan;
  plan.label = b.label("partial of {} to {}");
  std::vector<Tensor> out;
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const Extent rows = piece(w.tokens, w.tp, r);
    Tensor t;
    t.device = DeviceId(r);
    t.problem = problem;
    t.global_row = rows.begin;
    plan.to.push_back(w.tp == 1 ? partial[0]
                                : b.all(b.buffer(t.device, rows.size, w.in, w.wire, BufferRole::output, "sum")));
    t.slices = {plan.to[r]};
    if (w.tp == 1) t.ready = ready[0];
    for (std::uint32_t o = 0; o < w.tp; ++o) plan.ready.push_back(ready[r]);
    out.push_back(std::move(t));
  }
  if (w.tp == 1) return out;
  plan.partial = std::move(partial);
  std::vector<OpId> done;
  reduce_scatter(b, comm, plan, w.wire, done);
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    if (done[r].valid()) out[r].ready.push_back({done[r], {}});
  }
  return out;
}

// An input of the schedule's own: rank r's piece of X or W of another product.
Slice own_input(GraphBuilder& b, DeviceId d, Matrix matrix, std::uint32_t problem, Extent rows, Extent cols, DType type,
                std::string_view name) {
  const Slice s = b.all(
      b.buffer(d, rows.size, cols.size, type, matrix == Matrix::w ? BufferRole::weight : BufferRole::input, name));
  b.input({matrix, problem, rows.begin, cols.begin, s});
  return s;
}

// Y = X W of the workload.
std::vector<Tensor> own_gemm(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Workload& w = ctx.workload;
  std::vector<Tensor> out;
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const DeviceId d(r);
    const Extent cols = piece(w.out, w.tp, r);
    Tensor t;
    t.device = d;
    t.global_col = cols.begin;
    t.slices = {b.all(b.buffer(d, w.tokens, cols.size, w.output, BufferRole::output, "Y"))};
    std::vector<Dep> deps = in.x[r].ready;
    deps.insert(deps.end(), in.w[r].ready.begin(), in.w[r].ready.end());
    const OpId op = b.gemm(compute_lane(b, d), work_of(ctx, d, w.tokens, cols.size, w.in), in.x[r].slices,
                           in.w[r].slices, t.slices, {.deps = deps, .label = b.label("GEMM")});
    t.ready = {{op, {}}};
    out.push_back(std::move(t));
  }
  return out;
}

void append(std::vector<Tensor>& to, std::vector<Tensor> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

std::vector<Tensor> backward(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Comm& comm) {
  const Workload& w = ctx.workload;
  Result x = gather(b, ctx, in, comm);
  std::vector<Tensor> out = x.tensors;
  std::vector<Slice> partial;
  std::vector<std::vector<Dep>> ready;
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const DeviceId d(r);
    const Extent mine = piece(w.out, w.tp, r);
    const Slice dy = own_input(b, d, Matrix::x, 2, {0, w.tokens}, mine, w.operand, "dY");
    const Slice wt = own_input(b, d, Matrix::w, 2, mine, {0, w.in}, w.operand, "W transposed");
    partial.push_back(b.all(b.buffer(d, w.tokens, w.in, w.wire, BufferRole::scratch, "partial dX")));
    const OpId dgrad = b.gemm(compute_lane(b, d), work_of(ctx, d, w.tokens, w.in, mine.size), std::array{dy},
                              std::array{wt}, std::array{partial[r]}, {.deps = {}, .label = b.label("dgrad")});
    ready.push_back({{dgrad, {}}});
    // The transposed view of the gathered X is a buffer of its own here; the wait for the gather is what matters.
    const Slice xt = own_input(b, d, Matrix::x, 3, {0, w.in}, {0, w.tokens}, w.operand, "X transposed");
    const Slice dy2 = own_input(b, d, Matrix::w, 3, {0, w.tokens}, mine, w.operand, "dY");
    Tensor dw;
    dw.device = d;
    dw.problem = 3;
    dw.global_col = mine.begin;
    dw.slices = {b.all(b.buffer(d, w.in, mine.size, w.output, BufferRole::output, "dW"))};
    const OpId wgrad = b.gemm(compute_lane(b, d), work_of(ctx, d, w.in, mine.size, w.tokens), std::array{xt},
                              std::array{dy2}, dw.slices, {.deps = x.at[r], .label = b.label("wgrad")});
    dw.ready = {{wgrad, {}}};
    out.push_back(std::move(dw));
  }
  append(out, scatter(b, ctx, comm, std::move(partial), ready, 2));
  return out;
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Workload& w = ctx.workload;
  const Comm comm = comm_of(ctx, w.tp > 1 ? w.tp - 1 : 1);
  const std::string& kind = ctx.params.text("kind");
  if (kind == "backward") return backward(b, ctx, in, comm);
  if (kind == "all_gather") {
    std::vector<Tensor> out = gather(b, ctx, in, comm).tensors;
    append(out, own_gemm(b, ctx, in));
    return out;
  }
  std::vector<Slice> partial;
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    partial.push_back(own_input(b, DeviceId(r), Matrix::x, 2, {0, w.tokens}, {r * w.in, w.in}, w.wire, "partial sums"));
  }
  std::vector<Tensor> out = scatter(b, ctx, comm, std::move(partial), std::vector<std::vector<Dep>>(w.tp), 2);
  append(out, own_gemm(b, ctx, in));
  return out;
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const Workload& w = ctx.workload;
  const std::string& kind = ctx.params.text("kind");
  if (ctx.params.text("mover") != "library" || kind != "all_gather") return std::nullopt;
  const Seconds comp = times.gemm(local_gemm(w, 0), false);
  const Seconds comm = w.tp > 1 ? times.collective(size_of(w.wire) * static_cast<double>(w.tokens) * w.in) : Seconds();
  return ClosedForm{std::max(comp, comm), "max(Tcomp, Tcomm)", "nothing shared", true};
}

}  // namespace
}  // namespace overlap::bulk

namespace overlap {

ScheduleInfo bulk_schedule() {
  ParamInfo kind = blocks::choice_param("kind", "which collective beside the GEMM, or the whole backward pass",
                                        "all_gather", {"all_gather", "reduce_scatter", "backward"});
  kind.search.clear();  // they do different work
  return {.name = "bulk",
          .summary = "a whole collective beside a GEMM that does not need it",
          .source = "TransformerEngine and Megatron-LM, bulk overlap of the backward pass",
          .patterns = bulk::kPatterns,
          .params = {kind, blocks::mover_param(true, "library"), blocks::path_param(), blocks::ctas_param(),
                     blocks::channels_param(), blocks::spare_sms_param()},
          .refuses = bulk::refuses,
          .build = bulk::build,
          .closed_form = bulk::closed_form};
}

}  // namespace overlap
