// Shard-level P2P overlap: the all-gather as n-1 steps that move one whole shard each, a GEMM a shard, own shard first.
// The baseline of FiCCO (arXiv 2512.10236): on a mesh each step uses one of the n-1 links of a device, so the exchange
// is n-1 times slower than one that uses all. `ring` hands shards on to the neighbour, `rotate` takes each from its
// owner.
//
// Closed form: (n-1) max(tc, tm) + tc with tm = one shard over one link; below serial while Tcomp/Tcomm < 48/7 on a
// mesh of eight.
#include "schedule/p2p.hpp"

namespace overlap::shard_p2p {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm};

Comm comm_for(const ScheduleContext& ctx) {
  Comm comm = comm_of(ctx, 1);
  comm.path = ctx.params.text("order") == "ring" ? Path::ring : Path::direct;
  return comm;
}

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  return refuse_common(ctx, kPatterns);
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  return p2p_gather(b, ctx, in, comm_for(ctx), 1);
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  return p2p_closed_form(ctx, times, comm_for(ctx), 1);
}

}  // namespace
}  // namespace overlap::shard_p2p

namespace overlap {

ScheduleInfo shard_p2p_schedule() {
  return {.name = "shard_p2p",
          .summary = "one whole shard from peer to peer a step, a GEMM a shard, own shard first",
          .source = "baseline of FiCCO (arXiv 2512.10236)",
          .patterns = shard_p2p::kPatterns,
          .params = {blocks::choice_param("order",
                                          "whole shards handed on round a ring, or taken from their owners in turn",
                                          "ring", {"ring", "rotate"}),
                     blocks::mover_param(false, "dma"), blocks::ctas_param(), blocks::spare_sms_param()},
          .refuses = shard_p2p::refuses,
          .build = shard_p2p::build,
          .closed_form = shard_p2p::closed_form};
}

}  // namespace overlap
