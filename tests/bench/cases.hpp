// Workloads for the solver benchmarks: links, routes, flows, who waits for whom, start dates. Our driver and SimGrid's
// replay the same case. JIT > 0 makes capacities or sizes uneven.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace bench {

using Index = std::uint32_t;

struct Case {
  Index hosts = 0;
  std::vector<double> capacity;                // by link, byte/s
  std::vector<Index> route_at{0}, route_link;  // links of route r: route_link[route_at[r] .. route_at[r+1])
  std::vector<Index> route_src, route_dst;
  std::vector<Index> flow_route;
  std::vector<double> flow_size;   // bytes, whole
  std::vector<double> flow_start;  // date; < 0: when its predecessors have ended
  // Who waits for whom, by gates: flows with the same successors share one, which opens when the last of them ends.
  std::vector<Index> gate_of;        // by flow; empty: each flow is a gate of its own, of the same number
  std::vector<Index> gate_flows;     // number of its flows; empty: 1
  std::vector<Index> flow_waits;     // number of gates that a flow waits for
  std::vector<Index> next_at, next;  // successors by gate, as routes
  double expected = -1;              // closed-form makespan where there is one

  Index link(double c);
  Index route(Index src, Index dst, std::initializer_list<Index> links);
  Index route(Index src, Index dst, const Index* links, std::size_t n);
  Index flow(Index r, double size, double start = -1);
  void after(Index first, Index then) { edges.emplace_back(first, then); }
  void finish();  // after the last flow

 private:
  void share_gates();
  std::vector<std::pair<Index, Index>> edges;  // until finish()
};

// ring | mesh | meshw1 | sw | swshift | numa_a2a | numa_ring | torus | perm; n: size of the family.
// Throws std::invalid_argument on another name.
Case make_case(const std::string& name, Index n, double jit);

}  // namespace bench
