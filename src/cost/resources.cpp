#include <algorithm>
#include <string>

#include "cost/pricer.hpp"
#include "overlap/error.hpp"
#include "overlap/kernel_table.hpp"

namespace overlap::cost {

Pricer::Pricer(const OpGraph& graph, const Machine& machine, const CostOptions& options)
    : graph_(graph), machine_(machine), options_(options), copy_slots_(graph.devices()) {
  const std::size_t wanted = graph.devices();
  if (machine.devices.size() < wanted || machine.topology.device_count() < wanted) {
    throw InputError(
        "", "the graph needs " + std::to_string(wanted) + " devices, the machine has " +
                std::to_string(std::min<std::size_t>(machine.devices.size(), machine.topology.device_count())));
  }
  for (std::size_t i = 0; i < wanted; ++i) {
    std::uint32_t first = 0;
    while (machine.devices[first].name != machine.devices[i].name) ++first;
    like_.push_back(first);
  }
}

// Links and node limits (alpha-beta keeps only the limits of the devices), HBM, and the slot pools of every device.
void Pricer::make_resources() {
  const Topology& topo = machine_.topology;
  const bool blind = options_.network == NetworkModel::alpha_beta;
  Resources& r = out_.resources;
  const auto add = [&](std::string name, ResourceKind kind, Bandwidth capacity) {
    r.fluids.push_back({std::move(name), kind, capacity});
    return ResourceId(r.fluids.size() - 1);
  };
  const auto name_of = [&](NodeId n) { return topo.nodes()[n.index()].name; };
  link_.assign(topo.links().size(), ResourceId());
  std::vector<double> leaves(topo.nodes().size(), 0), enters(topo.nodes().size(), 0);
  std::vector<bool> half_duplex(topo.links().size(), false);
  for (const Link& l : topo.links()) {
    if (l.shares_with) half_duplex[l.shares_with->index()] = true;
  }
  for (std::size_t i = 0; i < topo.links().size(); ++i) {
    const Link& l = topo.links()[i];
    leaves[l.from.index()] += l.payload().si();
    enters[l.to.index()] += l.payload().si();
    if (blind) continue;
    if (l.shares_with && l.shares_with->index() < i) {
      link_[i] = link_[l.shares_with->index()];
      continue;
    }
    link_[i] =
        add(name_of(l.from) + (half_duplex[i] ? " <-> " : " -> ") + name_of(l.to), ResourceKind::link, l.payload());
  }
  for (std::size_t i = 0; i < link_.size(); ++i) {
    if (const auto& s = topo.links()[i].shares_with; s && !blind) link_[i] = link_[s->index()];
  }
  both_ways_.assign(topo.links().size(), ResourceId());
  for (std::size_t i = 0; i < link_.size(); ++i) {
    const Link& l = topo.links()[i];
    if (blind || !l.reverse || l.both_ways >= 1.0 || l.reverse->index() < i) continue;
    both_ways_[i] = both_ways_[l.reverse->index()] = add(name_of(l.from) + " <-> " + name_of(l.to) + " together",
                                                         ResourceKind::link, l.payload() * (2 * l.both_ways));
  }
  injection_.assign(topo.nodes().size(), ResourceId());
  ejection_ = injection_;
  const auto limit = [&](const std::optional<Bandwidth>& stated, double all_links) {
    return blind ? std::optional(Bandwidth(std::min(stated ? stated->si() : all_links, all_links))) : stated;
  };
  for (std::size_t i = 0; options_.effects.injection_limits && i < topo.nodes().size(); ++i) {
    const Node& n = topo.nodes()[i];
    const bool computes = n.kind == NodeKind::gpu || n.kind == NodeKind::tpu;
    if (blind && !computes) continue;
    if (const auto v = limit(n.injection, leaves[i])) injection_[i] = add(n.name + " out", ResourceKind::injection, *v);
    if (const auto v = limit(n.ejection, enters[i])) ejection_[i] = add(n.name + " in", ResourceKind::ejection, *v);
  }
  bool stores = false;
  for (const Op& op : graph_.ops()) {
    const auto* t = std::get_if<Transfer>(&op.work);
    stores = stores || (t != nullptr && t->mover == Mover::remote_store);
  }
  for (std::uint32_t d = 0; d < graph_.devices(); ++d) {
    const Device& dev = machine_.devices[d];
    const std::string node = name_of(topo.devices()[d]);
    hbm_.push_back(options_.effects.hbm && dev.hbm.si() > 0
                       ? add(node + " HBM", ResourceKind::hbm, dev.hbm * dev.hbm_efficiency)
                       : ResourceId());
    // The path between SMs, L2 and HBM as one unit: a GEMM over all SMs fills it, a copy takes a little of it.
    const auto& kernels = dev.gemm.kernels;
    const bool port = hbm_.back().valid() && options_.compute == ComputeModel::tile && kernels &&
                      kernels->copy_out + kernels->copy_in > 0;
    port_.push_back(port ? add(node + " memory path", ResourceKind::other, Bandwidth(1)) : ResourceId());
    r.pools.push_back({DeviceId(d), PoolKind::sm, dev.sms, dev.sm_groups});
    r.pools.push_back({DeviceId(d), PoolKind::copy_engine, dev.copy_engines});
    r.pools.push_back({DeviceId(d), PoolKind::mma, 1});
    if (stores) {
      r.tanks.push_back({node + " stores", dev.remote_stores.buffer});
      drain_.push_back(add(node + " store drain", ResourceKind::other, dev.remote_stores.drain));
    }
    if (options_.effects.launch) r.streams.push_back(dev.stream);
  }
}

}  // namespace overlap::cost
