#include "schedule/signalled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "schedule/phase_time.hpp"

namespace overlap::blocks {
namespace {

// Ranks at distance 1, 2, ... of each other in ring order.
struct Shifts {
  explicit Shifts(const ScheduleContext& ctx) : comm(ring_comm(ctx)) {}
  Comm comm;
  static Comm ring_comm(const ScheduleContext& ctx) {
    Comm c;
    c.ranks = ctx.workload.tp;
    c.ring = ctx.topology.ring_order(c.ranks);
    c.position.resize(c.ranks);
    for (std::uint32_t i = 0; i < c.ranks; ++i) c.position[c.ring[i].index()] = i;
    return c;
  }
};

}  // namespace

std::vector<Tensor> signalled_gather(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in,
                                     const Signalled& s) {
  const Workload& w = ctx.workload;
  const Comm ring = Shifts(ctx).comm;
  GatherLayer layer(b, ctx, in);
  std::vector<std::vector<std::pair<DeviceId, PartWant>>> parts(w.tp);
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const auto ready = layer.ready(DeviceId(r));
    const Extent own = piece(w.tokens, w.tp, r);
    if (own.size > 0) parts[r].push_back({DeviceId(r), {own, layer.cols(DeviceId(r)), {ready.begin(), ready.end()}}});
  }
  const Label label = b.label("rows of {} to {}");
  for (std::uint32_t shift = 1; shift < w.tp; ++shift) {
    for (std::uint32_t c = 0; c < s.signals; ++c) {
      for (std::uint32_t o = 0; o < w.tp; ++o) {
        const DeviceId owner(o);
        const DeviceId holder = ring.next(owner, shift);
        const Extent rows = chunk_rows(w, s.signals, o, c);
        if (rows.size == 0) continue;
        Label l = label;
        l.a = o;
        l.b = holder.v;
        const LaneId lane = comm_lane(b, s.pull ? holder : owner, (shift - 1) % s.lanes);
        const OpId op =
            copy_rows(b, lane, s.how, layer.source(owner, rows), layer.landing(holder, rows), layer.ready(owner), l);
        parts[holder.index()].push_back({owner, {rows, layer.cols(holder), {{op, {}}}}});
      }
    }
  }
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    layer.fused(DeviceId(r), parts[r], s.order, b.label("fused GEMM"), s.gemm_sms);
  }
  return layer.take_outputs();
}

std::vector<Tensor> signalled_scatter(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in,
                                      const Signalled& s) {
  const Workload& w = ctx.workload;
  const Comm ring = Shifts(ctx).comm;
  ScatterLayer layer(b, ctx, in);
  std::vector<std::vector<PartWant>> parts(w.tp);
  std::vector<OpId> gemm;
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    for (std::uint32_t shift = 1; shift <= w.tp; ++shift) {
      const DeviceId owner = ring.next(DeviceId(r), shift % w.tp);
      for (std::uint32_t c = 0; c < s.signals; ++c) {
        const Extent rows = chunk_rows(w, s.signals, owner.v, c);
        if (rows.size > 0) parts[r].push_back({rows, layer.cols(), {}});
      }
    }
    gemm.push_back(layer.fused(DeviceId(r), parts[r], s.order, b.label("fused GEMM"), s.gemm_sms));
  }
  if (w.tp == 1) return layer.take_outputs();
  const auto done = [&](std::uint32_t r, Extent rows) {
    std::size_t i = 0;
    while (parts[r][i].rows.begin != rows.begin) ++i;
    return part_of(b, gemm[r], i);
  };
  const Label move = b.label("partial of {} to {}");
  const Label add = b.label("add rows of {}");
  // Landings by owner and chunk, in the order of the shifts.
  std::vector<std::vector<Slice>> reads(std::size_t{w.tp} * s.signals);
  std::vector<std::vector<Dep>> arrived(reads.size());
  for (std::uint32_t shift = 1; shift < w.tp; ++shift) {
    for (std::uint32_t c = 0; c < s.signals; ++c) {
      for (std::uint32_t r = 0; r < w.tp; ++r) {
        const DeviceId owner = ring.next(DeviceId(r), shift);
        const Extent rows = chunk_rows(w, s.signals, owner.v, c);
        if (rows.size == 0) continue;
        Label l = move;
        l.a = r;
        l.b = owner.v;
        const Slice land = layer.scratch(owner, rows.size);
        const std::array ready{done(r, rows)};
        const OpId op = copy_rows(b, comm_lane(b, DeviceId(r), (shift - 1) % s.lanes), s.how,
                                  std::array{layer.partial(DeviceId(r), rows)}, land, ready, l);
        reads[owner.v * s.signals + c].push_back(land);
        arrived[owner.v * s.signals + c].push_back({op, {}});
      }
    }
  }
  for (std::uint32_t c = 0; c < s.signals; ++c) {
    for (std::uint32_t o = 0; o < w.tp; ++o) {
      const Extent rows = chunk_rows(w, s.signals, o, c);
      if (rows.size == 0) continue;
      const DeviceId d(o);
      auto& stack = reads[o * s.signals + c];
      auto& deps = arrived[o * s.signals + c];
      stack.push_back(layer.partial(d, rows));
      deps.push_back(done(o, rows));
      Label l = add;
      l.a = o;
      const OpId sum = b.elementwise(comm_lane(b, d, s.lanes), {.kind = ElementwiseKind::add}, stack,
                                     std::array{layer.result(d, rows)}, {.deps = deps, .label = l});
      layer.done(d, sum);
      for (std::uint32_t shift = 1; shift < w.tp && layer.reduces_all(); ++shift) {
        const DeviceId holder = ring.next(d, shift);
        const OpId op =
            copy_rows(b, comm_lane(b, d, (shift - 1) % s.lanes), s.how, std::array{layer.result(d, rows)},
                      layer.result(holder, rows), std::array{Dep{sum, {}}}, b.label("sum of {} to {}", o, holder.v));
        layer.done(holder, op);
      }
    }
  }
  return layer.take_outputs();
}

std::vector<Tensor> signalled_layer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in,
                                    const Signalled& s) {
  return ctx.workload.pattern == Pattern::ag_gemm ? signalled_gather(b, ctx, in, s) : signalled_scatter(b, ctx, in, s);
}

namespace {

using Flows = std::vector<std::pair<DeviceId, DeviceId>>;

void add_shift(const Comm& ring, std::uint32_t shift, Flows& flows) {
  for (const DeviceId d : ring.ring) flows.emplace_back(d, ring.next(d, shift));
}

ClosedForm gather_form(const ScheduleContext& ctx, const PieceTimes& times, const Signalled& s, Bytes shard,
                       bool exact) {
  const Workload& w = ctx.workload;
  const Comm ring = Shifts(ctx).comm;
  const Seconds tc = times.gemm(local_gemm(w, 0), false) / double(w.tp);
  std::vector<Release> parts{{Seconds(), tc}};
  Seconds before;
  Flows flows;
  for (std::uint32_t shift = 1; shift < w.tp; ++shift) {
    add_shift(ring, shift, flows);
    if (shift % s.lanes != 0 && shift + 1 != w.tp) continue;
    const PhaseTime t = phase_time(ctx.topology, times, flows, shard);
    exact = exact && t.uniform;
    const std::size_t shifts = flows.size() / w.tp;
    for (std::size_t i = 0; i < shifts; ++i)
      for (std::uint32_t c = 0; c < s.signals; ++c)
        parts.push_back({before + t.time * ((c + 1.0) / s.signals), tc / double(s.signals)});
    before += t.time;
    flows.clear();
  }
  Seconds end;
  if (s.order == PartOrder::fixed) {
    for (const Release& p : parts) end = std::max(end, p.at) + p.work;
  } else {
    end = end_of(parts);
  }
  return {end, "f = max(f, arrival) + tc/signals over the parts", "equal shards and chunks, ranks in step", exact};
}

ClosedForm scatter_form(const ScheduleContext& ctx, const PieceTimes& times, const Signalled& s, Bytes shard,
                        bool exact) {
  const Workload& w = ctx.workload;
  const Comm ring = Shifts(ctx).comm;
  const Seconds part = times.gemm(local_gemm(w, 0), false) / (double(w.tp) * s.signals);
  const Seconds together = direct_phase(ctx.topology, times, ring, shard).time;
  std::vector<Seconds> lane(w.tp);
  std::vector<Seconds> sum(s.signals);
  std::vector<Seconds> copy(w.tp);
  double done = 0;
  for (std::uint32_t shift = 1; shift < w.tp; ++shift) {
    Flows flows;
    add_shift(ring, shift, flows);
    const PhaseTime t = phase_time(ctx.topology, times, flows, shard);
    exact = exact && t.uniform && together <= t.time * (1 + 1e-12);
    copy[shift] = t.time / double(s.signals);
    for (std::uint32_t c = 0; c < s.signals; ++c) {
      lane[shift] = std::max(lane[shift], part * ++done) + copy[shift];
      sum[c] = std::max(sum[c], lane[shift]);
    }
  }
  Seconds end;
  for (std::uint32_t c = 0; c < s.signals; ++c) {
    sum[c] = std::max(sum[c], part * ++done);
    end = std::max(end, sum[c]);
    for (std::uint32_t shift = 1; shift < w.tp && w.pattern == Pattern::gemm_ar; ++shift) {
      lane[shift] = std::max(lane[shift], sum[c]) + copy[shift];
      end = std::max(end, lane[shift]);
    }
  }
  return {end, "each chunk leaves behind its part and its lane, the sum waits for all",
          "equal shards and chunks, ranks in step, adds free, peers share nothing", exact};
}

}  // namespace

std::optional<ClosedForm> signalled_closed_form(const ScheduleContext& ctx, const PieceTimes& times,
                                                const Signalled& s) {
  const Workload& w = ctx.workload;
  if (w.tp == 1) return ClosedForm{times.gemm(local_gemm(w, 0), false), "Tcomp", "one device", true};
  if (s.how.mover == Mover::remote_store) return std::nullopt;
  const bool gathers = w.pattern == Pattern::ag_gemm;
  const bool exact = w.tokens % (w.tp * s.signals) == 0;
  const Bytes shard = size_of(w.wire) * (double(piece(w.tokens, w.tp, 0).size) * double(gathers ? w.in : w.out));
  return gathers ? gather_form(ctx, times, s, shard, exact) : scatter_form(ctx, times, s, shard, exact);
}

std::optional<Refusal> refuse_few_tokens(const ScheduleContext& ctx) {
  const Workload& w = ctx.workload;
  if (w.tokens >= w.tp) return std::nullopt;
  return Refusal{RefusalKind::degree, fmt::format("{} tokens for {} ranks: each needs one", w.tokens, w.tp)};
}

}  // namespace overlap::blocks
