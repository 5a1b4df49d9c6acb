#include "schedule/two_level.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace overlap::blocks {

namespace {

using Order = std::vector<DeviceId>;

// The slowest hop round the ring.
Bandwidth ring_rate(const Topology& topology, const Order& ring) {
  Bandwidth least(1e300);
  for (std::size_t i = 0; i < ring.size(); ++i)
    least = std::min(least, topology.route_bandwidth(ring[i], ring[(i + 1) % ring.size()]));
  return least;
}

// Members by the places of their nearest partners in the group before.
Order mirrored(const Topology& topology, const Order& before, Order members) {
  std::sort(members.begin(), members.end());
  Order out;
  for (const DeviceId b : before) {
    const auto near = std::min_element(members.begin(), members.end(), [&](DeviceId x, DeviceId y) {
      return topology.route(b, x).size() < topology.route(b, y).size();
    });
    out.push_back(*near);
    members.erase(near);
  }
  return out;
}

// A ring of the group in which partners are near those of the group before: its own ring, turned either way, or the
// mirror image of the other where that is as fast.
Order facing(const Topology& topology, const Order& before, const Order& members) {
  const std::size_t n = members.size();
  if (before.size() != n || n == 1) return members;
  std::vector<Order> candidates;
  for (const bool reversed : {false, true}) {
    for (std::size_t turn = 0; turn < n; ++turn) {
      Order turned;
      for (std::size_t i = 0; i < n; ++i) turned.push_back(members[(reversed ? n - i + turn : i + turn) % n]);
      candidates.push_back(std::move(turned));
    }
  }
  Order image = mirrored(topology, before, members);
  if (ring_rate(topology, image) >= ring_rate(topology, members)) candidates.push_back(std::move(image));
  const auto hops = [&](const Order& o) {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += topology.route(before[i], o[i]).size();
    return sum;
  };
  return *std::min_element(candidates.begin(), candidates.end(),
                           [&](const Order& a, const Order& b) { return hops(a) < hops(b); });
}

}  // namespace

Groups groups_of(const ScheduleContext& ctx) {
  std::map<std::uint32_t, std::vector<DeviceId>> by_group;
  for (const DeviceId d : ctx.topology.ring_order(ctx.workload.tp)) by_group[ctx.topology.group_of(d)].push_back(d);
  Groups g;
  g.place.resize(ctx.workload.tp);
  for (auto& [id, members] : by_group) {
    if (!g.ranks.empty()) members = facing(ctx.topology, g.ranks.back(), members);
    for (std::uint32_t i = 0; i < members.size(); ++i) {
      g.place[members[i].index()] = {static_cast<std::uint32_t>(g.ranks.size()), i};
    }
    g.ranks.push_back(std::move(members));
  }
  return g;
}

Extent ring_rows(const Workload& w, const TwoLevel& o, DeviceId owner, std::uint32_t c, std::uint32_t ring) {
  const Extent whole = chunk_rows(w, o.chunks, owner.v, c);
  const Extent part = piece(whole.size, o.rings, ring);
  return {whole.begin + part.begin, part.size};
}

namespace {

constexpr std::uint32_t kForward = 0;  // communication lanes
constexpr std::uint32_t kBackward = 1;
constexpr std::uint32_t kCross = 2;

class Gather {
 public:
  Gather(GraphBuilder& b, const Workload& w, const Groups& g, const TwoLevel& o, GatherStore store)
      : b_(b), w_(w), g_(g), o_(o), store_(std::move(store)), label_(b.label("rows of {} to {}")) {}

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
  const TwoLevel& o_;
  GatherStore store_;
  Label label_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Dep> have_;
};

class Reduce {
 public:
  Reduce(GraphBuilder& b, const ScheduleContext& ctx, const Groups& g, const TwoLevel& o, ScatterLayer& layer,
         const PartialReady& ready)
      : b_(b),
        ctx_(ctx),
        w_(ctx.workload),
        g_(g),
        o_(o),
        layer_(layer),
        ready_(ready),
        move_(b.label("sum of {} to {}")),
        add_(b.label("add rows of {}")) {}

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
          const Sum mine{layer_.partial(at, want), ready_(at, want)};
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
  const TwoLevel& o_;
  ScatterLayer& layer_;
  const PartialReady& ready_;
  Label move_;
  Label add_;
  std::vector<Sum> last_hop_{std::vector<Sum>(w_.tp)};
};

}  // namespace

void two_level_gather(GraphBuilder& b, const Workload& w, const Groups& g, const TwoLevel& o, GatherStore store,
                      const Arrived& arrived) {
  Gather(b, w, g, o, std::move(store)).run(arrived);
}

std::vector<OpId> two_level_reduce(GraphBuilder& b, const ScheduleContext& ctx, const Groups& g, const TwoLevel& o,
                                   ScatterLayer& layer, const PartialReady& ready, std::uint32_t c,
                                   std::uint32_t ring) {
  return Reduce(b, ctx, g, o, layer, ready).run(c, ring);
}

}  // namespace overlap::blocks
