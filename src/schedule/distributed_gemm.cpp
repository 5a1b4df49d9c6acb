// Distributed GEMM of CUTLASS (examples 65 and 82): as many GEMM stages as ranks, back to back on one stream with
// dependent launch, while one operand rotates between neighbours. AG+GEMM rotates A: stage s multiplies the shard that
// has come s hops. GEMM+RS rotates C: stage s adds its partial product to the sum that has come s hops, in the GEMM
// itself (beta = 1), so there is no kernel that adds. (Rotating B gives another layout of Y than the patterns here.)
//
// Next to looped_einsum (one stream): the same order and bytes; what differs is that C accumulates in the GEMM and that
// no copies within a device are needed. Copies run on a lane of their own (ours; the examples leave it to the stream).
//
// Closed form, n equal shards: AG+GEMM (n-1) max(tc, tm) + tc. GEMM+RS n tc + (n-1) tm: each stage waits for its sum.
#include <algorithm>
#include <array>

#include "schedule/phase_time.hpp"
#include "schedule/signalled.hpp"

namespace overlap::distributed_gemm {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs};

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  return refuse_common(ctx, kPatterns);
}

std::vector<Tensor> rotate_a(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Comm& comm) {
  const Workload& w = ctx.workload;
  GatherLayer layer(b, ctx, in);
  std::vector<std::vector<Dep>> here(w.tp);  // by rank: the shard of this stage is there
  for (std::uint32_t r = 0; r < w.tp; ++r) here[r] = in.x[r].ready;
  for (std::uint32_t s = 0; s < w.tp; ++s) {
    std::vector<std::vector<Dep>> next(w.tp);
    for (std::uint32_t r = 0; r < w.tp; ++r) {
      const DeviceId d(r);
      const DeviceId owner = comm.previous(d, s);
      const Extent rows = piece(w.tokens, w.tp, owner.v);
      if (rows.size == 0) continue;
      layer.gemm(d, owner, {rows, layer.cols(d), here[r]}, b.label("stage {}", s), compute_lane(b, d),
                 gemm_sms(ctx, comm, d));
      if (s + 1 == w.tp) continue;
      const DeviceId to = comm.next(d);
      next[to.index()] = {{copy_rows(b, comm_lane(b, d), comm.transfer, layer.at(d, owner, rows),
                                     layer.landing(to, rows), here[r], b.label("shard of {} to {}", owner.v, to.v)),
                           {}}};
    }
    here = std::move(next);
  }
  return layer.take_outputs();
}

std::vector<Tensor> rotate_c(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Comm& comm) {
  const Workload& w = ctx.workload;
  ScatterLayer layer(b, ctx, in);
  struct Sum {
    Slice slice;
    std::vector<Dep> deps;
  };
  std::vector<Sum> here(w.tp);  // by rank: the sum that this stage adds to
  for (std::uint32_t s = 0; s < w.tp; ++s) {
    std::vector<Sum> next(w.tp);
    for (std::uint32_t r = 0; r < w.tp; ++r) {
      const DeviceId d(r);
      const DeviceId owner = comm.previous(d, s + 1);
      const Extent rows = piece(w.tokens, w.tp, owner.v);
      if (rows.size == 0) continue;
      Gemm work;
      work.m = rows.size;
      work.n = w.out;
      work.k = piece(w.in, w.tp, r).size;
      work.dtype = w.operand;
      work.accumulate = s > 0;
      work.max_sms = gemm_sms(ctx, comm, d);
      std::vector<Slice> a;
      push_rows(a, in.x[r].slices, rows.begin, rows.size);
      std::vector<Dep> deps = in.x[r].ready;
      deps.insert(deps.end(), in.w[r].ready.begin(), in.w[r].ready.end());
      deps.insert(deps.end(), here[r].deps.begin(), here[r].deps.end());
      const Slice c = s > 0 ? here[r].slice : (w.tp == 1 ? layer.result(d, rows) : layer.partial(d, rows));
      const OpId gemm = b.gemm(compute_lane(b, d), work, a, in.w[r].slices, std::array{c},
                               {.deps = deps, .label = b.label("stage {}", s)});
      if (s + 1 == w.tp) {
        layer.done(d, gemm);
        continue;
      }
      const DeviceId to = comm.next(d);
      const Slice land = to == owner ? layer.result(to, rows) : layer.scratch(to, rows.size);
      const OpId op = copy_rows(b, comm_lane(b, d), comm.transfer, std::array{c}, land, std::array{Dep{gemm, {}}},
                                b.label("sum of {} to {}", owner.v, to.v));
      next[to.index()] = {land, {{op, {}}}};
    }
    here = std::move(next);
  }
  return layer.take_outputs();
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Comm comm = comm_of(ctx, 1);
  return ctx.workload.pattern == Pattern::ag_gemm ? rotate_a(b, ctx, in, comm) : rotate_c(b, ctx, in, comm);
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const Workload& w = ctx.workload;
  GemmShape shape = local_gemm(w, 0);
  if (w.tp == 1) return ClosedForm{times.gemm(shape, false), "Tcomp", "one device", true};
  const bool gathers = w.pattern == Pattern::ag_gemm;
  shape.m = piece(w.tokens, w.tp, 0).size;
  const Bytes shard = size_of(w.wire) * (double(shape.m) * double(gathers ? w.in : w.out));
  const Comm comm = comm_of(ctx, 1);
  const PhaseTime hops = ring_phase(ctx.topology, times, comm, shard);
  const double more = w.tp - 1.0;
  const Seconds tm = hops.time / more;
  const Seconds tc = times.gemm(shape, false);
  const Seconds later = times.gemm(shape, !gathers);
  return ClosedForm{gathers ? std::max(tc, tm) * more + tc : tc + later * more + hops.time,
                    gathers ? "(n-1) max(tc, tm) + tc" : "n tc + (n-1) tm", "equal shards, ranks in step",
                    hops.uniform && w.tokens % w.tp == 0};
}

}  // namespace
}  // namespace overlap::distributed_gemm

namespace overlap {

ScheduleInfo distributed_gemm_schedule() {
  return {.name = "distributed_gemm",
          .summary = "GEMM stages back to back while A (or the sums C) rotates between neighbours",
          .source = "CUTLASS distributed GEMM, examples 65 and 82",
          .patterns = distributed_gemm::kPatterns,
          .params = {blocks::mover_param(false, "dma"), blocks::ctas_param()},
          .refuses = distributed_gemm::refuses,
          .build = distributed_gemm::build,
          .closed_form = distributed_gemm::closed_form};
}

}  // namespace overlap
