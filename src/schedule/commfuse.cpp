// CommFuse (arXiv 2604.24013; its first version was titled FlashOverlap, not to be confused with Infinigence's): the
// collective becomes peer-to-peer exchanges of slices, so that no slice's communication is left without compute.
//   TPSP  AG+GEMM: own slice first while the peers' arrive. GEMM+RS: the other ranks' slices first, own slice last.
//   UP    all-to-all of Ulysses before the output projection: own block of columns first, GEMMs accumulate along K.
//   DP    gather of parameters, reduce-scatter of gradients: the graphs of TPSP with the parameter (gradient) in the
//         place of X (Y), so a workload of that shape is all it takes.
// The paper does not say how UP's exchange is divided; blocks by owner are our choice. `chunks` cuts each remote slice
// further (one GEMM and one transfer a piece). Exact up to the order of summation; the volume is unchanged.
//
// Closed form (derived): AG and UP (n-1) max(tc, tm) + tc; RS max(n tc, tc + (n-1) tm). Nothing is exposed iff
// tm <= tc, while d data slices expose Tcomm/d even when compute dominates: the tail that the method removes.
#include "schedule/p2p.hpp"

namespace overlap::commfuse {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs, Pattern::a2a_gemm};

Comm comm_for(const ScheduleContext& ctx) {
  const std::uint32_t peers = ctx.workload.tp > 1 ? ctx.workload.tp - 1 : 1;
  const std::uint32_t limit = count(ctx, "in_flight");
  return comm_of(ctx, limit == 0 ? peers : std::min(limit, peers));
}

std::uint32_t chunks(const ScheduleContext& ctx) {
  return count(ctx, "chunks");
}

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  return refuse_common(ctx, kPatterns);
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Comm comm = comm_for(ctx);
  switch (ctx.workload.pattern) {
    case Pattern::gemm_rs:
      return p2p_scatter(b, ctx, in, comm, chunks(ctx));
    case Pattern::a2a_gemm:
      return p2p_exchange(b, ctx, in, comm, chunks(ctx));
    default:
      return p2p_gather(b, ctx, in, comm, chunks(ctx));
  }
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  return p2p_closed_form(ctx, times, comm_for(ctx), chunks(ctx));
}

}  // namespace
}  // namespace overlap::commfuse

namespace overlap {

ScheduleInfo commfuse_schedule() {
  return {.name = "commfuse",
          .summary = "slices between peers, a GEMM a slice: own slice first (gather) or last (scatter)",
          .source = "CommFuse (arXiv 2604.24013), TPSP, UP and DP",
          .patterns = commfuse::kPatterns,
          .params = {blocks::integer_param("chunks", "pieces", "pieces of each remote slice", 1, 1, 4096, {1, 2, 4}),
                     blocks::integer_param("in_flight", "peers", "peers that a rank exchanges with at once; 0 = all", 1,
                                           0, 4096, {1, 0}),
                     blocks::mover_param(false, "dma"), blocks::ctas_param(), blocks::spare_sms_param()},
          .refuses = commfuse::refuses,
          .build = commfuse::build,
          .closed_form = commfuse::closed_form};
}

}  // namespace overlap
