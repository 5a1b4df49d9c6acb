// Library collectives, not overlapped: the collective, then the GEMM (or the GEMM, then the collective), with the
// algorithm by name. `form` says how the algorithm is stated: `composed` of transfers and sums as the library's kernels
// move them, or `priced` as one Collective op whose algorithm the cost model knows (its table, where there is one).
//
//   ring      P-1 hops of a shard round the ring (all-reduce: reduce-scatter, then all-gather)
//   one_shot  every rank sends to every other at once; all-reduce: the whole partial sum, each rank adds all
//   two_shot  all-reduce as direct reduce-scatter and direct all-gather; elsewhere the same as one_shot
//   nvls      the switch multiplies what a rank sends once (all-gather) or adds what all send (reduce)
//   hierarchical  priced only; composed it is the schedule of that name
//
// Closed form, `composed`: Tcomp + the phases of the algorithm, each P-1 hops round the ring or all pairs at once
// (with one-directional links of rate b: ring (P-1) S/b, direct S/b on a full mesh; one-shot all-reduce moves P/2 times
// the bytes of two-shot in one step less). In the switch a port still takes in (sends) P-1 pieces of a gather (reduce):
// behind one switch that is as long as all pairs at once. `priced` has none: its time is the cost model's own number.
// Source: NCCL and RCCL (ring, NVLS); one-shot and two-shot all-reduce of TensorRT-LLM and vLLM.
#include <array>

#include "schedule/phase_time.hpp"
#include "schedule/signalled.hpp"

namespace overlap::collectives {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs, Pattern::gemm_ar};

bool priced(const ScheduleContext& ctx) {
  return ctx.params.text("form") == "priced";
}

CollectiveAlgorithm algorithm_of(const std::string& name) {
  if (name == "ring") return CollectiveAlgorithm::ring;
  if (name == "one_shot") return CollectiveAlgorithm::one_shot;
  if (name == "two_shot") return CollectiveAlgorithm::two_shot;
  if (name == "nvls") return CollectiveAlgorithm::nvls;
  return CollectiveAlgorithm::hierarchical;
}

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  if (auto r = refuse_common(ctx, kPatterns)) return r;
  const CollectiveAlgorithm a = algorithm_of(ctx.params.text("algorithm"));
  if (a == CollectiveAlgorithm::nvls && !ctx.topology.capabilities().in_switch_multicast) {
    return Refusal{RefusalKind::capability, "no switch of this topology multicasts or reduces"};
  }
  if (a == CollectiveAlgorithm::hierarchical && !priced(ctx)) {
    return Refusal{RefusalKind::capability, "composed of transfers it is the schedule 'hierarchical'"};
  }
  return std::nullopt;
}

struct Library {
  GraphBuilder& b;
  const ScheduleContext& ctx;
  CollectiveAlgorithm algorithm;
  Comm comm;
  [[nodiscard]] std::uint32_t ranks() const { return ctx.workload.tp; }
  [[nodiscard]] Extent share(std::uint32_t r) const { return piece(ctx.workload.tokens, ranks(), r); }
  [[nodiscard]] OpId whole(CollectiveKind kind, std::span<const Slice> reads, std::span<const Slice> writes,
                           std::span<const Dep> deps, std::string_view name) const {
    std::vector<LaneId> lanes;
    for (std::uint32_t r = 0; r < ranks(); ++r) lanes.push_back(comm_lane(b, DeviceId(r)));
    return b.collective(lanes, {kind, algorithm, comm.channels}, reads, writes, {.deps = deps, .label = b.label(name)});
  }
};

Library library_of(GraphBuilder& b, const ScheduleContext& ctx) {
  Library l{b, ctx, algorithm_of(ctx.params.text("algorithm")), comm_of(ctx, ctx.workload.tp)};
  l.comm.path = l.algorithm == CollectiveAlgorithm::ring ? Path::ring : Path::direct;
  l.comm.transfer.mover = Mover::sm;
  const std::uint32_t ctas = count(ctx, "ctas");
  // A ring keeps one lane busy; the others share the blocks among a lane a peer.
  l.comm.lanes =
      l.comm.path == Path::ring || l.algorithm == CollectiveAlgorithm::nvls ? 1 : std::max(1U, l.ranks() - 1);
  l.comm.transfer.ctas = static_cast<std::uint16_t>(std::max(1U, ctas / l.comm.lanes));
  return l;
}

// ---- all-gather, then GEMM -----------------------------------------------------------------------------------------

// Rows of every owner on every rank: `from[o]` goes to the same rows of `to[h]`. Returns by holder what to wait for.
std::vector<std::vector<Dep>> gather(const Library& l, const std::vector<std::vector<Slice>>& from,
                                     const std::vector<std::vector<Dep>>& ready, const std::vector<Slice>& to) {
  const std::uint32_t p = l.ranks();
  std::vector<std::vector<Dep>> out(p);
  if (l.algorithm == CollectiveAlgorithm::nvls) {
    Transfer t = l.comm.transfer;
    t.fan = Fan::multicast;
    t.ways = static_cast<std::uint16_t>(p - 1);
    for (std::uint32_t o = 0; o < p; ++o) {
      if (l.share(o).size == 0) continue;
      std::vector<Slice> writes;
      for (std::uint32_t h = 0; h < p; ++h) {
        if (h != o) writes.push_back({to[h].buffer, to[h].row + l.share(o).begin, l.share(o).size, 0, to[h].cols});
      }
      const OpId op = l.b.transfer(comm_lane(l.b, DeviceId(o)), t, from[o], writes,
                                   {.deps = ready[o], .label = l.b.label("multicast rows of {}", o)});
      for (std::uint32_t h = 0; h < p; ++h) {
        if (h != o) out[h].push_back({op, {}});
      }
    }
    return out;
  }
  Arrivals arrivals(p);
  GatherPlan plan;
  plan.from = from;
  plan.ready = ready;
  plan.to = to;
  plan.label = l.b.label("rows of {} to {}");
  all_gather(l.b, l.comm, plan, arrivals);
  for (std::uint32_t h = 0; h < p; ++h) {
    for (std::uint32_t o = 0; o < p; ++o) {
      if (const Dep& d = arrivals.at(DeviceId(h), DeviceId(o)); d.op.valid()) out[h].push_back(d);
    }
  }
  return out;
}

std::vector<Tensor> gather_layer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Library l = library_of(b, ctx);
  const std::uint32_t p = l.ranks();
  GatherLayer layer(b, ctx, in);
  std::vector<std::vector<Dep>> arrived(p);
  std::vector<std::vector<Slice>> from(p);
  std::vector<std::vector<Dep>> ready(p);
  for (std::uint32_t r = 0; r < p; ++r) {
    from[r] = layer.source(DeviceId(r), l.share(r));
    ready[r] = in.x[r].ready;
  }
  const bool by_library = priced(ctx) && p > 1;
  if (p > 1) {
    std::vector<Slice> to;
    std::vector<Slice> reads;
    std::vector<Dep> deps;
    for (std::uint32_t r = 0; r < p; ++r) {
      to.push_back(layer.landing(DeviceId(r), {0, ctx.workload.tokens}));
      reads.insert(reads.end(), from[r].begin(), from[r].end());
      deps.insert(deps.end(), ready[r].begin(), ready[r].end());
    }
    if (by_library) {
      arrived.assign(p, {{l.whole(CollectiveKind::all_gather, reads, to, deps, "all-gather"), {}}});
    } else {
      arrived = gather(l, from, ready, to);
    }
  }
  for (std::uint32_t r = 0; r < p; ++r) {
    std::vector<Dep> waits = ready[r];
    waits.insert(waits.end(), arrived[r].begin(), arrived[r].end());
    layer.gemm_whole(DeviceId(r), std::move(waits), b.label("GEMM"), by_library);
  }
  return layer.take_outputs();
}

// ---- GEMM, then reduce-scatter or all-reduce -----------------------------------------------------------------------

// Sums into the owner's rows of its result; by owner the op that completes them.
std::vector<OpId> scatter(const Library& l, ScatterLayer& layer, const std::vector<OpId>& gemm) {
  const std::uint32_t p = l.ranks();
  std::vector<OpId> done(p);
  if (l.algorithm == CollectiveAlgorithm::nvls) {
    Transfer t = l.comm.transfer;
    t.fan = Fan::reduce;
    t.ways = static_cast<std::uint16_t>(p);
    std::vector<Dep> deps;
    for (const OpId op : gemm) deps.push_back({op, {}});
    for (std::uint32_t o = 0; o < p; ++o) {
      if (l.share(o).size == 0) continue;
      std::vector<Slice> reads;
      for (std::uint32_t r = 0; r < p; ++r) reads.push_back(layer.partial(DeviceId(r), l.share(o)));
      done[o] = l.b.transfer(comm_lane(l.b, DeviceId(o)), t, reads, std::array{layer.result(DeviceId(o), l.share(o))},
                             {.deps = deps, .label = l.b.label("reduce rows of {} in the switch", o)});
    }
    return done;
  }
  ReducePlan plan;
  plan.label = l.b.label("partial of {} to {}");
  for (std::uint32_t r = 0; r < p; ++r) {
    plan.partial.push_back(layer.partial(DeviceId(r), {0, l.ctx.workload.tokens}));
    plan.to.push_back(layer.result(DeviceId(r), l.share(r)));
    for (std::uint32_t o = 0; o < p; ++o) plan.ready.push_back({{gemm[r], {}}});
  }
  reduce_scatter(l.b, l.comm, plan, l.ctx.workload.wire, done);
  return done;
}

// Every rank gets every other's whole partial sum and adds them all.
void one_shot_all_reduce(const Library& l, ScatterLayer& layer, const std::vector<OpId>& gemm) {
  const std::uint32_t p = l.ranks();
  const Extent all{0, l.ctx.workload.tokens};
  for (std::uint32_t h = 0; h < p; ++h) {
    std::vector<Slice> reads{layer.partial(DeviceId(h), all)};
    std::vector<Dep> deps{{gemm[h], {}}};
    for (std::uint32_t shift = 1; shift < p; ++shift) {
      const DeviceId from = l.comm.previous(DeviceId(h), shift);
      const Slice land = layer.scratch(DeviceId(h), all.size);
      const std::array ready{Dep{gemm[from.index()], {}}};
      const OpId op =
          copy_rows(l.b, comm_lane(l.b, from, shift - 1), l.comm.transfer, std::array{layer.partial(from, all)}, land,
                    ready, l.b.label("partial sum of {} to {}", from.v, h));
      reads.push_back(land);
      deps.push_back({op, {}});
    }
    const OpId sum =
        l.b.elementwise(comm_lane(l.b, DeviceId(h), p), {.kind = ElementwiseKind::add}, reads,
                        std::array{layer.result(DeviceId(h), all)}, {.deps = deps, .label = l.b.label("add all")});
    layer.done(DeviceId(h), sum);
  }
}

std::vector<Tensor> scatter_layer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Library l = library_of(b, ctx);
  const std::uint32_t p = l.ranks();
  ScatterLayer layer(b, ctx, in);
  const Extent all{0, ctx.workload.tokens};
  std::vector<OpId> gemm;
  for (std::uint32_t r = 0; r < p; ++r) {
    const DeviceId d(r);
    gemm.push_back(layer.gemm(d, {all, layer.cols(), {}}, b.label("GEMM"), compute_lane(b, d)));
  }
  if (p == 1) return layer.take_outputs();
  if (priced(ctx)) {
    std::vector<Slice> reads;
    std::vector<Slice> writes;
    std::vector<Dep> deps;
    for (std::uint32_t r = 0; r < p; ++r) {
      reads.push_back(layer.partial(DeviceId(r), all));
      writes.push_back(layer.result(DeviceId(r), layer.reduces_all() ? all : l.share(r)));
      deps.push_back({gemm[r], {}});
    }
    const OpId op = layer.reduces_all()
                        ? l.whole(CollectiveKind::all_reduce, reads, writes, deps, "all-reduce")
                        : l.whole(CollectiveKind::reduce_scatter, reads, writes, deps, "reduce-scatter");
    for (std::uint32_t r = 0; r < p; ++r) layer.done(DeviceId(r), op);
    return layer.take_outputs();
  }
  if (layer.reduces_all() && l.algorithm == CollectiveAlgorithm::one_shot) {
    one_shot_all_reduce(l, layer, gemm);
    return layer.take_outputs();
  }
  const std::vector<OpId> done = scatter(l, layer, gemm);
  std::vector<std::vector<Slice>> from(p);
  std::vector<std::vector<Dep>> ready(p);
  std::vector<Slice> to(p);
  for (std::uint32_t r = 0; r < p; ++r) {
    if (!done[r].valid()) continue;
    layer.done(DeviceId(r), done[r]);
    ready[r] = {{done[r], {}}};
  }
  if (!layer.reduces_all()) return layer.take_outputs();
  for (std::uint32_t r = 0; r < p; ++r) {
    if (l.share(r).size > 0) from[r] = {layer.result(DeviceId(r), l.share(r))};
    to[r] = layer.result(DeviceId(r), all);
  }
  const auto arrived = gather(l, from, ready, to);
  for (std::uint32_t r = 0; r < p; ++r) {
    for (const Dep& d : arrived[r]) layer.done(DeviceId(r), d.op);
  }
  return layer.take_outputs();
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  return ctx.workload.pattern == Pattern::ag_gemm ? gather_layer(b, ctx, in) : scatter_layer(b, ctx, in);
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const Workload& w = ctx.workload;
  const Seconds comp = times.gemm(local_gemm(w, 0), false);
  if (w.tp == 1) return ClosedForm{comp, "Tcomp", "one device", true};
  if (priced(ctx)) return std::nullopt;
  const CollectiveAlgorithm a = algorithm_of(ctx.params.text("algorithm"));
  const bool all_reduce = w.pattern == Pattern::gemm_ar;
  const bool whole = all_reduce && a == CollectiveAlgorithm::one_shot;
  const double rows = whole ? w.tokens : piece(w.tokens, w.tp, 0).size;
  const Bytes each = size_of(w.wire) * (rows * double(w.pattern == Pattern::ag_gemm ? w.in : w.out));
  const Comm comm = comm_of(ctx, w.tp);
  const PhaseTime phase = a == CollectiveAlgorithm::ring ? ring_phase(ctx.topology, times, comm, each)
                                                         : direct_phase(ctx.topology, times, comm, each);
  return ClosedForm{comp + phase.time * (all_reduce && !whole ? 2.0 : 1.0),
                    all_reduce && !whole ? "Tcomp + 2 Tphase" : "Tcomp + Tphase",
                    "equal shards, ranks in step, adds free; nvls: one switch", phase.uniform && w.tokens % w.tp == 0};
}

}  // namespace
}  // namespace overlap::collectives

namespace overlap {

ScheduleInfo collectives_schedule() {
  return {.name = "collectives",
          .summary = "no overlap, with the library's algorithm by name, composed of transfers or priced as one op",
          .source = "NCCL and RCCL (ring, NVLS); one-shot and two-shot all-reduce of inference libraries",
          .patterns = collectives::kPatterns,
          .params = {blocks::choice_param("algorithm", "how the library moves the data", "ring",
                                          {"ring", "one_shot", "two_shot", "nvls", "hierarchical"}),
                     blocks::choice_param("form", "transfers and sums, or one op that the cost model knows", "composed",
                                          {"composed", "priced"}),
                     blocks::ctas_param(), blocks::channels_param()},
          .refuses = collectives::refuses,
          .build = collectives::build,
          .closed_form = collectives::closed_form};
}

}  // namespace overlap
