#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "cost/pricer.hpp"
#include "overlap/error.hpp"
#include "overlap/kernel_table.hpp"

namespace overlap::cost {
namespace {

std::string_view table_name(CollectiveKind k) {
  switch (k) {
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::all_to_all:
      return "all_to_all";
    case CollectiveKind::broadcast:
      break;
  }
  return "broadcast";
}

// The members in the ring order of the topology.
std::vector<DeviceId> ring_of(std::span<const DeviceId> members, const Topology& topo) {
  std::uint32_t last = 0;
  for (const DeviceId d : members) last = std::max(last, d.v);
  std::vector<DeviceId> ring;
  for (const DeviceId d : topo.ring_order(last + 1)) {
    if (std::find(members.begin(), members.end(), d) != members.end()) ring.push_back(d);
  }
  return ring;
}

void add_ring(CollectivePlan& plan, const std::vector<DeviceId>& ring, double bytes) {
  for (std::size_t i = 0; i < ring.size(); ++i) {
    plan.pairs.push_back({ring[i], ring[(i + 1) % ring.size()], bytes});
  }
}

void add_direct(CollectivePlan& plan, std::span<const DeviceId> members, double bytes) {
  for (const DeviceId a : members) {
    for (const DeviceId b : members) {
      if (a != b) plan.pairs.push_back({a, b, bytes});
    }
  }
}

}  // namespace

// Ring: n-1 steps (2(n-1) for all-reduce), each edge carries (n-1)/n of the buffer a pass. Direct: every pair its own
// piece, one step. NVLS: a member sends each byte once into the switch and gets each byte once out of it.
CollectivePlan plan_collective(CollectiveKind kind, CollectiveAlgorithm algorithm, std::span<const DeviceId> members,
                               const Topology& topo) {
  const double n = static_cast<double>(members.size());
  const auto steps = static_cast<std::uint32_t>(members.size() - 1);
  const bool reduce_all = kind == CollectiveKind::all_reduce;
  CollectivePlan plan;
  if (kind == CollectiveKind::all_to_all) {
    add_direct(plan, members, 1 / (n * n));
    return plan;
  }
  if (algorithm == CollectiveAlgorithm::nvls && topo.capabilities().in_switch_multicast) {
    const bool scatter = kind == CollectiveKind::reduce_scatter;
    plan.in_switch_up = kind == CollectiveKind::all_gather ? 1 / n : 1.0;
    plan.in_switch_down = scatter ? 1 / n : 1.0;
    plan.steps = reduce_all ? 2 : 1;
    return plan;
  }
  if (kind == CollectiveKind::broadcast) {
    std::vector<DeviceId> ring(members.begin(), members.end());
    for (std::size_t i = 0; i + 1 < ring.size(); ++i) plan.pairs.push_back({ring[i], ring[i + 1], 1.0});
    plan.steps = steps;
    return plan;
  }
  switch (algorithm) {
    case CollectiveAlgorithm::one_shot:
      add_direct(plan, members, reduce_all ? 1.0 : 1 / n);
      return plan;
    case CollectiveAlgorithm::direct:
    case CollectiveAlgorithm::two_shot:
      add_direct(plan, members, (reduce_all ? 2.0 : 1.0) / n);
      plan.steps = reduce_all ? 2 : 1;
      return plan;
    default:
      add_ring(plan, ring_of(members, topo), (reduce_all ? 2 : 1) * (n - 1) / n);
      plan.steps = reduce_all ? 2 * steps : steps;
      return plan;
  }
}

namespace {

// Time of a table at `bytes`: linear between knots, along the last segment beyond them, in proportion below them only
// as far as the first knot (a collective of no bytes still costs its start).
Seconds table_time(const CollectiveTable& t, Bytes bytes) {
  if (t.knots.size() == 1) return t.knots[0].time;
  std::size_t i = 1;
  while (i + 1 < t.knots.size() && t.knots[i].bytes < bytes) ++i;
  const CollectiveKnot& a = t.knots[i - 1];
  const CollectiveKnot& b = t.knots[i];
  const double x = std::max(0.0, (bytes - a.bytes) / (b.bytes - a.bytes));
  return a.time + (b.time - a.time) * x;
}

// Where a library collective's time comes from: one table, or two and the place between them.
struct TablePlace {
  const CollectiveTable* low = nullptr;   // nullptr: the device has no table for it
  const CollectiveTable* high = nullptr;  // of more channels, where `high_share` is above 0
  double high_share = 0;
  double stretch = 1;  // of what lies behind the start, with fewer channels than any table has
};

// What channels add to a time is in inverse proportion to their number (a channel moves bytes at its own rate).
TablePlace find_table(const Device& d, const Collective& c, std::size_t members, bool in_place) {
  std::vector<const CollectiveTable*> fit;
  for (const CollectiveTable& t : d.collectives) {
    if (t.kind == table_name(c.kind) && t.members == members && !t.knots.empty()) fit.push_back(&t);
  }
  const auto elsewhere = [&](const CollectiveTable* t) { return t->in_place != in_place; };
  if (std::any_of(fit.begin(), fit.end(), [&](const auto* t) { return !elsewhere(t); })) std::erase_if(fit, elsewhere);
  if (fit.empty()) return {};
  const std::uint32_t wanted = c.channels > 0 ? c.channels : d.collective_channels;
  TablePlace p;
  for (const CollectiveTable* t : fit) {
    if (t->channels == wanted) return {t};
    if (t->channels < wanted && (p.low == nullptr || t->channels > p.low->channels)) p.low = t;
    if (t->channels > wanted && (p.high == nullptr || t->channels < p.high->channels)) p.high = t;
  }
  if (c.channels == 0 || fit.size() == 1) return {fit.front()};
  if (p.high == nullptr) return {p.low};
  if (p.low == nullptr) return {p.high, nullptr, 0, static_cast<double>(p.high->channels) / wanted};
  const auto each = [](std::uint32_t channels) { return 1.0 / channels; };
  p.high_share = (each(p.low->channels) - each(wanted)) / (each(p.low->channels) - each(p.high->channels));
  return p;
}

Seconds time_at(const TablePlace& p, Bytes bytes) {
  const Seconds low = table_time(*p.low, bytes);
  if (p.stretch > 1) {
    const Seconds start = std::min(low, p.low->knots.front().time);
    return start + (low - start) * p.stretch;
  }
  return p.high_share > 0 ? low + (table_time(*p.high, bytes) - low) * p.high_share : low;
}

// How much slower the flow of a collective is beside a GEMM on all SMs (ChannelCost); its latency stays as it is.
double beside_gemm(const Demand& d, CollectiveKind kind, double members, const ChannelCost& c) {
  if (c.slowdown <= 1.0 || c.path.si() <= 0.0) return 1.0;
  const double wire = (kind == CollectiveKind::all_reduce ? 2.0 : 1.0) * (members - 1) / members;
  const Seconds flow = d.work / d.cap;
  const double part = std::min(1.0, d.work * wire / (d.latency + flow) / c.path);
  const double p2 = part * part, s2 = c.slowdown * c.slowdown;
  const double slower = std::sqrt(std::sqrt(s2 * s2 - (s2 * s2 - 1) * p2 * p2));
  return 1.0 + (slower - 1.0) * ((d.latency + flow) / flow);
}

}  // namespace

// An event between two collectives of a lane, recorded for others or waited for, keeps the library from preparing the
// second beside the first.
void Pricer::find_broken_chains() {
  const auto ops = graph_.ops();
  broken_.assign(ops.size(), 0);
  std::vector<char> waited(ops.size(), 0), waits(ops.size(), 0);
  const auto lane_of = [&](std::size_t i) { return graph_.lane_refs(ops[i].lanes).front(); };
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (const Dep& d : graph_.deps(ops[i].deps)) {
      if (lane_of(d.op.index()) == lane_of(i)) continue;
      waited[d.op.index()] = waits[i] = 1;
    }
  }
  std::map<LaneId, std::size_t> last;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto [it, first] = last.try_emplace(lane_of(i), i);
    if (!first && (waited[it->second] != 0 || waits[i] != 0)) broken_[i] = 1;
    it->second = i;
  }
}

Demand Pricer::collective(const Op& op, const Collective& c) {
  const Topology& topo = machine_.topology;
  std::vector<DeviceId> members;
  for (const LaneId l : graph_.lane_refs(op.lanes)) members.push_back(graph_.lane(l).device);
  const double n = static_cast<double>(members.size());
  const Device& dev = device(members.front());
  Demand d;
  d.kind = DemandKind::fluid;
  // The whole buffer: what a member gathers, scatters, reduces or exchanges.
  const bool gathers = c.kind == CollectiveKind::all_gather;
  d.work = graph_.bytes(gathers ? op.writes : op.reads) / (c.kind == CollectiveKind::broadcast ? 1.0 : n);
  const bool in_place =
      gathers && !op.reads.empty() && graph_.slices(op.reads).front().buffer == graph_.slices(op.writes).front().buffer;
  const TablePlace place =
      c.algorithm == CollectiveAlgorithm::automatic ? find_table(dev, c, members.size(), in_place) : TablePlace();
  const CollectiveTable* table = place.low;
  if (members.size() > 1 && d.work.si() > 0) {
    const auto lone = [&](const CollectivePlan& p) {
      Demand r = d;
      std::vector<Use>& uses = uses_;
      uses.clear();
      for (const PairShare& s : p.pairs) {
        add_route(uses, s.from, s.to, s.bytes_per_byte);
        add_hbm(uses, s.from, s.bytes_per_byte);
        add_hbm(uses, s.to, s.bytes_per_byte);
        const Seconds hop = topo.route_latency(s.from, s.to) * static_cast<double>(p.steps);
        if (options_.effects.latency) r.latency = std::max(r.latency, hop);
        if (options_.network == NetworkModel::alpha_beta) {
          r.cap = std::min(r.cap, topo.route_bandwidth(s.from, s.to) / s.bytes_per_byte);
        }
      }
      for (std::size_t i = 0; p.pairs.empty() && i < members.size(); ++i) {
        // Up: from the member to the switch, the first link of any route; down: the last link of a route to it.
        const DeviceId other = members[i == 0 ? 1 : 0];
        const Link& up = topo.links()[topo.route(members[i], other).front().index()];
        const Link& down = topo.links()[topo.route(other, members[i]).back().index()];
        const auto add = [&](ResourceId id, double w) {
          if (id.valid()) uses.push_back({id, w});
        };
        add(injection_[up.from.index()], p.in_switch_up);
        add(link_[topo.route(members[i], other).front().index()], p.in_switch_up);
        add(link_[topo.route(other, members[i]).back().index()], p.in_switch_down);
        add(ejection_[down.to.index()], p.in_switch_down);
        add_hbm(uses, members[i], p.in_switch_up + p.in_switch_down);
        if (options_.effects.latency) {
          r.latency = std::max(r.latency, topo.route_latency(members[i], other) * static_cast<double>(p.steps));
        }
        if (options_.network == NetworkModel::alpha_beta) {
          r.cap = std::min(r.cap, std::min(up.payload() / p.in_switch_up, down.payload() / p.in_switch_down));
        }
      }
      r.uses = intern(uses);
      Seconds flow = r.cap.si() < 1e300 ? r.work / r.cap : Seconds();
      for (std::uint32_t u = r.uses.begin; u < r.uses.end; ++u) {
        const Use& use = out_.demands.uses[u];
        flow = std::max(flow, r.work * use.weight / out_.resources.fluids[use.resource.index()].capacity);
      }
      return std::pair(r, r.latency + flow);
    };
    auto best = lone(plan_collective(c.kind, c.algorithm, members, topo));
    if (c.algorithm == CollectiveAlgorithm::automatic && c.kind != CollectiveKind::broadcast) {
      const auto direct = lone(plan_collective(c.kind, CollectiveAlgorithm::direct, members, topo));
      if (direct.second < best.second) best = direct;
    }
    d = best.first;
    if (table != nullptr) {
      // The table's time is the lone time: its rate caps the flow, so that other traffic can only slow it.
      const Seconds t = time_at(place, d.work);
      d.latency = options_.effects.latency ? std::min(t * 0.5, table->knots.front().time) : Seconds();
      d.cap = d.work / (t - d.latency);
    }
  } else {
    d.kind = DemandKind::fixed;
  }
  const bool gap = options_.effects.launch && dev.stream.collective_gap.si() > 0;
  if (gap && broken_.empty()) find_broken_chains();
  if (gap && broken_[static_cast<std::size_t>(&op - graph_.ops().data())] != 0) {
    d.latency += dev.stream.collective_gap;
  }
  if (options_.effects.sm_slots && dev.sms > 0 && members.size() > 1) {
    const std::uint32_t fallback = table != nullptr && table->channels > 0 ? table->channels : dev.collective_channels;
    const std::uint32_t channels = std::min<std::uint32_t>(c.channels > 0 ? c.channels : fallback, dev.sms);
    // The library forms clusters only of a number of channels that they divide.
    const std::uint32_t cluster = std::max(1U, dev.collective_cluster);
    d.slots = slots(sm_pool(members.front()), channels, channels % cluster == 0 ? cluster : 1);
    if (table != nullptr && dev.gemm.kernels) d.beside = beside_gemm(d, c.kind, n, dev.gemm.kernels->channel);
  }
  return d;
}

}  // namespace overlap::cost
