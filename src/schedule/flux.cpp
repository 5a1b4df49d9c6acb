// Flux (arXiv 2406.06858): one GEMM kernel a rank. AG+GEMM: the host copies tiles with the copy engines (pull or push)
// and sets flags; thread blocks spin on the flag of their tile, so the order is fixed. GEMM+RS: the epilogue writes
// each tile straight to its owner with remote stores; the sum is a kernel of its own.
//
// The graph is that of intrafusion variant=all_to_all; what differs: several signals a shard, copies by the holder
// (pull) where asked, spinning thread blocks (fixed order), and with GEMM+RS remote stores instead of copies. The
// stores leave a lane of their own: what they hold up in the kernel is the matter of schedule x_stage.
//
// Closed form: AG+GEMM, signalled.hpp. GEMM+RS has none: stores of several peers share one tank, whose level decides.
//
// Check against its published table: 8 L20, 4096 x 6144 x 12288, GEMM 5.75 ms, fused 5.90 ms (tests/schedule).
#include "schedule/signalled.hpp"

namespace overlap::flux {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs};

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  return refuse_common(ctx, kPatterns);
}

Signalled signalled_of(const ScheduleContext& ctx) {
  Signalled s;
  s.signals = count(ctx, "signals");
  s.pull = ctx.params.text("copies") == "pull";
  s.lanes = ctx.workload.tp > 1 ? ctx.workload.tp - 1 : 1;
  const std::uint32_t in_flight = count(ctx, "in_flight");
  if (in_flight > 0 && in_flight < s.lanes) s.lanes = in_flight;
  if (ctx.workload.pattern == Pattern::ag_gemm) {
    s.order = PartOrder::fixed;
  } else {
    s.how.mover = Mover::remote_store;
  }
  return s;
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  return signalled_layer(b, ctx, in, signalled_of(ctx));
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  return signalled_closed_form(ctx, times, signalled_of(ctx));
}

}  // namespace
}  // namespace overlap::flux

namespace overlap {

ScheduleInfo flux_schedule() {
  return {.name = "flux",
          .summary = "one kernel: tiles spin on flags of copies, or store straight to the owner",
          .source = "Flux (arXiv 2406.06858), sections 3 and 4",
          .patterns = flux::kPatterns,
          .params = {blocks::integer_param("signals", "signals", "flags a shard", 4, 1, 256, {1, 4, 8}),
                     blocks::choice_param("copies", "AG+GEMM: who copies, the owner or the holder", "pull",
                                          {"push", "pull"}),
                     blocks::integer_param("in_flight", "peers", "peers a rank exchanges with at once; 0 = all", 0, 0,
                                           4096, {0, 1})},
          .refuses = flux::refuses,
          .build = flux::build,
          .closed_form = flux::closed_form};
}

}  // namespace overlap
