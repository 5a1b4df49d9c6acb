// Tile signalling as Triton-distributed (arXiv 2504.19442) and TileLink (arXiv 2503.20313) write it: communication is a
// kernel (or copies) of its own, and GEMM tiles wait for or set flags in memory that all ranks see.
//
// The graph is that of flux with other movers; what differs: partial sums leave by copies (copy engine or thread
// blocks), not by the GEMM's own stores; tiles that are not ready are skipped, not spun on; GEMM+AR sends each finished
// sum on to all (two-shot by tiles).
#include "schedule/signalled.hpp"

namespace overlap::tile_signal {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs, Pattern::gemm_ar};

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  return refuse_common(ctx, kPatterns);
}

Signalled signalled_of(const ScheduleContext& ctx) {
  const std::uint32_t peers = ctx.workload.tp > 1 ? ctx.workload.tp - 1 : 1;
  const Comm comm = comm_of(ctx, peers);
  Signalled s;
  s.signals = count(ctx, "signals");
  s.pull = ctx.params.text("copies") == "pull";
  s.lanes = peers;
  s.how = comm.transfer;
  s.gemm_sms = gemm_sms(ctx, comm, DeviceId(0U));
  return s;
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  return signalled_layer(b, ctx, in, signalled_of(ctx));
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  return signalled_closed_form(ctx, times, signalled_of(ctx));
}

}  // namespace
}  // namespace overlap::tile_signal

namespace overlap {

ScheduleInfo tile_signal_schedule() {
  return {.name = "tile_signal",
          .summary = "GEMM tiles wait for or set flags, copies beside it move what is flagged",
          .source = "Triton-distributed (arXiv 2504.19442); TileLink (arXiv 2503.20313)",
          .patterns = tile_signal::kPatterns,
          .params = {blocks::integer_param("signals", "signals", "flags a shard", 4, 1, 256, {1, 4, 8}),
                     blocks::choice_param("copies", "AG+GEMM: who copies, the owner or the holder", "pull",
                                          {"push", "pull"}),
                     blocks::mover_param(false, "dma"), blocks::ctas_param()},
          .refuses = tile_signal::refuses,
          .build = tile_signal::build,
          .closed_form = tile_signal::closed_form};
}

}  // namespace overlap
