#include "cases.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>

namespace bench {

Index Case::link(double c) {
  capacity.push_back(c);
  return static_cast<Index>(capacity.size() - 1);
}
Index Case::route(Index src, Index dst, std::initializer_list<Index> links) {
  return route(src, dst, links.begin(), links.size());
}
Index Case::route(Index src, Index dst, const Index* links, std::size_t n) {
  route_src.push_back(src);
  route_dst.push_back(dst);
  route_link.insert(route_link.end(), links, links + n);
  route_at.push_back(static_cast<Index>(route_link.size()));
  return static_cast<Index>(route_src.size() - 1);
}
Index Case::flow(Index r, double size, double start) {
  flow_route.push_back(r);
  flow_size.push_back(size);
  flow_start.push_back(start);
  flow_waits.push_back(0);
  return static_cast<Index>(flow_route.size() - 1);
}
void Case::finish() {
  next_at.assign(flow_route.size() + 1, 0);
  for (const auto& [first, then] : edges) ++next_at[first + 1];
  for (std::size_t i = 0; i < flow_route.size(); ++i) next_at[i + 1] += next_at[i];
  next.resize(edges.size());
  std::vector<Index> at(next_at.begin(), next_at.end() - 1);
  for (const auto& [first, then] : edges) next[at[first]++] = then;
  if (edges.size() > flow_route.size()) share_gates();
  edges = {};
  for (const Index then : next) ++flow_waits[then];
  for (std::size_t i = 0; i < flow_route.size(); ++i)
    if (flow_waits[i] == 0 && flow_start[i] < 0) flow_start[i] = 0;
}

void Case::share_gates() {
  std::map<std::vector<Index>, Index> known;
  std::vector<Index> at{0}, then;
  for (std::size_t f = 0; f < flow_route.size(); ++f) {
    const std::vector<Index> list(next.begin() + next_at[f], next.begin() + next_at[f + 1]);
    const auto [it, fresh] = known.emplace(list, static_cast<Index>(gate_flows.size()));
    if (fresh) {
      gate_flows.push_back(0);
      then.insert(then.end(), list.begin(), list.end());
      at.push_back(static_cast<Index>(then.size()));
    }
    ++gate_flows[it->second];
    gate_of.push_back(it->second);
  }
  next_at = std::move(at);
  next = std::move(then);
}

namespace {

constexpr double kRate = 1e9;  // byte/s
constexpr double kSize = 1e9;  // bytes: 1 s a flow alone, far above absolute precisions

struct Random {  // splitmix64
  std::uint64_t s = 12345;
  double jit = 0;
  std::uint64_t next() {
    std::uint64_t z = (s += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  double uneven(double x) { return std::floor(x * (1 + jit * unit())); }
};

void ring(Case& c, Index n, Random& g) {
  c.hosts = n;
  std::vector<Index> r(n);
  for (Index i = 0; i < n; ++i) {
    const Index forward = c.link(g.uneven(kRate));
    c.link(kRate);
    r[i] = c.route(i, (i + 1) % n, {forward});
  }
  for (Index s = 0; s + 1 < n; ++s)
    for (Index i = 0; i < n; ++i) c.flow(r[i], kSize);
  for (Index s = 0; s + 2 < n; ++s)
    for (Index i = 0; i < n; ++i) c.after(s * n + i, (s + 1) * n + (i + 1) % n);
  if (g.jit == 0) c.expected = (n - 1) * kSize / kRate;
}

// 8 hosts, n chunks on every link, all at once or one after another.
void mesh(Case& c, Index n, Random& g, bool one_by_one) {
  c.hosts = 8;
  for (Index i = 0; i < 8; ++i)
    for (Index j = 0; j < 8; ++j) {
      if (i == j) continue;
      const Index r = c.route(i, j, {c.link(g.uneven(kRate))});
      for (Index k = 0; k < n; ++k) {
        const Index f = c.flow(r, kSize / 64);
        if (one_by_one && k > 0) c.after(f - 1, f);
      }
    }
  if (g.jit == 0) c.expected = n * (kSize / 64) / kRate;
}

// One switch, an up-link and a down-link a host: everybody to everybody, all at once or in pairwise exchange.
void switched(Case& c, Index n, Random& g, bool shift) {
  c.hosts = n;
  std::vector<Index> up(n), down(n), last(n, ~0U);
  for (Index i = 0; i < n; ++i) {
    up[i] = c.link(kRate);
    down[i] = c.link(kRate);
  }
  for (Index s = 1; s < n; ++s)
    for (Index i = 0; i < n; ++i) {
      const Index j = (i + s) % n;
      const Index r = c.route(i, j, {up[i], down[j]});
      const Index f = c.flow(r, g.uneven(kSize));
      if (shift && last[i] != ~0U) c.after(last[i], f);
      last[i] = f;
    }
  if (g.jit == 0) c.expected = (n - 1) * kSize / kRate;
}

// n repetitions of a collective on an 8-GPU box with two sockets; PCIe 16 GB/s, QPI 19.2 GB/s a direction.
void numa(Case& c, Index n, Random& g, bool as_ring) {
  constexpr double kPcie = 16e9;
  constexpr double kQpi = 19.2e9;
  c.hosts = 8;
  std::array<Index, 8> up{}, down{};
  for (Index i = 0; i < 8; ++i) {
    up[i] = c.link(kPcie);
    down[i] = c.link(kPcie);
  }
  std::array<Index, 2> qpi{};
  for (Index& q : qpi) q = c.link(kQpi);
  const auto route = [&](Index i, Index j) {
    return i / 4 == j / 4 ? c.route(i, j, {up[i], down[j]}) : c.route(i, j, {up[i], qpi[i / 4], down[j]});
  };
  if (as_ring) {
    std::array<Index, 8> r{};
    for (Index i = 0; i < 8; ++i) r[i] = route(i, (i + 1) % 8);
    for (Index k = 0; k < 7 * n; ++k)
      for (Index i = 0; i < 8; ++i) c.flow(r[i], g.uneven(kSize));
    for (Index s = 0; s + 1 < 7 * n; ++s)
      for (Index i = 0; i < 8; ++i) c.after(s * 8 + i, (s + 1) * 8 + (i + 1) % 8);
    if (g.jit == 0) c.expected = n * 7 * kSize / std::min(kPcie, kQpi);
    return;
  }
  // Each GPU's k-th all-to-all waits for its own 7 sends of the one before.
  std::array<std::array<Index, 8>, 8> r{};
  for (Index i = 0; i < 8; ++i)
    for (Index j = 0; j < 8; ++j)
      if (i != j) r[i][j] = route(i, j);
  std::array<std::vector<Index>, 8> before;
  for (Index k = 0; k < n; ++k)
    for (Index i = 0; i < 8; ++i) {
      std::vector<Index> sends;
      for (Index j = 0; j < 8; ++j)
        if (i != j) sends.push_back(c.flow(r[i][j], g.uneven(kSize)));
      for (const Index a : before[i])
        for (const Index b : sends) c.after(a, b);
      before[i] = sends;
    }
  if (g.jit == 0) c.expected = n * kSize / (kQpi / 16);
}

// Ring all-gathers in both directions of every line of an n x n x n torus.
void torus(Case& c, Index n, Random& g) {
  c.hosts = n * n * n;
  const auto id = [&](Index x, Index y, Index z) { return (z * n + y) * n + x; };
  for (int d = 0; d < 3; ++d)
    for (int back = 0; back < 2; ++back)
      for (Index a = 0; a < n; ++a)
        for (Index b = 0; b < n; ++b) {
          const auto at = [&](Index k) {
            k %= n;
            return d == 0 ? id(k, a, b) : d == 1 ? id(a, k, b) : id(a, b, k);
          };
          const auto step = [&](Index k) { return back != 0 ? (k + n - 1) % n : (k + 1) % n; };
          std::vector<Index> r(n);
          for (Index k = 0; k < n; ++k) r[k] = c.route(at(k), at(step(k)), {c.link(g.uneven(kRate))});
          const auto first = static_cast<Index>(c.flow_route.size());
          for (Index s = 0; s + 1 < n; ++s)
            for (Index k = 0; k < n; ++k) c.flow(r[k], kSize);
          for (Index s = 0; s + 2 < n; ++s)
            for (Index k = 0; k < n; ++k) c.after(first + s * n + k, first + (s + 1) * n + step(k));
        }
  if (g.jit == 0) c.expected = (n - 1) * kSize / kRate;
}

// n flows: random permutations over an 8 x 8 x 8 torus, dimension order, Poisson starts, about 500 live at a time.
void permutations(Case& c, Index n, Random& g) {
  constexpr Index kSide = 8;
  constexpr double kArrivals = 180.0;  // a second
  c.hosts = kSide * kSide * kSide;
  for (Index i = 0; i < c.hosts * 6; ++i) c.link(kRate);
  std::vector<Index> perm(c.hosts), known(std::size_t{c.hosts} * c.hosts, ~0U);
  std::size_t at = perm.size();
  double t = 0;
  for (Index f = 0; f < n;) {
    if (at == perm.size()) {
      for (Index i = 0; i < c.hosts; ++i) perm[i] = i;
      for (Index i = c.hosts - 1; i > 0; --i) std::swap(perm[i], perm[g.next() % (i + 1)]);
      at = 0;
    }
    const auto s = static_cast<Index>(at);
    const Index d = perm[at++];
    if (s == d) continue;
    Index& r = known[std::size_t{s} * c.hosts + d];
    if (r == ~0U) {
      std::vector<Index> links;
      std::array<Index, 3> p{s % kSide, (s / kSide) % kSide, s / (kSide * kSide)};
      const std::array<Index, 3> q{d % kSide, (d / kSide) % kSide, d / (kSide * kSide)};
      for (Index m = 0; m < 3; ++m) {
        const Index ahead = (q[m] + kSide - p[m]) % kSide;
        const bool back = ahead > kSide / 2;
        for (Index h = back ? kSide - ahead : ahead; h > 0; --h) {
          links.push_back((((p[2] * kSide + p[1]) * kSide + p[0]) * 3 + m) * 2 + (back ? 1 : 0));
          p[m] = (p[m] + (back ? kSide - 1 : 1)) % kSide;
        }
      }
      r = c.route(s, d, links.data(), links.size());
    }
    t += -std::log(1 - g.unit()) / kArrivals;
    c.flow(r, std::floor(kSize * (0.5 + g.unit())), t);
    ++f;
  }
}

}  // namespace

Case make_case(const std::string& name, Index n, double jit) {
  Case c;
  Random g;
  g.jit = jit;
  if (name == "ring")
    ring(c, n, g);
  else if (name == "mesh" || name == "meshw1")
    mesh(c, n, g, name == "meshw1");
  else if (name == "sw" || name == "swshift")
    switched(c, n, g, name == "swshift");
  else if (name == "numa_a2a" || name == "numa_ring")
    numa(c, n, g, name == "numa_ring");
  else if (name == "torus")
    torus(c, n, g);
  else if (name == "perm")
    permutations(c, n, g);
  else
    throw std::invalid_argument("unknown case " + name);
  c.finish();
  return c;
}

}  // namespace bench
