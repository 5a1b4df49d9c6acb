#include "random_net.hpp"

#include <algorithm>

namespace test {

using namespace overlap;

const std::vector<NetKind>& net_kinds() {
  static const std::vector<NetKind> kinds{
      {.name = "sparse", .resources = 60, .hops = 6},
      {.name = "dense", .resources = 8, .hops = 3},
      {.name = "even dense", .resources = 8, .hops = 3, .even = true},
      {.name = "switch", .resources = 16, .hops = 2, .bipartite = true},
      {.name = "even switch", .resources = 16, .hops = 2, .even = true, .bipartite = true},
      {.name = "weights", .resources = 20, .hops = 4, .weights = true},
      {.name = "shares", .resources = 20, .hops = 4, .shares = true},
      {.name = "caps", .resources = 20, .hops = 4, .caps = true},
      {.name = "even caps", .resources = 12, .hops = 3, .even = true, .caps = true},
      {.name = "wide", .resources = 100, .hops = 6, .weights = true, .caps = true},
      {.name = "wide switch", .resources = 80, .hops = 2, .bipartite = true},
      {.name = "everything", .resources = 24, .hops = 5, .weights = true, .shares = true, .caps = true},
  };
  return kinds;
}

std::vector<Bandwidth> random_capacities(const NetKind& kind, Random& g) {
  std::vector<Bandwidth> out;
  for (std::uint32_t i = 0; i < kind.resources; ++i) out.emplace_back(kind.even ? 1e9 : 1e9 * (0.2 + g.unit()));
  return out;
}

NetFlow random_flow(const NetKind& kind, Random& g) {
  NetFlow f;
  std::vector<std::uint32_t> chosen;
  if (kind.bipartite) {
    const std::uint32_t half = kind.resources / 2;
    chosen = {g.below(half), half + g.below(half)};
  } else {
    const std::uint32_t hops = 1 + g.below(kind.hops);
    while (chosen.size() < hops) {
      const std::uint32_t r = g.below(kind.resources);
      if (std::find(chosen.begin(), chosen.end(), r) == chosen.end()) chosen.push_back(r);
    }
  }
  for (const std::uint32_t r : chosen) f.uses.push_back({ResourceId(r), 1.0});
  if (kind.weights)
    for (Use& u : f.uses) {
      const std::uint32_t pick = g.below(8);
      u.weight = pick == 0 ? 0.0 : pick < 4 ? 1.0 : 0.25 + 2 * g.unit();
    }
  if (kind.shares) f.share = 0.5 + 3 * g.unit();
  if (kind.caps && g.below(2) == 0) f.cap = Bandwidth(kind.even ? 2e8 : 5e7 + 6e8 * g.unit());
  // A flow must be held by something.
  if (std::all_of(f.uses.begin(), f.uses.end(), [](const Use& u) { return u.weight == 0; }) && f.cap.si() > 1e299)
    f.cap = Bandwidth(3e8);
  f.work = Bytes(kind.even ? 1e8 : 1e8 * (0.5 + g.unit()));
  return f;
}

}  // namespace test
