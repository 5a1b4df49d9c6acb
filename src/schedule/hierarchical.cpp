// Hierarchical: across groups (NUMA nodes, boxes) each byte crosses once a group, inside a group it goes round a ring.
//
// AG+GEMM: rank i of a group passes its shard, cut in chunks, to rank i of the next group (two groups: partners swap
// across the slow link); meanwhile each group sends its own shards round its ring, then, chunk by chunk, those that
// came in. The GEMM takes rows as they arrive. GEMM+RS is the mirror image: a group sums its part of another group's
// rows round its ring, and only the sum crosses. GEMM+AR does both.
//
// Closed form: the clocks of one rank's lanes, exact where rings and crossing share no link. In short, for two groups
// of s ranks, AG of m bytes with the crossing link as bottleneck, no GEMM to wait for at the end: m/2 over the crossing
// rate plus the ring of the last chunk, (s-1) m/(2s chunks) over the ring's rate. A single ring over all ranks crosses
// with 7/8 of the bytes and reaches 8/7 of the crossing rate; this reaches 32/19 in one chunk at (PCIe, crossing) = (4,
// 1), 1.829, 1.910, 1.954 in 2, 4, 8. The cut allows 2. Source: library practice (two-level collectives); the NUMA box
// and its bound from Compass (arXiv 2609.10549).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "schedule/phase_time.hpp"
#include "schedule/signalled.hpp"
#include "schedule/two_level.hpp"

namespace overlap::hierarchical {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs, Pattern::gemm_ar};

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  if (auto r = refuse_common(ctx, kPatterns)) return r;
  const Groups g = groups_of(ctx);
  for (const auto& members : g.ranks) {
    if (members.size() != g.size()) {
      return Refusal{
          RefusalKind::degree,
          fmt::format("groups of {} and of {} ranks: partners need groups of equal size", g.size(), members.size())};
    }
  }
  return std::nullopt;
}

TwoLevel options(const ScheduleContext& ctx, const Groups& groups) {
  TwoLevel o;
  // Chunks let what has crossed go round while the rest crosses: with one group nothing crosses.
  o.chunks = groups.count() == 1 ? 1 : count(ctx, "chunks");
  o.rings = ctx.workload.tp > 2 ? count(ctx, "rings") : 1;
  o.how = comm_of(ctx, 3).transfer;
  return o;
}

std::vector<Tensor> gather_layer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Workload& w = ctx.workload;
  const Groups groups = groups_of(ctx);
  const TwoLevel o = options(ctx, groups);
  GatherLayer layer(b, ctx, in);
  std::vector<std::vector<std::pair<DeviceId, PartWant>>> parts(w.tp);
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const Extent own = piece(w.tokens, w.tp, r);
    const auto ready = layer.ready(DeviceId(r));
    if (own.size > 0) {
      parts[r].push_back({DeviceId(r), {own, layer.cols(DeviceId(r)), {ready.begin(), ready.end()}}});
    }
  }
  GatherStore store;
  store.read = [&](DeviceId h, DeviceId owner, Extent rows) { return layer.at(h, owner, rows); };
  store.write = [&](DeviceId h, Extent rows) { return layer.landing(h, rows); };
  store.ready = [&](DeviceId owner, std::uint32_t) {
    const auto ready = layer.ready(owner);
    return std::vector<Dep>(ready.begin(), ready.end());
  };
  if (w.tp > 1) {
    two_level_gather(b, w, groups, o, store, [&](DeviceId h, DeviceId owner, Extent rows, Dep dep) {
      parts[h.index()].push_back({owner, {rows, layer.cols(h), {dep}}});
    });
  }
  const Label label = b.label("GEMM");
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    layer.fused(DeviceId(r), parts[r], PartOrder::ready, label, gemm_sms(ctx, comm_of(ctx, 3), DeviceId(r)));
  }
  return layer.take_outputs();
}

std::vector<Tensor> scatter_layer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Workload& w = ctx.workload;
  const Groups groups = groups_of(ctx);
  const TwoLevel o = options(ctx, groups);
  ScatterLayer layer(b, ctx, in);
  std::vector<OpId> gemm(w.tp);
  std::vector<std::map<std::uint32_t, Dep>> done(w.tp);  // by rank: first row of a piece -> its part
  const Label label = b.label("GEMM");
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const auto [mine, place] = groups.place[r];
    std::vector<PartWant> parts;
    // Rows of the groups that are farthest to travel first, the own group's last, within a ring the own rows last.
    for (std::uint32_t c = 0; c < o.chunks; ++c) {
      for (std::uint32_t hop = groups.count(); hop-- > 0;) {
        const std::uint32_t g = (mine + groups.count() - hop) % groups.count();
        for (std::uint32_t step = 0; step < groups.size(); ++step) {
          for (std::uint32_t ring = 0; ring < o.rings; ++ring) {
            const std::uint32_t turn = ring == 0 ? 1 : groups.size() - 1;
            const DeviceId owner = groups.at(g, place + groups.size() * turn - (step + 1) * turn);
            const Extent rows = ring_rows(w, o, owner, c, ring);
            if (rows.size > 0) parts.push_back({rows, layer.cols(), {}});
          }
        }
      }
    }
    gemm[r] = layer.fused(DeviceId(r), parts, PartOrder::ready, label,
                          without_reduce_sms(ctx, DeviceId(r), gemm_sms(ctx, comm_of(ctx, 3), DeviceId(r))));
    for (std::size_t i = 0; i < parts.size(); ++i) done[r][parts[i].rows.begin] = part_of(b, gemm[r], i);
  }
  if (w.tp == 1) return layer.take_outputs();
  const PartialReady ready = [&](DeviceId r, Extent rows) { return done[r.index()].at(rows.begin); };
  std::vector<std::vector<Dep>> summed(std::size_t{w.tp} * o.chunks);
  for (std::uint32_t c = 0; c < o.chunks; ++c) {
    for (std::uint32_t ring = 0; ring < o.rings; ++ring) {
      const std::vector<OpId> ops = two_level_reduce(b, ctx, groups, o, layer, ready, c, ring);
      for (std::uint32_t r = 0; r < w.tp; ++r) {
        if (!ops[r].valid()) continue;
        layer.done(DeviceId(r), ops[r]);
        summed[r * o.chunks + c].push_back({ops[r], {}});
      }
    }
  }
  if (layer.reduces_all()) {
    GatherStore store;
    store.read = [&](DeviceId h, DeviceId, Extent rows) { return std::vector<Slice>{layer.result(h, rows)}; };
    store.write = [&](DeviceId h, Extent rows) { return layer.result(h, rows); };
    store.ready = [&](DeviceId owner, std::uint32_t c) { return summed[owner.index() * o.chunks + c]; };
    two_level_gather(b, w, groups, o, store, [&](DeviceId h, DeviceId, Extent, Dep dep) { layer.done(h, dep.op); });
  }
  return layer.take_outputs();
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  return ctx.workload.pattern == Pattern::ag_gemm ? gather_layer(b, ctx, in) : scatter_layer(b, ctx, in);
}

// ---- closed form ---------------------------------------------------------------------------------------------------

// Dates of one rank when all are in step: each of its lanes is one clock.
struct Clocks {
  std::vector<Seconds> ring{2};  // by direction: the lane is free
  Seconds cross;
  Seconds add;
};
struct HopTimes {
  Seconds ring;   // one hop of a chunk's share of a direction
  Seconds cross;  // of a chunk
};

// Arrivals of chunks in the order of two_level_gather(); ready[c]: the own chunk is there. `piece`: GEMM of one chunk.
void gather_clocks(const Groups& g, const TwoLevel& o, const HopTimes& t, std::span<const Seconds> ready, Seconds piece,
                   Clocks& at, std::vector<Release>& arrivals) {
  const auto spread = [&](Seconds from) {
    for (std::uint32_t ring = 0; ring < o.rings; ++ring) {
      Seconds& free = at.ring[ring];
      free = std::max(free, from);
      for (std::uint32_t step = 1; step < g.size(); ++step) {
        free += t.ring;
        arrivals.push_back({free, piece / double(o.rings)});
      }
    }
  };
  for (std::uint32_t c = 0; c < o.chunks; ++c) spread(ready[c]);
  for (std::uint32_t c = 0; c < o.chunks; ++c) {
    Seconds there = ready[c];
    for (std::uint32_t hop = 1; hop < g.count(); ++hop) {
      there = at.cross = std::max(at.cross, there) + t.cross;
      arrivals.push_back({there, piece});
      spread(there);
    }
  }
}

// Dates of the sums of the own rows, by chunk, in the order of two_level_reduce(). `part`: GEMM of one part.
std::vector<Seconds> reduce_clocks(const Groups& g, const TwoLevel& o, const HopTimes& t, Seconds part, Clocks& at) {
  std::vector<Seconds> out(o.chunks);
  for (std::uint32_t c = 0; c < o.chunks; ++c) {
    for (std::uint32_t ring = 0; ring < o.rings; ++ring) {
      const auto done = [&](std::uint32_t hop, std::uint32_t step) {
        const std::uint32_t before = ((c * g.count() + g.count() - 1 - hop) * g.size() + step) * o.rings + ring;
        return part * (before + 1.0);
      };
      const auto add = [&](Seconds a, Seconds b) { return at.add = std::max({at.add, a, b}); };
      Seconds crossed;
      for (std::uint32_t hop = 1; hop < g.count(); ++hop) {
        Seconds sum = done(hop, 0);
        for (std::uint32_t step = 1; step < g.size(); ++step) {
          at.ring[ring] = std::max(at.ring[ring], sum) + t.ring;
          sum = add(at.ring[ring], done(hop, step));
        }
        if (hop > 1) sum = add(sum, crossed);
        crossed = at.cross = std::max(at.cross, sum) + t.cross / double(o.rings);
      }
      Seconds sum = done(0, 0);
      for (std::uint32_t step = 1; step < g.size(); ++step) {
        at.ring[ring] = std::max(at.ring[ring], sum) + t.ring;
        sum = at.ring[ring];
        if (step + 1 < g.size()) sum = add(sum, done(0, step));
      }
      out[c] = std::max(out[c], add(std::max(sum, crossed), done(0, g.size() - 1)));
    }
  }
  return out;
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const Workload& w = ctx.workload;
  const Seconds whole = times.gemm(local_gemm(w, 0), false);
  if (w.tp == 1) return ClosedForm{whole, "Tcomp", "one device", true};
  const Groups g = groups_of(ctx);
  const TwoLevel o = options(ctx, g);
  std::vector<std::pair<DeviceId, DeviceId>> there;
  std::vector<std::pair<DeviceId, DeviceId>> back;
  std::vector<std::pair<DeviceId, DeviceId>> cross;
  for (std::uint32_t group = 0; group < g.count(); ++group) {
    for (std::uint32_t i = 0; i < g.size(); ++i) {
      if (g.size() > 1) there.emplace_back(g.at(group, i), g.at(group, i + 1));
      if (g.size() > 1 && o.rings == 2) back.emplace_back(g.at(group, i + 1), g.at(group, i));
      if (g.count() > 1) cross.emplace_back(g.at(group, i), g.at(group + 1, i));
    }
  }
  const bool gathers = w.pattern == Pattern::ag_gemm;
  const Bytes chunk = size_of(w.wire) * (double(chunk_rows(w, o.chunks, 0, 0).size) * double(gathers ? w.in : w.out));
  std::vector<std::pair<DeviceId, DeviceId>> rings = there;
  rings.insert(rings.end(), back.begin(), back.end());
  const PhaseTime ring = phase_time(ctx.topology, times, rings, chunk / double(o.rings));
  const PhaseTime over = phase_time(ctx.topology, times, cross, chunk);
  const bool exact = w.tokens % (w.tp * o.chunks * o.rings) == 0 && ring.uniform && over.uniform &&
                     apart(ctx.topology, rings, cross) && apart(ctx.topology, there, back);
  const char* assumes = "equal chunks, ranks in step, adds free, rings and crossing share no link";
  const HopTimes t{ring.time, over.time};
  Clocks at;
  if (gathers) {
    std::vector<Release> parts{{Seconds(), whole / double(w.tp)}};
    gather_clocks(g, o, t, std::vector<Seconds>(o.chunks), whole / double(w.tp * o.chunks), at, parts);
    return ClosedForm{end_of(parts), "GEMM of the rows as they arrive by ring and crossing", assumes, exact};
  }
  const std::vector<Seconds> sums = reduce_clocks(g, o, t, whole / double(w.tp * o.chunks * o.rings), at);
  Seconds end = *std::max_element(sums.begin(), sums.end());
  if (w.pattern == Pattern::gemm_ar) {
    std::vector<Release> arrivals;
    gather_clocks(g, o, t, sums, Seconds(), at, arrivals);
    end = std::max(end, end_of(arrivals));
  }
  return ClosedForm{end, "sums pass rings and crossing behind the parts that they add", assumes, exact};
}

}  // namespace
}  // namespace overlap::hierarchical

namespace overlap {

ScheduleInfo hierarchical_schedule() {
  return {
      .name = "hierarchical",
      .summary = "across groups each byte once, then rings inside each group; the GEMM takes rows as they arrive",
      .source = "two-level collectives of libraries; NUMA box of Compass (arXiv 2609.10549)",
      .patterns = hierarchical::kPatterns,
      .params = {blocks::integer_param("chunks", "chunks",
                                       "chunks of a shard that cross one after another (one group: nothing crosses, 1)",
                                       4, 1, 256, {1, 2, 4, 8}),
                 blocks::integer_param("rings", "rings", "directions in use inside a group", 1, 1, 2, {1, 2}),
                 blocks::mover_param(false, "dma"), blocks::ctas_param(), blocks::reduce_sms_param()},
      .refuses = hierarchical::refuses,
      .build = hierarchical::build,
      .closed_form = hierarchical::closed_form};
}

}  // namespace overlap
