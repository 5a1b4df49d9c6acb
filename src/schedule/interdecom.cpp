// InterDecom(d): layer cut along the tokens in d stages; the collective of one stage runs beside the GEMM of another.
// Compass (arXiv 2609.10549) section "decomposition"; Megatron-LM and MindSpeed CoC call it data slicing.
//
// Closed form: T(d) = (d-1) max(Tcomp/d, Tcomm/d) + Tcomp/d + Tcomm/d, here with the pieces' own times, so that unequal
// pieces and pieces less efficient than the whole are priced as they are. Compass multiplies the first term with
// eta(d) = alpha d + beta (select.hpp).
#include <algorithm>

#include "schedule/decomposed.hpp"

namespace overlap::interdecom {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs};

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  return refuse_common(ctx, kPatterns);
}

std::uint32_t degree(const ScheduleContext& ctx) {
  return count(ctx, "d");
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const std::uint32_t p = ctx.workload.tp;
  const Stages stages{degree(ctx), comm_of(ctx, p > 1 ? p - 1 : 1)};
  return ctx.workload.pattern == Pattern::ag_gemm ? gather_stages(b, ctx, in, stages)
                                                  : scatter_stages(b, ctx, in, stages);
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const Workload& w = ctx.workload;
  const std::uint32_t d = degree(ctx);
  Seconds first;   // end of the stage's first op: the collective of AG+GEMM, the GEMM of GEMM+RS
  Seconds second;  // end of its second op
  bool exact = true;
  for (std::uint32_t i = 0; i < d; ++i) {
    if (stage_rows(w, d, i) == 0) continue;
    const StageTime comm = stage_collective(ctx, times, d, i);
    const Seconds comp = times.gemm(stage_gemm(w, d, i, 0), false);
    const bool gathers = w.pattern == Pattern::ag_gemm;
    first += gathers ? comm.time : comp;
    second = std::max(first, second) + (gathers ? comp : comm.time);
    exact = exact && comm.exact;
  }
  return ClosedForm{second, "(d-1) max(Tcomp/d, Tcomm/d) + (Tcomp + Tcomm)/d",
                    "equal shards, ranks in step, no contention between GEMM and transfers", exact};
}

}  // namespace
}  // namespace overlap::interdecom

namespace overlap {

ScheduleInfo interdecom_schedule() {
  return {.name = "interdecom",
          .summary = "d stages: the collective of one stage beside the GEMM of another",
          .source = "Compass (arXiv 2609.10549), decomposition; Megatron-LM data slicing",
          .patterns = interdecom::kPatterns,
          .params = {blocks::integer_param("d", "stages", "stages that the tokens are cut into", 4, 1, 4096, {2, 4, 8}),
                     blocks::mover_param(true, "dma"), blocks::path_param(), blocks::ctas_param(),
                     blocks::channels_param(), blocks::spare_sms_param()},
          .refuses = interdecom::refuses,
          .build = interdecom::build,
          .closed_form = interdecom::closed_form};
}

}  // namespace overlap
