#include <algorithm>
#include <bit>
#include <set>

#include "cost/pricer.hpp"
#include "overlap/codec.hpp"
#include "overlap/error.hpp"
#include "overlap/kernel_table.hpp"

namespace overlap::cost {

namespace {
std::uint64_t mixed(std::uint64_t hash, std::uint64_t v) {
  hash = (hash ^ v) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29U);
}
}  // namespace

void Pricer::add_hbm(std::vector<Use>& uses, DeviceId d, double weight) const {
  if (hbm_of(d).valid() && weight > 0) uses.push_back({hbm_of(d), weight});
}

// Links of the route from a to b with the limits of the nodes that it leaves and enters.
void Pricer::add_route(std::vector<Use>& uses, DeviceId a, DeviceId b, double weight) const {
  const Topology& topo = machine_.topology;
  const auto add = [&](ResourceId r) {
    if (r.valid()) uses.push_back({r, weight});
  };
  for (const LinkId id : topo.route(a, b)) {
    const Link& l = topo.links()[id.index()];
    add(injection_[l.from.index()]);
    add(link_[id.index()]);
    add(both_ways_[id.index()]);
    add(ejection_[l.to.index()]);
  }
}

// One range per distinct set of uses; equal resources are merged, order is by resource.
Range Pricer::intern(std::vector<Use>& uses) {
  std::sort(uses.begin(), uses.end(), [](const Use& x, const Use& y) { return x.resource < y.resource; });
  merged_.clear();
  for (const Use& u : uses) {
    if (!merged_.empty() && merged_.back().resource == u.resource) {
      merged_.back().weight += u.weight;
    } else {
      merged_.push_back(u);
    }
  }
  if (merged_.empty()) return {};
  if (same_uses(known_uses_)) return known_uses_;
  std::uint64_t hash = merged_.size();
  for (const Use& u : merged_) hash = mixed(mixed(hash, u.resource.v), std::bit_cast<std::uint64_t>(u.weight));
  std::vector<Use>& pool = out_.demands.uses;
  for (;; ++hash) {
    const auto [range, fresh] = use_sets_.emplace(hash);
    if (fresh) {
      range = {static_cast<std::uint32_t>(pool.size()), static_cast<std::uint32_t>(pool.size() + merged_.size())};
      pool.insert(pool.end(), merged_.begin(), merged_.end());
      return range;
    }
    if (same_uses(range)) return range;
  }
}

bool Pricer::same_uses(Range range) const {
  const auto pool = out_.demands.uses.begin();
  return std::equal(merged_.begin(), merged_.end(), pool + range.begin, pool + range.end,
                    [](const Use& x, const Use& y) { return x.resource == y.resource && x.weight == y.weight; });
}

Range Pricer::slots(PoolId pool, std::uint32_t count, std::uint32_t cluster) {
  if (count == 0) return {};
  if (!known_slots_.empty()) {
    const SlotNeed& known = out_.demands.slots[known_slots_.begin];
    if (known.pool == pool && known.count == count && known.cluster == cluster) return known_slots_;
  }
  const auto [range, fresh] =
      slot_ranges_.emplace((std::uint64_t{pool.v} << 32U) | (std::uint64_t{cluster} << 24U) | count);
  if (fresh) {
    std::vector<SlotNeed>& s = out_.demands.slots;
    s.push_back({pool, count, cluster});
    range = {static_cast<std::uint32_t>(s.size() - 1), static_cast<std::uint32_t>(s.size())};
  }
  return range;
}

namespace {

bool crosses_numa(const Topology& t, DeviceId a, DeviceId b) {
  for (const LinkId l : t.route(a, b))
    if (t.nodes()[t.links()[l.index()].to.index()].kind == NodeKind::numa) return true;
  return false;
}

}  // namespace

// A copy from a to b: HBM of both ends (read there, written here) and the route between.
const Pricer::Pair& Pricer::pair(DeviceId a, DeviceId b) {
  const auto [known, fresh] = pairs_.emplace((std::uint64_t{a.v} << 32) | b.v);
  if (!fresh) return known;
  uses_.clear();
  add_hbm(uses_, a, 1);
  add_hbm(uses_, b, 1);
  known.route = Bandwidth(1e300);
  if (a != b) {
    // A copy through a NUMA node (root complex) takes more of every link where the penalty is set.
    add_route(uses_, a, b, crosses_numa(machine_.topology, a, b) ? 1 / options_.penalties.root_complex_p2p : 1);
    known.route = machine_.topology.route_bandwidth(a, b);
    known.latency = machine_.topology.route_latency(a, b);
    const double full = known.route.si();
    if (const ResourceId p = port_[a.index()]; p.valid()) uses_.push_back({p, device(a).gemm.kernels->copy_out / full});
    if (const ResourceId p = port_[b.index()]; p.valid()) uses_.push_back({p, device(b).gemm.kernels->copy_in / full});
  }
  known.uses = intern(uses_);
  return known;
}

// Stores drain over the route and over what the issuer can have in flight to all peers.
Range Pricer::store_uses(DeviceId a, DeviceId b) {
  const auto [known, fresh] = store_pairs_.emplace((std::uint64_t{a.v} << 32U) | b.v);
  if (!fresh) return known;
  uses_.assign({{drain_[a.index()], 1}});
  add_hbm(uses_, b, 1);
  if (a != b) add_route(uses_, a, b, 1);
  return known = intern(uses_);
}

Demand Pricer::transfer(const Op& op, const Transfer& t) {
  const DeviceId issuer = graph_.device_of(op);
  const auto reads = graph_.slices(op.reads);
  const auto writes = graph_.slices(op.writes);
  if (reads.empty() || writes.empty()) {
    throw CheckError("transfer " + graph_.text(op.label) + " reads or writes nothing");
  }
  Demand d;
  d.kind = DemandKind::fluid;
  const DeviceId from = graph_.buffer(reads.front().buffer).device;
  const DeviceId to = graph_.buffer(writes.front().buffer).device;
  if (t.fan != Fan::copy) {
    d = fan(op, t);
  } else {
    d.work = graph_.bytes(op.reads) * codec_cost(t.codec).ratio;
    const Pair& way = pair(from, to);
    d.uses = way.uses;
    if (from != to) {
      d.latency = options_.effects.latency ? way.latency : Seconds();
      if (options_.network == NetworkModel::alpha_beta) d.cap = way.route;
    } else {
      d.cap = copy_rate(from) * 0.5;
      if (port_[from.index()].valid()) d.share = kLocalShare;
    }
  }
  if (t.mover == Mover::remote_store && t.fan == Fan::copy && d.work.si() > 0) {
    d.kind = DemandKind::store;
    d.tank = TankId(issuer.index());
    d.cap = device(issuer).remote_stores.issue;
    d.uses = store_uses(from, to);
  }
  if (t.mover == Mover::copy_engine && options_.effects.copy_engines && device(issuer).copy_engines > 0) {
    d.slots = copy_slot(issuer);
  }
  if (t.mover == Mover::sm && options_.effects.sm_slots && device(issuer).sms > 0) {
    const std::uint32_t ctas = std::min<std::uint32_t>(std::max<std::uint32_t>(t.ctas, 1), device(issuer).sms);
    d.slots = slots(sm_pool(issuer), ctas);
    if (const Bandwidth each = device(issuer).own_kernels.copy; options_.own_kernels && each.si() > 0 && from != to)
      d.cap = std::min(d.cap, each * ctas);
  }
  if (d.work.si() <= 0) d.kind = DemandKind::fixed;
  return d;
}

// Multicast and in-switch reduction: a tree of links, each used once by the one stream that crosses it.
Demand Pricer::fan(const Op& op, const Transfer& t) {
  const bool out = t.fan == Fan::multicast;
  const auto many = graph_.slices(out ? op.writes : op.reads);
  const DeviceId root = graph_.buffer(graph_.slices(out ? op.reads : op.writes).front().buffer).device;
  const Topology& topo = machine_.topology;
  Demand d;
  d.kind = DemandKind::fluid;
  d.work = graph_.bytes(out ? op.reads : op.writes);
  std::set<DeviceId> ends;
  for (const Slice& s : many) ends.insert(graph_.buffer(s.buffer).device);
  std::vector<Use>& uses = uses_;
  uses.clear();
  add_hbm(uses, root, 1);
  std::set<LinkId> tree;
  for (const DeviceId e : ends) {
    add_hbm(uses, e, 1);
    if (e == root) continue;
    const DeviceId a = out ? root : e, b = out ? e : root;
    for (const LinkId l : topo.route(a, b)) tree.insert(l);
    if (options_.effects.latency) d.latency = std::max(d.latency, topo.route_latency(a, b));
    if (options_.network == NetworkModel::alpha_beta) d.cap = std::min(d.cap, topo.route_bandwidth(a, b));
  }
  for (const LinkId id : tree) {
    const Link& l = topo.links()[id.index()];
    for (const ResourceId r :
         {injection_[l.from.index()], link_[id.index()], both_ways_[id.index()], ejection_[l.to.index()]}) {
      if (r.valid()) uses.push_back({r, 1});
    }
  }
  d.uses = intern(uses);
  return d;
}

}  // namespace overlap::cost
