// A fused GEMM beside all-to-all copies with several signals a shard: the consumer's tiles wait for the flag of their
// rows (AG+GEMM), the producer's tiles set one (GEMM+RS, GEMM+AR). Flux and tile signalling are points of this.
#pragma once

#include "schedule/piecewise.hpp"

namespace overlap::blocks {

struct Signalled {
  std::uint32_t signals = 1;  // a shard
  bool pull = false;          // the holder copies, else the owner
  Transfer how;               // of AG copies and, with GEMM+RS, of partial sums
  std::uint32_t lanes = 1;    // communication lanes a device
  PartOrder order = PartOrder::ready;
  std::uint32_t gemm_sms = 0;  // 0 = all
};

std::vector<Tensor> signalled_gather(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in,
                                     const Signalled& s);
// With GEMM+AR the owner sends each finished piece to all.
std::vector<Tensor> signalled_scatter(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in,
                                      const Signalled& s);
// The one of the two that the pattern needs.
std::vector<Tensor> signalled_layer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in,
                                    const Signalled& s);

// AG+GEMM: shards of `lanes` peers at once, each in equal chunks; parts in the order of the kernel, or as they are
// ready. GEMM+RS and GEMM+AR by copies: each chunk leaves in its peer's lane when its part is done, sums follow.
// nullopt for remote stores, which a tank holds up.
std::optional<ClosedForm> signalled_closed_form(const ScheduleContext& ctx, const PieceTimes& times,
                                                const Signalled& s);

// Where each rank must have rows of its own: a degree refusal with fewer tokens than ranks.
std::optional<Refusal> refuse_few_tokens(const ScheduleContext& ctx);

}  // namespace overlap::blocks
