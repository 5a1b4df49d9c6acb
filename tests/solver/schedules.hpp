// Closed-loop schedules for the solver tests: a flow starts when its predecessors have ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "overlap/solver.hpp"

namespace test {

struct Schedule {
  std::vector<overlap::Bandwidth> capacities;
  struct Flow {
    std::vector<overlap::Use> uses;
    overlap::Bytes work;
    std::vector<std::uint32_t> after;
  };
  std::vector<Flow> flows;

  std::uint32_t flow(std::initializer_list<std::uint32_t> links, double bytes, std::vector<std::uint32_t> after = {});
};

// `uneven`: capacities (rings) or sizes (others) up to this share above nominal; 1 GB over 1 GB/s.
Schedule ring_schedule(std::uint32_t ranks, double uneven);
Schedule switch_schedule(std::uint32_t ranks, double uneven, bool pairwise);
// All-to-all on 8 GPUs of two sockets, `times` in a row: PCIe 16 GB/s, 19.2 GB/s between the sockets.
Schedule numa_schedule(std::uint32_t times, double uneven);

// Completion date by flow.
std::vector<double> replay(overlap::FlowSolver& solver, const Schedule& schedule);

// FNV-1a over the bits.
std::string checksum(const std::vector<double>& values);

}  // namespace test
