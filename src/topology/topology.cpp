#include "overlap/topology.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "overlap/error.hpp"
#include "topology/impl.hpp"

namespace overlap {

Topology::Topology() : impl_(std::make_unique<Impl>()) {}
Topology::~Topology() = default;
Topology::Topology(Topology&&) noexcept = default;
Topology& Topology::operator=(Topology&&) noexcept = default;

const std::string& Topology::name() const {
  return impl_->name;
}
const std::vector<Node>& Topology::nodes() const {
  return impl_->nodes;
}
const std::vector<Link>& Topology::links() const {
  return impl_->links;
}
const Capabilities& Topology::capabilities() const {
  return impl_->capabilities;
}
const std::vector<NodeId>& Topology::devices() const {
  return impl_->devices;
}
std::uint32_t Topology::device_count() const {
  return static_cast<std::uint32_t>(impl_->devices.size());
}
const std::vector<std::uint32_t>& Topology::dimensions() const {
  return impl_->dimensions;
}
std::uint32_t Topology::group_of(DeviceId d) const {
  return impl_->groups[d.index()];
}

std::optional<NodeId> Topology::find_node(std::string_view name) const {
  const auto found = impl_->by_name.find(std::string(name));
  if (found == impl_->by_name.end()) return std::nullopt;
  return found->second;
}

std::vector<LinkId> Topology::route_between(NodeId a, NodeId b) const {
  if (a == b) return {};
  std::vector<LinkId> links = impl_->router->find(a, b);
  if (links.empty()) {
    throw InputError(impl_->name,
                     fmt::format("there is no path from {} to {}", nodes()[a.index()].name, nodes()[b.index()].name));
  }
  return links;
}

std::span<const LinkId> Topology::route(DeviceId a, DeviceId b) const {
  if (a == b) return {};
  RouteCache& cache = (*impl_->cache)[a.index()];
  if (const RouteCache::Known* to = cache.to.load(std::memory_order_acquire)) {
    const RouteCache::Known& known = to[b.index()];
    if (const LinkId* links = known.links.load(std::memory_order_acquire)) return {links, known.count};
  }
  const std::lock_guard lock(cache.mutex);
  if (cache.routes == nullptr) {
    cache.routes = std::make_unique<RouteCache::Known[]>(device_count());
    cache.to.store(cache.routes.get(), std::memory_order_release);
  }
  RouteCache::Known& known = cache.routes[b.index()];
  if (known.links.load(std::memory_order_relaxed) == nullptr) {
    const auto fixed = impl_->explicit_routes.find({a.v, b.v});
    const std::vector<LinkId> links = fixed != impl_->explicit_routes.end()
                                          ? fixed->second
                                          : route_between(devices()[a.index()], devices()[b.index()]);
    constexpr std::size_t kBlock = 1024;
    if (cache.blocks.empty() || cache.blocks.back().capacity() - cache.blocks.back().size() < links.size()) {
      const std::size_t first = cache.blocks.empty() ? std::size_t{16} : kBlock;
      cache.blocks.emplace_back().reserve(std::max(first, links.size()));
    }
    std::vector<LinkId>& block = cache.blocks.back();
    const std::size_t begin = block.size();
    block.insert(block.end(), links.begin(), links.end());
    known.count = static_cast<std::uint32_t>(links.size());
    known.links.store(block.data() + begin, std::memory_order_release);
  }
  return {known.links.load(std::memory_order_relaxed), known.count};
}

Seconds Topology::route_latency(DeviceId a, DeviceId b) const {
  Seconds sum;
  for (const LinkId l : route(a, b)) sum += links()[l.index()].latency;
  return sum;
}

Bandwidth Topology::route_bandwidth(DeviceId a, DeviceId b) const {
  Bandwidth least(1e300);
  const auto limit = [&least](const std::optional<Bandwidth>& b_limit) {
    if (b_limit) least = std::min(least, *b_limit);
  };
  for (const LinkId id : route(a, b)) {
    const Link& l = links()[id.index()];
    least = std::min(least, l.payload());
    if (l.shares_with) least = std::min(least, links()[l.shares_with->index()].payload());
    limit(nodes()[l.from.index()].injection);
    limit(nodes()[l.to.index()].ejection);
  }
  return least;
}

std::optional<LinkId> Topology::direct_link(DeviceId a, DeviceId b) const {
  const LinkId l = link_between(*impl_, devices()[a.index()], devices()[b.index()]);
  if (!l.valid()) return std::nullopt;
  return l;
}

std::vector<DeviceId> Topology::ring_order(std::uint32_t count) const {
  return best_ring_order(*this, std::min(count, device_count()));
}

std::vector<Cut> Topology::cuts() const {
  return device_and_group_cuts(*this);
}

LinkId link_between(const Topology::Impl& t, NodeId a, NodeId b) {
  LinkId best;
  for (const LinkId id : t.out(a)) {
    const Link& l = t.links[id.index()];
    if (l.to == b && (!best.valid() || l.payload() > t.links[best.index()].payload())) best = id;
  }
  return best;
}

}  // namespace overlap
