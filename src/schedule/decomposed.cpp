#include "schedule/decomposed.hpp"

#include <array>

#include "schedule/phase_time.hpp"

namespace overlap::blocks {
namespace {

// Tokens of piece i of rank r's share, in the whole.
Extent stage_piece(const Workload& w, std::uint32_t stages, std::uint32_t i, std::uint32_t rank) {
  const Extent share = piece(w.tokens, w.tp, rank);
  const Extent part = piece(share.size, stages, i);
  return {share.begin + part.begin, part.size};
}

}  // namespace

std::uint32_t stage_rows(const Workload& w, std::uint32_t stages, std::uint32_t i) {
  std::uint32_t rows = 0;
  for (std::uint32_t r = 0; r < w.tp; ++r) rows += stage_piece(w, stages, i, r).size;
  return rows;
}

GemmShape stage_gemm(const Workload& w, std::uint32_t stages, std::uint32_t i, std::uint32_t rank) {
  GemmShape shape = local_gemm(w, rank);
  shape.m = stage_rows(w, stages, i);
  return shape;
}

std::vector<Tensor> gather_stages(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Stages& s) {
  const Workload& w = ctx.workload;
  std::vector<Tensor> out = outputs(b, w);
  const Label label = b.label("GEMM stage {}");
  GatherPlan plan;
  plan.label = b.label("shard of {} to {}");
  plan.from.resize(w.tp);
  plan.ready.resize(w.tp);
  plan.to.resize(w.tp);
  for (std::uint32_t r = 0; r < w.tp; ++r) plan.ready[r] = in.x[r].ready;
  std::vector<BufferId> gathered;
  for (std::uint32_t r = 0; r < w.tp && w.tp > 1; ++r)
    gathered.push_back(b.buffer(DeviceId(r), w.tokens, w.in, w.wire, BufferRole::scratch, "gathered X"));
  std::uint32_t row = 0;
  std::vector<Slice> a;
  std::vector<Slice> c;
  std::vector<Dep> deps;
  for (std::uint32_t i = 0; i < s.count; ++i) {
    const std::uint32_t rows = stage_rows(w, s.count, i);
    if (rows == 0) continue;
    c.clear();
    for (std::uint32_t r = 0; r < w.tp; ++r) {
      const Extent mine = stage_piece(w, s.count, i, r);
      plan.from[r].clear();
      push_rows(plan.from[r], in.x[r].slices, mine.begin - piece(w.tokens, w.tp, r).begin, mine.size);
      if (w.tp > 1) plan.to[r] = b.rows(gathered[r], row, rows);
    }
    Arrivals arrivals(w.tp);
    all_gather(b, s.comm, plan, arrivals);
    for (std::uint32_t r = 0; r < w.tp; ++r) {
      const DeviceId d(r);
      deps = in.w[r].ready;
      a.clear();
      c.clear();
      deps.insert(deps.end(), in.x[r].ready.begin(), in.x[r].ready.end());
      gathered_stack(s.comm, plan, d, a);
      for (std::uint32_t o = 0; o < w.tp; ++o) {
        const Extent mine = stage_piece(w, s.count, i, o);
        push_rows(c, out[r].slices, mine.begin, mine.size);
        const Dep& arrival = arrivals.at(d, DeviceId(o));
        if (arrival.op.valid() && (deps.empty() || deps.back() != arrival)) deps.push_back(arrival);
      }
      Label l = label;
      l.a = i;
      const OpId op = b.gemm(compute_lane(b, d), gemm_work(ctx, stage_gemm(w, s.count, i, r), d), a, in.w[r].slices, c,
                             {.deps = deps, .label = l});
      out[r].ready.push_back({op, {}});
    }
    row += rows;
  }
  return out;
}

std::vector<Tensor> scatter_stages(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in,
                                   const Stages& s) {
  const Workload& w = ctx.workload;
  std::vector<Tensor> out = outputs(b, w);
  const Label label = b.label("GEMM stage {}");
  ReducePlan plan;
  plan.label = b.label("partial of {} to {}");
  plan.partial.resize(w.tp);
  plan.to.resize(w.tp);
  std::vector<BufferId> partials;
  for (std::uint32_t r = 0; r < w.tp && w.tp > 1; ++r)
    partials.push_back(b.buffer(DeviceId(r), w.tokens, w.out, w.wire, BufferRole::scratch, "partial Y"));
  std::uint32_t row = 0;
  std::vector<Slice> a;
  std::vector<OpId> done;
  for (std::uint32_t i = 0; i < s.count; ++i) {
    const std::uint32_t rows = stage_rows(w, s.count, i);
    if (rows == 0) continue;
    plan.ready.assign(std::size_t{w.tp} * w.tp, {});
    for (std::uint32_t r = 0; r < w.tp; ++r) {
      const DeviceId d(r);
      a.clear();
      for (std::uint32_t o = 0; o < w.tp; ++o) {
        const Extent mine = stage_piece(w, s.count, i, o);
        push_rows(a, in.x[r].slices, mine.begin, mine.size);
      }
      const Extent own = piece(piece(w.tokens, w.tp, r).size, s.count, i);
      plan.to[r] = {out[r].slices[0].buffer, own.begin, own.size, 0, w.out};
      plan.partial[r] = w.tp > 1 ? b.rows(partials[r], row, rows) : plan.to[r];
      std::vector<Dep> deps = in.w[r].ready;
      deps.insert(deps.end(), in.x[r].ready.begin(), in.x[r].ready.end());
      Label l = label;
      l.a = i;
      const OpId op = b.gemm(compute_lane(b, d), gemm_work(ctx, stage_gemm(w, s.count, i, r), d), a, in.w[r].slices,
                             std::array{plan.partial[r]}, {.deps = deps, .label = l});
      for (std::uint32_t o = 0; o < w.tp; ++o) plan.ready[r * w.tp + o] = {{op, {}}};
      if (w.tp == 1) out[r].ready.push_back({op, {}});
    }
    row += rows;
    if (w.tp == 1) continue;
    reduce_scatter(b, s.comm, plan, w.wire, done);
    for (std::uint32_t r = 0; r < w.tp; ++r)
      if (done[r].valid()) out[r].ready.push_back({done[r], {}});
  }
  return out;
}

StageTime stage_collective(const ScheduleContext& ctx, const PieceTimes& times, std::uint32_t stages, std::uint32_t i) {
  const Workload& w = ctx.workload;
  if (w.tp == 1) return {Seconds(), true};
  const bool gathers = w.pattern == Pattern::ag_gemm || w.pattern == Pattern::agk_gemm;
  const std::uint32_t cols = gathers ? w.in : w.out;
  const auto bytes = [&](std::uint32_t rows) { return size_of(w.wire) * static_cast<double>(rows) * double(cols); };
  const Comm comm = comm_of(ctx, w.tp - 1);
  const bool equal = (w.pattern == Pattern::agk_gemm ? w.in : w.tokens) % (w.tp * stages) == 0;
  if (comm.path == Path::library) return {times.collective(bytes(stage_rows(w, stages, i))), true};
  const Bytes each = bytes(stage_piece(w, stages, i, 0).size);
  const PhaseTime phase = comm.path == Path::ring ? ring_phase(ctx.topology, times, comm, each)
                                                  : direct_phase(ctx.topology, times, comm, each);
  return {phase.time, phase.uniform && equal};
}

}  // namespace overlap::blocks
