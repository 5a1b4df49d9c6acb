// Looped CollectiveEinsum (Wang et al., ASPLOS 2023; XLA "windowed einsum"): a loop of collective permutes between ring
// neighbours, each beside the einsum on what the last one brought.
//
//   AG+GEMM   step i: permute the current shard on, einsum on it. `bi`: a prologue permute makes a second stream the
//             other way round, then N/2 steps use shards p+i and p-1-i in one einsum of double size.
//   AGK+GEMM  the same with X divided along the contracting dimension (Cannon's order): each einsum takes the shard's
//             rows of W and adds to Y. The two shards of a step lie apart, so `bi` runs an einsum each (ours; XLA
//             concatenates them).
//   GEMM+RS   the accumulator circulates: step i computes the partial of the shard whose sum arrives, adds, passes on.
//             `bi`: shards p+i+N/2+1 and p-N/2-i, two accumulators, joined by an epilogue permute and add.
// Permutes are CollectivePermuteStart/Done pairs: a Start is issued by the core after what it did before, a Done holds
// the core up. `placement` puts them among the einsums (placement.hpp); `in_flight` bounds the permutes of a device
// that are under way (synchronisation flags). Two landing buffers a stream are used in turn. unroll=1 copies the
// carried buffer once a step, unroll=2 does without. An unrolled reduce-scatter may have two accumulator `chains`, of
// even and of odd steps, each moving two hops at once, joined by a last hop and add: a permute has two einsums to hide
// its latency behind, but two hops to go (the source says two independent chains joined at the end; the hops are ours).
// XLA asks for N % 4 == 0 for `bi`; any even N runs here. The ring is the topology's ring order, on a torus one that
// follows its axes.
//
// Closed forms (derived), tm = one shard over one link: uni (N-1) max(tc, tm) + tc; bi, AG and RS alike:
// t1 + (N/2-1) max(2 tc, tm) + 2 tc, where t1 is the prologue (epilogue), which has the links to itself. Two chains and
// top_down: the recurrence of the core program, core = max(core, arrival of the Done) + einsum.
#include <fmt/format.h>

#include "schedule/looped_build.hpp"
#include "schedule/phase_time.hpp"

namespace overlap::looped {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs, Pattern::agk_gemm};

LoopShape shape_of(const ScheduleContext& ctx) {
  LoopShape s;
  s.pattern = ctx.workload.pattern;
  s.ranks = ctx.workload.tp;
  s.bi = ctx.params.text("direction") == "bi" && s.ranks > 1;
  const bool chains = s.scatters() && !s.bi && s.ranks > 1;
  s.chains = chains ? count(ctx, "chains") : 1;
  s.carries = ctx.params.integer("unroll") == 1;
  return s;
}

PlacementPolicy policy_of(const ScheduleContext& ctx) {
  return ctx.params.text("placement") == "top_down" ? PlacementPolicy::top_down : PlacementPolicy::bottom_up;
}

// GEMM that the core runs at once, and the shard that a permute moves.
GemmShape einsum_shape(const Workload& w, const LoopShape& s) {
  GemmShape g = local_gemm(w, 0);
  if (w.pattern == Pattern::agk_gemm) {
    g.k = piece(w.in, w.tp, 0).size;
  } else {
    g.m = piece(w.tokens, w.tp, 0).size * (s.bi ? 2 : 1);
  }
  return g;
}
Bytes shard_bytes(const Workload& w) {
  const double rows = piece(w.tokens, w.tp, 0).size;
  if (w.pattern == Pattern::agk_gemm) return size_of(w.wire) * (double(w.tokens) * double(piece(w.in, w.tp, 0).size));
  return size_of(w.wire) * (rows * double(w.pattern == Pattern::ag_gemm ? w.in : w.out));
}

// The placement's estimates: FLOPs over peak, bytes over the slowest link of the ring.
LoopProgram program_of(const ScheduleContext& ctx, const LoopShape& s) {
  const Workload& w = ctx.workload;
  const Device& d = ctx.devices[0];
  const double einsum = (local_gemm(w, 0).flops() / d.peak_of(w.operand)).si() / w.tp;
  double hop = 0;
  const Comm comm = comm_of(ctx, 1);
  for (const DeviceId from : comm.ring) {
    if (w.tp == 1) break;
    hop = std::max(hop, (shard_bytes(w) / ctx.topology.route_bandwidth(from, comm.next(from))).si());
  }
  return loop_program(s, policy_of(ctx), count(ctx, "in_flight"), einsum, hop);
}

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  if (auto r = refuse_common(ctx, kPatterns)) return r;
  const LoopShape s = shape_of(ctx);
  if (s.ranks % 2 == 0) return std::nullopt;
  if (s.bi) return Refusal{RefusalKind::degree, "two streams need an even number of devices"};
  if (s.chains == 2) return Refusal{RefusalKind::degree, "two accumulator chains need an even number of devices"};
  return std::nullopt;
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const LoopShape s = shape_of(ctx);
  return build_loop(b, ctx, in, s, program_of(ctx, s));
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const Workload& w = ctx.workload;
  if (w.tp == 1) return ClosedForm{times.gemm(local_gemm(w, 0), false), "Tcomp", "one device", true};
  const LoopShape s = shape_of(ctx);
  const Comm comm = comm_of(ctx, 1);
  const auto phase = [&](std::uint32_t hops, bool both) {
    std::vector<std::pair<DeviceId, DeviceId>> flows;
    flows.reserve(2 * comm.ring.size());
    for (const DeviceId d : comm.ring) flows.emplace_back(d, comm.next(d, hops));
    for (const DeviceId d : comm.ring)
      if (both) flows.emplace_back(d, comm.previous(d, hops));
    return phase_time(ctx.topology, times, flows, shard_bytes(w));
  };
  const PhaseTime alone = phase(1, false);
  const PhaseTime t = phase(s.chains, s.bi);
  const Seconds g = times.gemm(einsum_shape(w, s), w.pattern == Pattern::agk_gemm);
  const std::uint32_t divided = w.pattern == Pattern::agk_gemm ? w.in : w.tokens;
  const auto budget = ctx.params.integer("in_flight");
  const bool equal = divided % w.tp == 0 && alone.uniform && t.uniform;
  const char* assumes = "equal shards, ranks in step, adds and copies free";
  if (s.chains == 1 && policy_of(ctx) == PlacementPolicy::bottom_up && (budget == 0 || budget > (s.bi ? 1 : 0))) {
    const Seconds step = g * (s.einsum_per_stream() ? 2.0 : 1.0);
    const Seconds end = (s.bi ? alone.time : Seconds()) + (s.steps() - 1.0) * std::max(step, t.time) + step;
    return ClosedForm{end, s.bi ? "t1 + (N/2-1) max(2 tc, tm) + 2 tc" : "(N-1) max(tc, tm) + tc", assumes, equal};
  }
  const Seconds end = run_program(
      program_of(ctx, s), g, [&](const Permute& p) { return p.role == Permute::Role::loop ? t.time : alone.time; });
  // Streams that share links slow each other while both are under way.
  const bool apart = s.bi ? t.time <= alone.time * (1 + 1e-12) : s.chains == 1 || t.time <= g;
  return ClosedForm{end, "core = max(core, arrival of the Done) + einsum", assumes, equal && apart};
}

std::vector<ParamInfo> params() {
  ParamInfo direction = choice_param(
      "direction", "one stream round the ring, or two with a prologue (AG) or epilogue (RS)", "bi", {"uni", "bi"});
  ParamInfo placement =
      choice_param("placement", "where permutes are issued and waited for: listed backwards, or forwards", "bottom_up",
                   {"bottom_up", "top_down"});
  placement.search.clear();
  return {direction,
          integer_param("unroll", "steps", "steps in a loop body; 2 does without copies of the carried buffer", 2, 1, 2,
                        {}),
          integer_param("chains", "chains", "GEMM+RS, uni: accumulators that circulate; two move two hops at once", 1,
                        1, 2, {1, 2}),
          placement,
          integer_param("in_flight", "permutes", "permutes of a device that may be under way; 0 = any number", 0, 0,
                        4096, {}),
          mover_param(false, "dma"),
          ctas_param(),
          spare_sms_param()};
}

}  // namespace
}  // namespace overlap::looped

namespace overlap {

ScheduleInfo looped_schedule() {
  return {.name = "looped_einsum",
          .summary = "a loop of permutes between ring neighbours, each beside an einsum; one or two streams",
          .source = "Wang et al., ASPLOS 2023; XLA windowed einsum",
          .patterns = looped::kPatterns,
          .params = looped::params(),
          .refuses = looped::refuses,
          .build = looped::build,
          .closed_form = looped::closed_form};
}

}  // namespace overlap
