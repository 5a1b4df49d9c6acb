// Small machines built in code, and every check that needs no times, for one schedule instance.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "overlap/cost.hpp"
#include "overlap/schedule.hpp"

namespace families {

struct Box {
  overlap::Topology topology;
  std::vector<overlap::Device> devices;
};

// 8 GPUs in two NUMA nodes: NVLink pairs, PCIe to the node, a link between the nodes. Rates in GB/s, no latency.
Box numa_box(double nvlink, double pcie, double qpi);
// Full mesh of n with one link of 50 GB/s a pair.
Box mesh(std::uint32_t n);
// n GPUs behind one switch that multicasts and reduces.
Box switched(std::uint32_t n);

// n GPUs, each on a port of `gb` GB/s to one host node.
Box star(std::uint32_t n, double gb);

// Ideal compute and none of the effects but injection limits: closed forms are exact.
overlap::CostOptions bare();

overlap::Workload layer(overlap::Pattern p, std::uint32_t tokens, std::uint32_t in, std::uint32_t out,
                        std::uint32_t tp);

using Given = std::vector<std::pair<std::string, overlap::ParamValue>>;
// The graph, or nothing where the schedule refuses.
std::optional<overlap::OpGraph> graph_of(std::string_view schedule, const Box& box, const overlap::Workload& w,
                                         const Given& given);
// Problems of validate, races and two reference runs; empty = none. `refused` counts refusals.
std::vector<std::string> problems(std::string_view schedule, const Box& box, const overlap::Workload& w,
                                  const Given& given, int* refused = nullptr);
// All combinations of the search values of a schedule.
std::vector<Given> search_space(const overlap::ScheduleInfo& info);

}  // namespace families
