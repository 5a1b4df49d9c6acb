#include "schedule/phase_time.hpp"

#include <algorithm>

namespace overlap::blocks {
namespace {

// Bytes of one flow set over each link direction (half duplex: over the owner) and each node's limits.
class Loads {
 public:
  explicit Loads(const Topology& t)
      : topology_(t), link_(t.links().size()), out_(t.nodes().size()), in_(t.nodes().size()) {}

  void add(DeviceId a, DeviceId b) {
    for (const LinkId l : topology_.route(a, b)) {
      const Link& link = topology_.links()[l.index()];
      link_[owner(l).index()] += 1;
      out_[link.from.index()] += 1;
      in_[link.to.index()] += 1;
    }
  }
  // Seconds a byte of the slowest thing on the route.
  [[nodiscard]] double slowness(DeviceId a, DeviceId b) const {
    double worst = 0;
    for (const LinkId l : topology_.route(a, b)) {
      const Link& link = topology_.links()[l.index()];
      const LinkId own = owner(l);
      worst = std::max(worst, link_[own.index()] / topology_.links()[own.index()].payload().si());
      const Node& from = topology_.nodes()[link.from.index()];
      const Node& to = topology_.nodes()[link.to.index()];
      if (from.injection) worst = std::max(worst, out_[link.from.index()] / from.injection->si());
      if (to.ejection) worst = std::max(worst, in_[link.to.index()] / to.ejection->si());
    }
    return worst;
  }

 private:
  [[nodiscard]] LinkId owner(LinkId l) const { return topology_.links()[l.index()].shares_with.value_or(l); }
  const Topology& topology_;
  std::vector<double> link_;
  std::vector<double> out_;
  std::vector<double> in_;
};

}  // namespace

PhaseTime phase_time(const Topology& topology, const PieceTimes& times,
                     std::span<const std::pair<DeviceId, DeviceId>> flows, Bytes each) {
  Loads loads(topology);
  for (const auto& [a, b] : flows) loads.add(a, b);
  PhaseTime out{Seconds(), true};
  double slowest = 0;
  double fastest = 1e300;
  for (const auto& [a, b] : flows) {
    const double s = loads.slowness(a, b);
    slowest = std::max(slowest, s);
    fastest = std::min(fastest, s);
    out.time = std::max({out.time, times.transfer(a, b, each), Seconds(each.si() * s)});
  }
  out.uniform = flows.empty() || slowest - fastest <= 1e-12 * slowest;
  return out;
}

bool apart(const Topology& topology, std::span<const std::pair<DeviceId, DeviceId>> a,
           std::span<const std::pair<DeviceId, DeviceId>> b) {
  // Links by index, then limited nodes: out, in.
  const std::size_t links = topology.links().size();
  std::vector<bool> used(links + 2 * topology.nodes().size());
  const auto each = [&](std::span<const std::pair<DeviceId, DeviceId>> flows, auto&& visit) {
    for (const auto& [from, to] : flows) {
      for (const LinkId l : topology.route(from, to)) {
        const Link& link = topology.links()[l.index()];
        visit(link.shares_with.value_or(l).index());
        if (topology.nodes()[link.from.index()].injection) visit(links + 2 * link.from.index());
        if (topology.nodes()[link.to.index()].ejection) visit(links + 2 * link.to.index() + 1);
      }
    }
  };
  each(a, [&](std::size_t i) { used[i] = true; });
  bool none = true;
  each(b, [&](std::size_t i) { none = none && !used[i]; });
  return none;
}

Seconds end_of(std::vector<Release>& work) {
  std::stable_sort(work.begin(), work.end(), [](const Release& a, const Release& b) { return a.at < b.at; });
  Seconds end;
  for (const Release& r : work) end = std::max(end, r.at) + r.work;
  return end;
}

PhaseTime ring_phase(const Topology& topology, const PieceTimes& times, const Comm& comm, Bytes each) {
  std::vector<std::pair<DeviceId, DeviceId>> flows;
  for (const DeviceId d : comm.ring) flows.emplace_back(d, comm.next(d));
  PhaseTime out = phase_time(topology, times, flows, each);
  out.time *= static_cast<double>(comm.ranks - 1);
  return out;
}

PhaseTime direct_phase(const Topology& topology, const PieceTimes& times, const Comm& comm, Bytes each) {
  std::vector<std::pair<DeviceId, DeviceId>> flows;
  for (const DeviceId a : comm.ring)
    for (std::uint32_t shift = 1; shift < comm.ranks; ++shift) flows.emplace_back(a, comm.next(a, shift));
  return phase_time(topology, times, flows, each);
}

}  // namespace overlap::blocks
