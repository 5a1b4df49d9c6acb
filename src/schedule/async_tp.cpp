// Async-TP of PyTorch: the layer in as many pieces as ranks, over symmetric memory. AG+GEMM: a rank starts with its own
// shard, then pulls shard after shard from its peers and multiplies each; pulls and GEMMs of one shard follow each
// other in one stream, and shards alternate between two streams, so that one stream pulls while the other computes.
// GEMM+RS: partial sums for the peers are computed in two streams in turn and each is sent from its stream; then one
// add.
//
// What differs from commfuse, the nearest family: copies and GEMMs share their streams, so a stream's next pull waits
// for its GEMM (two streams: one pull in flight beside one GEMM); no lane is for communication alone.
//
// Source: PyTorch SymmetricMemory micro-pipelined TP (torch.ops.symm_mem.fused_all_gather_matmul), streams recalled.
#include <array>

#include "schedule/signalled.hpp"

namespace overlap {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs};

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  return refuse_common(ctx, kPatterns);
}

// The stream of step k: the compute lane or the backend lane beside it.
LaneId stream(GraphBuilder& b, DeviceId d, std::uint32_t k) {
  return k % 2 == 0 ? compute_lane(b, d) : b.lane(d, 1, "second stream");
}

std::vector<Tensor> gather_layer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Workload& w = ctx.workload;
  GatherLayer layer(b, ctx, in);
  for (std::uint32_t k = 0; k < w.tp; ++k) {
    for (std::uint32_t r = 0; r < w.tp; ++r) {
      const DeviceId d(r);
      const DeviceId owner((r + k) % w.tp);
      const Extent rows = piece(w.tokens, w.tp, owner.v);
      if (rows.size == 0) continue;
      const LaneId lane = stream(b, d, k);
      const auto ready = layer.ready(owner);
      std::vector<Dep> waits(ready.begin(), ready.end());
      if (k > 0) {
        const OpId pull = copy_rows(b, lane, {}, layer.source(owner, rows), layer.landing(d, rows), waits,
                                    b.label("pull shard {}", owner.v));
        waits = {{pull, {}}};
      }
      layer.gemm(d, owner, {rows, layer.cols(d), waits}, b.label("GEMM shard {}", owner.v), lane);
    }
  }
  return layer.take_outputs();
}

std::vector<Tensor> scatter_layer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Workload& w = ctx.workload;
  ScatterLayer layer(b, ctx, in);
  std::vector<std::vector<Slice>> reads(w.tp);
  std::vector<std::vector<Dep>> deps(w.tp);
  for (std::uint32_t k = 1; k <= w.tp; ++k) {
    for (std::uint32_t r = 0; r < w.tp; ++r) {
      const DeviceId d(r);
      const DeviceId owner((r + k) % w.tp);
      const Extent rows = piece(w.tokens, w.tp, owner.v);
      if (rows.size == 0) continue;
      const LaneId lane = stream(b, d, k - 1);
      const OpId gemm = layer.gemm(d, {rows, layer.cols(), {}}, b.label("GEMM rows of {}", owner.v), lane);
      Slice part = layer.partial(d, rows);
      Dep there{gemm, {}};
      if (owner != d) {
        const Slice land = layer.scratch(owner, rows.size);
        there = {copy_rows(b, lane, {}, std::array{part}, land, std::array{there}, b.label("send rows of {}", owner.v)),
                 {}};
        part = land;
      }
      reads[owner.index()].push_back(part);
      deps[owner.index()].push_back(there);
    }
  }
  for (std::uint32_t r = 0; r < w.tp && w.tp > 1; ++r) {
    const Extent rows = piece(w.tokens, w.tp, r);
    if (rows.size == 0) continue;
    layer.done(DeviceId(r), b.elementwise(compute_lane(b, DeviceId(r)), {.kind = ElementwiseKind::add}, reads[r],
                                          std::array{layer.result(DeviceId(r), rows)},
                                          {.deps = deps[r], .label = b.label("add all")}));
  }
  return layer.take_outputs();
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  return ctx.workload.pattern == Pattern::ag_gemm ? gather_layer(b, ctx, in) : scatter_layer(b, ctx, in);
}

}  // namespace

ScheduleInfo async_tp_schedule() {
  return {.name = "async_tp",
          .summary = "pull (or send) and multiply shard by shard, in two streams in turn",
          .source = "PyTorch async-TP over SymmetricMemory",
          .patterns = kPatterns,
          .params = {},
          .refuses = refuses,
          .build = build,
          .closed_form = nullptr};
}

}  // namespace overlap
