// Hierarchical: across groups (NUMA nodes, boxes) each byte crosses once a group, inside a group it goes round a ring.
//
// AG+GEMM: rank i of a group passes its shard, cut in chunks, to rank i of the next group (two groups: partners swap
// across the slow link); meanwhile each group sends its own shards round its ring, then, chunk by chunk, those that
// came in. The GEMM takes rows as they arrive. GEMM+RS is the mirror image: a group sums its part of another group's
// rows round its ring, and only the sum crosses. GEMM+AR does both.
//
// Closed form, two groups of s ranks, AG of m bytes with the crossing link as bottleneck, no GEMM to wait for at the
// end: m/2 over the crossing rate plus the ring of the last chunk, (s-1) m/(2s chunks) over the ring's rate. A single
// ring over all ranks crosses with 7/8 of the bytes and reaches 8/7 of the crossing rate; this reaches 32/19 in one
// chunk at (PCIe, crossing) = (4, 1), 1.829, 1.910, 1.954 in 2, 4, 8. The cut allows 2. Source: library practice
// (two-level collectives); the NUMA box and its bound from Compass (arXiv 2609.10549).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "schedule/signalled.hpp"

namespace overlap {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs, Pattern::gemm_ar};

constexpr std::uint32_t kForward = 0;  // communication lanes
constexpr std::uint32_t kBackward = 1;
constexpr std::uint32_t kCross = 2;

// Groups of equal size, members in ring order: ranks[group][place].
struct Groups {
  std::vector<std::vector<DeviceId>> ranks;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> place;  // by rank: group, place
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(ranks.size()); }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ranks[0].size()); }
  [[nodiscard]] DeviceId at(std::uint32_t g, std::uint32_t i) const { return ranks[g % count()][i % size()]; }
};

Groups groups_of(const ScheduleContext& ctx) {
  std::map<std::uint32_t, std::vector<DeviceId>> by_group;
  for (const DeviceId d : ctx.topology.ring_order(ctx.workload.tp)) by_group[ctx.topology.group_of(d)].push_back(d);
  Groups g;
  g.place.resize(ctx.workload.tp);
  for (auto& [id, members] : by_group) {
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      g.place[members[i].index()] = {static_cast<std::uint32_t>(g.ranks.size()), i};
    }
    g.ranks.push_back(std::move(members));
  }
  return g;
}

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

struct Options {
  std::uint32_t chunks = 1;
  std::uint32_t rings = 1;
  Transfer how;
};

Options options(const ScheduleContext& ctx, const Groups& groups) {
  Options o;
  // Chunks let what has crossed go round while the rest crosses: with one group nothing crosses.
  o.chunks = groups.count() == 1 ? 1 : static_cast<std::uint32_t>(ctx.params.integer("chunks"));
  o.rings = ctx.workload.tp > 2 ? static_cast<std::uint32_t>(ctx.params.integer("rings")) : 1;
  o.how = comm_of(ctx, 3).transfer;
  return o;
}

// Rows of chunk c of an owner that travel in ring direction `ring`.
Extent ring_rows(const Workload& w, const Options& o, DeviceId owner, std::uint32_t c, std::uint32_t ring) {
  const Extent whole = chunk_rows(w, o.chunks, owner.v, c);
  const Extent part = piece(whole.size, o.rings, ring);
  return {whole.begin + part.begin, part.size};
}

// ---- gathering -----------------------------------------------------------------------------------------------------

// Where rows are on a rank and since when; what gathering needs of the layer.
struct Store {
  std::function<std::vector<Slice>(DeviceId holder, DeviceId owner, Extent rows)> read;
  std::function<Slice(DeviceId holder, Extent rows)> write;
  std::function<std::vector<Dep>(DeviceId owner, std::uint32_t chunk)> ready;
};

class Gather {
 public:
  Gather(GraphBuilder& b, const Workload& w, const Groups& g, const Options& o, Store store)
      : b_(b), w_(w), g_(g), o_(o), store_(std::move(store)), label_(b.label("rows of {} to {}")) {}

  // Called for each arrival, in an order that is near that of time: holder, owner, rows, op.
  using Arrived = std::function<void(DeviceId, DeviceId, Extent, Dep)>;
  void run(const Arrived& arrived) {
    for (std::uint32_t c = 0; c < o_.chunks; ++c) spread(0, c, arrived);
    for (std::uint32_t c = 0; c < o_.chunks; ++c) {
      for (std::uint32_t hop = 1; hop < g_.count(); ++hop) {
        cross(hop, c, arrived);
        spread(hop, c, arrived);
      }
    }
  }

 private:
  // Key: holder, first row.
  std::vector<Dep> deps(DeviceId holder, DeviceId owner, std::uint32_t c, Extent rows) const {
    if (holder == owner) return store_.ready(owner, c);
    const auto it = have_.find({holder.v, rows.begin});
    if (it != have_.end()) return {it->second};
    return {have_.at({holder.v, chunk_rows(w_, o_.chunks, owner.v, c).begin})};
  }
  void send(DeviceId from, DeviceId to, DeviceId owner, std::uint32_t c, Extent rows, std::uint32_t lane,
            const Arrived& arrived) {
    if (rows.size == 0) return;
    Label l = label_;
    l.a = owner.v;
    l.b = to.v;
    const OpId op = copy_rows(b_, comm_lane(b_, from, lane), o_.how, store_.read(from, owner, rows),
                              store_.write(to, rows), deps(from, owner, c, rows), l);
    have_[{to.v, rows.begin}] = {op, {}};
    arrived(to, owner, rows, {op, {}});
  }
  // Shards `hop` groups away go one group further.
  void cross(std::uint32_t hop, std::uint32_t c, const Arrived& arrived) {
    for (std::uint32_t g = 0; g < g_.count(); ++g) {
      for (std::uint32_t i = 0; i < g_.size(); ++i) {
        const DeviceId owner = g_.at(g, i);
        send(g_.at(g + hop - 1, i), g_.at(g + hop, i), owner, c, chunk_rows(w_, o_.chunks, owner.v, c), kCross,
             arrived);
      }
    }
  }
  // Round the rings of each group: the shards of the group `hop` before it.
  void spread(std::uint32_t hop, std::uint32_t c, const Arrived& arrived) {
    const std::uint32_t s = g_.size();
    for (std::uint32_t step = 0; step + 1 < s; ++step) {
      for (std::uint32_t ring = 0; ring < o_.rings; ++ring) {
        const std::uint32_t turn = ring == 0 ? 1 : s - 1;
        for (std::uint32_t g = 0; g < g_.count(); ++g) {
          for (std::uint32_t i = 0; i < s; ++i) {
            const DeviceId owner = g_.at(g, i);
            send(g_.at(g + hop, i + step * turn), g_.at(g + hop, i + (step + 1) * turn), owner, c,
                 ring_rows(w_, o_, owner, c, ring), ring == 0 ? kForward : kBackward, arrived);
          }
        }
      }
    }
  }

  GraphBuilder& b_;
  const Workload& w_;
  const Groups& g_;
  const Options& o_;
  Store store_;
  Label label_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Dep> have_;
};

std::vector<Tensor> gather_layer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Workload& w = ctx.workload;
  const Groups groups = groups_of(ctx);
  const Options o = options(ctx, groups);
  GatherLayer layer(b, ctx, in);
  std::vector<std::vector<std::pair<DeviceId, PartWant>>> parts(w.tp);
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const Extent own = piece(w.tokens, w.tp, r);
    const auto ready = layer.ready(DeviceId(r));
    if (own.size > 0) {
      parts[r].push_back({DeviceId(r), {own, layer.cols(DeviceId(r)), {ready.begin(), ready.end()}}});
    }
  }
  Store store;
  store.read = [&](DeviceId h, DeviceId owner, Extent rows) { return layer.at(h, owner, rows); };
  store.write = [&](DeviceId h, Extent rows) { return layer.landing(h, rows); };
  store.ready = [&](DeviceId owner, std::uint32_t) {
    const auto ready = layer.ready(owner);
    return std::vector<Dep>(ready.begin(), ready.end());
  };
  if (w.tp > 1) {
    Gather(b, w, groups, o, store).run([&](DeviceId h, DeviceId owner, Extent rows, Dep dep) {
      parts[h.index()].push_back({owner, {rows, layer.cols(h), {dep}}});
    });
  }
  const Label label = b.label("GEMM");
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    layer.fused(DeviceId(r), parts[r], PartOrder::ready, label, gemm_sms(ctx, comm_of(ctx, 3), DeviceId(r)));
  }
  return layer.take_outputs();
}

// ---- reducing ------------------------------------------------------------------------------------------------------

class Reduce {
 public:
  Reduce(GraphBuilder& b, const ScheduleContext& ctx, const Groups& g, const Options& o, ScatterLayer& layer)
      : b_(b),
        ctx_(ctx),
        w_(ctx.workload),
        g_(g),
        o_(o),
        layer_(layer),
        move_(b.label("sum of {} to {}")),
        add_(b.label("add rows of {}")) {}

  // Completion of the partial sum of these rows on a rank.
  std::function<Dep(DeviceId rank, Extent rows)> ready;

  // Chunk c of every owner, rows of one ring direction. Returns by owner the op that completes it (invalid: empty).
  std::vector<OpId> run(std::uint32_t c, std::uint32_t ring) {
    // Sums that cross come first: group g + hop sums the rows of group g for hop = 1 .. G-1, then 0.
    std::vector<Sum> crossing(w_.tp);
    for (std::uint32_t hop = 1; hop < g_.count(); ++hop) {
      std::vector<Sum> sums = ring_sums(hop, c, ring);
      for (std::uint32_t g = 0; g < g_.count(); ++g) {
        for (std::uint32_t i = 0; i < g_.size(); ++i) {
          const DeviceId owner = g_.at(g, i);
          Sum& s = sums[owner.index()];
          Sum& on_the_way = crossing[owner.index()];
          if (hop > 1) s = merge(s, on_the_way, g_.at(g + hop, i), owner);
          on_the_way = forward(s, g_.at(g + hop, i), g_.at(g + hop + 1, i), owner, kCross);
        }
      }
    }
    std::vector<Sum> own = ring_sums(0, c, ring);
    std::vector<OpId> out(w_.tp);
    for (std::uint32_t r = 0; r < w_.tp; ++r) {
      if (own[r].slice.rows == 0) continue;
      const Slice to = layer_.result(DeviceId(r), rows(DeviceId(r), c, ring));
      std::vector<Slice> reads{own[r].slice};
      std::vector<Dep> deps{own[r].dep};
      const auto take = [&](const Sum& s) {
        if (s.slice.rows == 0) return;
        reads.push_back(s.slice);
        deps.push_back(s.dep);
      };
      take(crossing[r]);
      take(last_hop_[r]);
      out[r] = b_.elementwise(add_lane(DeviceId(r)), add_work(DeviceId(r)), reads, std::array{to},
                              {.deps = deps, .label = numbered(add_, DeviceId(r), DeviceId(r))});
    }
    return out;
  }

 private:
  struct Sum {
    Slice slice;
    Dep dep;
  };
  [[nodiscard]] LaneId add_lane(DeviceId d) { return comm_lane(b_, d, kCross + 1); }
  [[nodiscard]] Elementwise add_work(DeviceId d) const {
    Elementwise e;
    e.kind = ElementwiseKind::add;
    e.ctas = static_cast<std::uint16_t>(reduce_sms(ctx_, d));
    return e;
  }
  [[nodiscard]] Extent rows(DeviceId owner, std::uint32_t c, std::uint32_t ring) const {
    return ring_rows(w_, o_, owner, c, ring);
  }
  static Label numbered(Label l, DeviceId a, DeviceId b) {
    l.a = a.v;
    l.b = b.v;
    return l;
  }
  Sum forward(const Sum& s, DeviceId from, DeviceId to, DeviceId owner, std::uint32_t lane) {
    if (s.slice.rows == 0) return {};
    const Slice land = layer_.scratch(to, s.slice.rows);
    const OpId op = copy_rows(b_, comm_lane(b_, from, lane), o_.how, std::array{s.slice}, land, std::array{s.dep},
                              numbered(move_, owner, to));
    return {land, {op, {}}};
  }
  // a + b on `at`, into b's place.
  Sum merge(const Sum& a, const Sum& b, DeviceId at, DeviceId owner) {
    if (b.slice.rows == 0) return a;
    const OpId op = b_.elementwise(add_lane(at), add_work(at), std::array{a.slice, b.slice}, std::array{b.slice},
                                   {.deps = std::array{a.dep, b.dep}, .label = numbered(add_, owner, at)});
    return {b.slice, {op, {}}};
  }
  // Round the ring of group g + hop: the sum of the rows of (g, i) over that group's ranks ends at place i. With hop 0
  // the last rank's own partial is left out of the sum: what arrives waits in last_hop_ for the final add.
  std::vector<Sum> ring_sums(std::uint32_t hop, std::uint32_t c, std::uint32_t ring) {
    const std::uint32_t s = g_.size();
    const std::uint32_t turn = ring == 0 ? 1 : s - 1;
    std::vector<Sum> sums(w_.tp);
    for (std::uint32_t step = 0; step < s; ++step) {
      for (std::uint32_t g = 0; g < g_.count(); ++g) {
        for (std::uint32_t i = 0; i < s; ++i) {
          const DeviceId owner = g_.at(g, i);
          const Extent want = rows(owner, c, ring);
          if (want.size == 0) continue;
          const DeviceId at = g_.at(g + hop, i + (step + 1) * turn);
          Sum& sum = sums[owner.index()];
          const Sum mine{layer_.partial(at, want), ready(at, want)};
          if (step == 0) {
            sum = mine;
            continue;
          }
          sum = forward(sum, g_.at(g + hop, i + step * turn), at, owner, ring == 0 ? kForward : kBackward);
          if (hop == 0 && step + 1 == s) {
            last_hop_[owner.index()] = sum;
            sum = mine;
          } else {
            sum = merge(mine, sum, at, owner);
          }
        }
      }
    }
    return sums;
  }

  GraphBuilder& b_;
  const ScheduleContext& ctx_;
  const Workload& w_;
  const Groups& g_;
  const Options& o_;
  ScatterLayer& layer_;
  Label move_;
  Label add_;
  std::vector<Sum> last_hop_{std::vector<Sum>(w_.tp)};
};

std::vector<Tensor> scatter_layer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Workload& w = ctx.workload;
  const Groups groups = groups_of(ctx);
  const Options o = options(ctx, groups);
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
  Reduce reduce(b, ctx, groups, o, layer);
  reduce.ready = [&](DeviceId r, Extent rows) { return done[r.index()].at(rows.begin); };
  std::vector<std::vector<Dep>> summed(std::size_t{w.tp} * o.chunks);
  for (std::uint32_t c = 0; c < o.chunks; ++c) {
    for (std::uint32_t ring = 0; ring < o.rings; ++ring) {
      const std::vector<OpId> ops = reduce.run(c, ring);
      for (std::uint32_t r = 0; r < w.tp; ++r) {
        if (!ops[r].valid()) continue;
        layer.done(DeviceId(r), ops[r]);
        summed[r * o.chunks + c].push_back({ops[r], {}});
      }
    }
  }
  if (layer.reduces_all()) {
    Store store;
    store.read = [&](DeviceId h, DeviceId, Extent rows) { return std::vector<Slice>{layer.result(h, rows)}; };
    store.write = [&](DeviceId h, Extent rows) { return layer.result(h, rows); };
    store.ready = [&](DeviceId owner, std::uint32_t c) { return summed[owner.index() * o.chunks + c]; };
    Gather(b, w, groups, o, store).run([&](DeviceId h, DeviceId, Extent, Dep dep) { layer.done(h, dep.op); });
  }
  return layer.take_outputs();
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  return ctx.workload.pattern == Pattern::ag_gemm ? gather_layer(b, ctx, in) : scatter_layer(b, ctx, in);
}

}  // namespace

ScheduleInfo hierarchical_schedule() {
  return {.name = "hierarchical",
          .summary = "across groups each byte once, then rings inside each group; the GEMM takes rows as they arrive",
          .source = "two-level collectives of libraries; NUMA box of Compass (arXiv 2609.10549)",
          .patterns = kPatterns,
          .params = {integer_param("chunks", "chunks",
                                   "chunks of a shard that cross one after another (one group: nothing crosses, 1)", 4,
                                   1, 256, {1, 2, 4, 8}),
                     integer_param("rings", "rings", "directions in use inside a group", 1, 1, 2, {1, 2}),
                     mover_param(false, "dma"), ctas_param(), reduce_sms_param()},
          .refuses = refuses,
          .build = build,
          .closed_form = nullptr};
}

}  // namespace overlap
