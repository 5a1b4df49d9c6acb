// Order of a ring over the first devices that crosses the slowest links as rarely as it can.
//
// The cost of a hop counts the links of its route (both ways) by class of payload rate, slowest class first, compared
// lexicographically; then hops. Small rings are solved exactly (dynamic programming over subsets), whole tori by
// construction, others by nearest neighbour and 2-opt. Ties go to the lexicographically least order.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "topology/impl.hpp"

namespace overlap {
namespace {

constexpr std::size_t kClasses = 4;  // the slowest rates told apart; all faster ones count as one
struct HopCost {
  std::array<std::uint32_t, kClasses + 1> links{};  // by class, then hops
  friend auto operator<=>(const HopCost&, const HopCost&) = default;
  HopCost& operator+=(const HopCost& o) {
    for (std::size_t i = 0; i < links.size(); ++i) links[i] += o.links[i];
    return *this;
  }
  friend HopCost operator+(HopCost a, const HopCost& b) { return a += b; }
};
constexpr HopCost kImpossible{{0xffffffffU, 0, 0, 0, 0}};

using Order = std::vector<std::uint32_t>;

class Hops {
 public:
  Hops(const Topology& t, std::uint32_t count) : count_(count), cost_(static_cast<std::size_t>(count) * count) {
    std::vector<double> rates;
    for (const Link& l : t.links()) rates.push_back(l.payload().si());
    std::sort(rates.begin(), rates.end());
    rates.erase(std::unique(rates.begin(), rates.end()), rates.end());
    for (std::uint32_t a = 0; a < count; ++a) {
      for (std::uint32_t b = a + 1; b < count; ++b) {
        HopCost c;
        for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
          for (const LinkId id : t.route(DeviceId(from), DeviceId(to))) {
            const double rate = t.links()[id.index()].payload().si();
            const auto place = std::lower_bound(rates.begin(), rates.end(), rate) - rates.begin();
            ++c.links[std::min(static_cast<std::size_t>(place), kClasses - 1)];
            ++c.links[kClasses];
          }
        }
        cost_[at(a, b)] = cost_[at(b, a)] = c;
      }
    }
  }
  [[nodiscard]] const HopCost& operator()(std::uint32_t a, std::uint32_t b) const { return cost_[at(a, b)]; }
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  [[nodiscard]] std::size_t at(std::uint32_t a, std::uint32_t b) const {
    return static_cast<std::size_t>(a) * count_ + b;
  }
  std::uint32_t count_;
  std::vector<HopCost> cost_;
};

// best(visited, last): least cost of finishing the ring from `last` with `visited` done; then the least order by id.
Order exact(const Hops& hops) {
  const std::uint32_t n = hops.count();
  const std::size_t subsets = std::size_t{1} << n;
  std::vector<HopCost> best(subsets * n, kImpossible);
  for (std::uint32_t last = 1; last < n; ++last) best[(subsets - 1) * n + last] = hops(last, 0);
  for (std::size_t s = subsets - 1; s-- > 1;) {
    if ((s & 1U) == 0) continue;
    for (std::uint32_t last = 0; last < n; ++last) {
      if ((s >> last & 1U) == 0) continue;
      for (std::uint32_t next = 1; next < n; ++next) {
        const std::size_t t = s | std::size_t{1} << next;
        if (t == s || best[t * n + next] == kImpossible) continue;
        best[s * n + last] = std::min(best[s * n + last], hops(last, next) + best[t * n + next]);
      }
    }
  }
  Order order = {0};
  for (std::size_t s = 1; order.size() < n;) {
    const std::uint32_t last = order.back();
    for (std::uint32_t next = 1; next < n; ++next) {
      const std::size_t t = s | std::size_t{1} << next;
      if (t == s || hops(last, next) + best[t * n + next] != best[s * n + last]) continue;
      order.push_back(next);
      s = t;
      break;
    }
  }
  return order;
}

Order heuristic(const Hops& hops) {
  const std::uint32_t n = hops.count();
  Order order = {0};
  std::vector<bool> used(n);
  used[0] = true;
  while (order.size() < n) {
    std::uint32_t pick = n;
    for (std::uint32_t c = 1; c < n; ++c) {
      if (!used[c] && (pick == n || hops(order.back(), c) < hops(order.back(), pick))) pick = c;
    }
    used[pick] = true;
    order.push_back(pick);
  }
  const std::size_t most_rounds = n <= 256 ? 20 : 1;
  bool better = true;
  for (std::size_t round = 0; better && round < most_rounds; ++round) {
    better = false;
    for (std::size_t i = 1; i + 1 < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) {
        const std::uint32_t after = order[(j + 1) % n];
        if (hops(order[i - 1], order[j]) + hops(order[i], after) <
            hops(order[i - 1], order[i]) + hops(order[j], after)) {
          std::reverse(order.begin() + static_cast<std::ptrdiff_t>(i),
                       order.begin() + static_cast<std::ptrdiff_t>(j + 1));
          better = true;
        }
      }
    }
  }
  return order;
}

// A ring of unit steps over `inner` (a closed ring of unit steps itself) times `extent` layers of `size` ids each.
// Even layers: along layer 0 of position 0 and back; even ring: layers of each position up and down in turn. Both odd:
// the ring over one layer less, and the last layer, round, in place of one of the steps in the layer before it.
Order extend(const Order& inner, std::uint32_t extent) {
  const std::uint32_t size = static_cast<std::uint32_t>(inner.size());
  if (extent == 1) return inner;
  Order out;
  const auto id = [&](std::uint32_t position, std::uint32_t layer) { return inner[position] + layer * size; };
  if (size == 1) {
    for (std::uint32_t l = 0; l < extent; ++l) out.push_back(id(0, l));
    return out;
  }
  if (size % 2 == 0) {
    for (std::uint32_t p = 0; p < size; ++p) out.push_back(id(p, 0));
    for (std::uint32_t p = size; p-- > 0;) {
      for (std::uint32_t l = 1; l < extent; ++l) out.push_back(id(p, p % 2 == 1 ? l : extent - l));
    }
    return out;
  }
  const std::uint32_t even = extent - extent % 2;
  for (std::uint32_t l = 0; l < even; ++l) {
    for (std::uint32_t p = 1; p < size; ++p) out.push_back(id(l % 2 == 0 ? p : size - p, l));
    if (even == extent || l + 1 != even) continue;
    // In the last even layer the walk goes size-1 .. 1: its step from 2 to 1 makes the detour through the odd layer.
    out.pop_back();
    for (std::uint32_t p = 0; p < size; ++p) out.push_back(id((2 + p) % size, even));
    out.push_back(id(1, l));
  }
  for (std::uint32_t l = even; l-- > 0;) out.push_back(id(0, l));
  std::rotate(out.begin(), out.end() - 1, out.end());  // begin at id 0
  return out;
}

Order torus_ring(const std::vector<std::uint32_t>& extents) {
  Order order = {0};
  for (const std::uint32_t e : extents) order = extend(order, e);
  return order;
}

// True when every device hangs on one and the same node with links of one rate: all orders are alike.
bool flat(const Topology& t, std::uint32_t count) {
  const auto& impl_links = t.links();
  std::vector<std::uint32_t> degree(t.nodes().size());
  NodeId hub;
  std::optional<Bandwidth> rate;
  std::vector<bool> member(t.nodes().size());
  for (std::uint32_t i = 0; i < count; ++i) member[t.devices()[i].index()] = true;
  for (const Link& l : impl_links) {
    for (const auto& [own, other] : {std::pair{l.from, l.to}, std::pair{l.to, l.from}}) {
      if (!member[own.index()]) continue;
      if (!hub.valid()) hub = other;
      if (!rate) rate = l.payload();
      if (other != hub || l.payload() != *rate || ++degree[own.index()] > 2) return false;
    }
  }
  return true;
}

std::vector<DeviceId> as_devices(const Order& order) {
  std::vector<DeviceId> out;
  for (const std::uint32_t i : order) out.emplace_back(i);
  return out;
}

}  // namespace

std::vector<DeviceId> best_ring_order(const Topology& t, std::uint32_t count) {
  constexpr std::uint32_t kExact = 12;
  Order identity(count);
  std::iota(identity.begin(), identity.end(), 0U);
  if (count <= 3 || flat(t, count)) return as_devices(identity);
  if (!t.dimensions().empty() && count == t.device_count()) return as_devices(torus_ring(t.dimensions()));
  const Hops hops(t, count);
  return as_devices(count <= kExact ? exact(hops) : heuristic(hops));
}

}  // namespace overlap
