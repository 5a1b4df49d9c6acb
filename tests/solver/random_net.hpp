// Random networks and random sequences of events for the solver tests.
#pragma once

#include <cstdint>
#include <vector>

#include "overlap/solver.hpp"

namespace test {

struct Random {  // splitmix64
  std::uint64_t s;
  std::uint64_t next() {
    std::uint64_t z = (s += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(next() % n); }
};

struct NetFlow {
  std::vector<overlap::Use> uses;
  double share = 1;
  overlap::Bandwidth cap{1e300};
  overlap::Bytes work;

  [[nodiscard]] overlap::FlowSpec spec() const { return {uses, share, cap, work}; }
};

// How flows choose resources, and what is uneven.
struct NetKind {
  const char* name;
  std::uint32_t resources;
  std::uint32_t hops;    // most uses a flow
  bool even = false;     // capacities, sizes: all equal
  bool weights = false;  // consumption weights other than 1, now and then 0
  bool shares = false;
  bool caps = false;
  bool bipartite = false;  // two uses: one of the first half, one of the second (a switch)
};

const std::vector<NetKind>& net_kinds();

std::vector<overlap::Bandwidth> random_capacities(const NetKind& kind, Random& g);
NetFlow random_flow(const NetKind& kind, Random& g);

}  // namespace test
