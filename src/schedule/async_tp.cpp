// Async-TP of PyTorch: the layer in as many pieces as ranks, over symmetric memory. AG+GEMM: a rank starts with its own
// shard, then pulls shard after shard from its peers and multiplies each; pulls and GEMMs of one shard follow each
// other in one stream, and shards alternate between two streams, so that one stream pulls while the other computes.
// GEMM+RS: step k computes the partial sum for rank r+k in the streams in turn, and once rank r-k has its partial for
// r, pulls that; own rows last, then one add. X lies in symmetric memory already (else one local copy more).
//
// What differs from commfuse, the nearest family: copies and GEMMs share their streams, so a stream's next pull waits
// for its GEMM (two streams: one pull in flight beside one GEMM); no lane is for communication alone. GEMMs of the two
// streams run together where SMs are free, so that the last, partly filled wave of one is filled by the next: on GPUs
// this is worth more than the overlap of the copies (a test takes it apart).
//
// Closed form (derived), pull u of a shard, GEMM c of one: the recurrence of two streams that share the GEMMs' SMs,
// start of GEMM k = max(end of GEMM k-1, end of its pull), its pull starts at the end of GEMM k-2 (in GEMM+RS the pull
// follows its GEMM, and GEMM k starts behind pull k-2). All is hidden iff u <= c. Exact where no two pulls share a link
// (u <= c, or a mesh).
//
// Source: PyTorch SymmetricMemory micro-pipelined TP (torch.ops.symm_mem.fused_all_gather_matmul and
// fused_matmul_reduce_scatter), streams recalled.
#include <algorithm>
#include <array>

#include "schedule/phase_time.hpp"
#include "schedule/signalled.hpp"

namespace overlap::async_tp {
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
    const bool own = k == w.tp;
    std::vector<OpId> gemm(w.tp);
    for (std::uint32_t r = 0; r < w.tp; ++r) {
      const DeviceId d(r);
      const DeviceId owner((r + k) % w.tp);
      const Extent rows = piece(w.tokens, w.tp, owner.v);
      if (rows.size == 0) continue;
      gemm[r] = layer.gemm(d, {rows, layer.cols(), {}}, b.label("GEMM rows of {}", owner.v), stream(b, d, own ? 0 : k));
    }
    for (std::uint32_t r = 0; r < w.tp; ++r) {
      const DeviceId d(r);
      const DeviceId from((r + w.tp - k % w.tp) % w.tp);
      const Extent rows = piece(w.tokens, w.tp, r);
      if (rows.size == 0) continue;
      Dep there{gemm[from.index()], {}};
      Slice part = layer.partial(from, rows);
      if (!own) {
        const Slice land = layer.scratch(d, rows.size);
        there = {copy_rows(b, stream(b, d, k), {}, std::array{part}, land, std::array{there},
                           b.label("pull partial of {}", from.v)),
                 {}};
        part = land;
      }
      reads[r].push_back(part);
      deps[r].push_back(there);
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

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const Workload& w = ctx.workload;
  GemmShape shape = local_gemm(w, 0);
  if (w.tp == 1) return ClosedForm{times.gemm(shape, false), "Tcomp", "one device", true};
  const bool gathers = w.pattern == Pattern::ag_gemm;
  shape.m = piece(w.tokens, w.tp, 0).size;
  const Bytes shard = size_of(w.wire) * (double(shape.m) * double(gathers ? w.in : w.out));
  const Seconds c = times.gemm(shape, false);
  std::array<Seconds, 2> stream_free{};
  Seconds core;
  Seconds end;
  bool exact = w.tokens % w.tp == 0;
  std::vector<std::pair<DeviceId, DeviceId>> all;
  std::vector<PhaseTime> pulls;
  for (std::uint32_t k = 1; k < w.tp; ++k) {
    std::vector<std::pair<DeviceId, DeviceId>> flows;
    for (std::uint32_t r = 0; r < w.tp; ++r)
      flows.emplace_back(DeviceId((gathers ? r + k : r + w.tp - k) % w.tp), DeviceId(r));
    pulls.push_back(phase_time(ctx.topology, times, flows, shard));
    all.insert(all.end(), flows.begin(), flows.end());
  }
  const Seconds together = phase_time(ctx.topology, times, all, shard).time;
  if (gathers) core = stream_free[0] = c;  // own shard
  for (std::uint32_t k = 1; k < w.tp; ++k) {
    const PhaseTime& u = pulls[k - 1];
    exact = exact && u.uniform && (u.time <= c || together <= u.time * (1 + 1e-12));
    Seconds& free = stream_free[k % 2];
    if (gathers) {
      free = core = std::max(core, free + u.time) + c;
    } else {
      core = std::max(core, free) + c;
      free = core + u.time;
      end = std::max(end, free);
    }
  }
  if (!gathers) core = std::max(core, stream_free[0]) + c;
  return ClosedForm{std::max(core, end), "recurrence of two streams; n c where u <= c",
                    "equal shards, ranks in step, adds free, no two pulls share a link", exact};
}

}  // namespace
}  // namespace overlap::async_tp

namespace overlap {

ScheduleInfo async_tp_schedule() {
  return {.name = "async_tp",
          .summary = "pull (or send) and multiply shard by shard, in two streams in turn",
          .source = "PyTorch async-TP over SymmetricMemory",
          .patterns = async_tp::kPatterns,
          .params = {},
          .refuses = async_tp::refuses,
          .build = async_tp::build,
          .closed_form = async_tp::closed_form};
}

}  // namespace overlap
