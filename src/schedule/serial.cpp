// Serial: the collective, then the GEMM (or the GEMM, then the collective). What Megatron-LM runs without overlap; the
// baseline of every paper here. X gathered along its columns needs a kernel that puts the blocks side by side.
//
// Closed form: T = T_comp + T_comm.
#include "schedule/decomposed.hpp"

namespace overlap::serial {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs, Pattern::agk_gemm};

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  return refuse_common(ctx, kPatterns);
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const std::uint32_t p = ctx.workload.tp;
  const Stages stages{1, comm_of(ctx, p > 1 ? p - 1 : 1)};
  if (ctx.workload.pattern == Pattern::agk_gemm) return gather_columns(b, ctx, in, stages.comm);
  return ctx.workload.pattern == Pattern::ag_gemm ? gather_stages(b, ctx, in, stages)
                                                  : scatter_stages(b, ctx, in, stages);
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const StageTime comm = stage_collective(ctx, times, 1, 0);
  const Seconds comp = times.gemm(local_gemm(ctx.workload, 0), false);
  return ClosedForm{comp + comm.time, "Tcomp + Tcomm", "equal shards, ranks in step", comm.exact};
}

}  // namespace
}  // namespace overlap::serial

namespace overlap {

ScheduleInfo serial_schedule() {
  return {.name = "serial",
          .summary = "collective, then GEMM (or GEMM, then collective): no overlap",
          .source = "Megatron-LM tensor parallelism; baseline of Compass (arXiv 2609.10549)",
          .patterns = serial::kPatterns,
          .params = {blocks::mover_param(true, "library"), blocks::path_param(), blocks::ctas_param(),
                     blocks::channels_param()},
          .refuses = serial::refuses,
          .build = serial::build,
          .closed_form = serial::closed_form};
}

}  // namespace overlap
