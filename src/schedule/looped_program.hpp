// The program that each core of a looped einsum runs, the same on every rank: einsums, adds and copies of the loop with
// the Starts and Dones of its permutes, in the order in which the placement puts them.
#pragma once

#include <functional>
#include <vector>

#include "overlap/workload.hpp"
#include "schedule/placement.hpp"

namespace overlap::blocks {

struct LoopShape {
  Pattern pattern = Pattern::ag_gemm;
  std::uint32_t ranks = 1;
  bool bi = false;           // two streams, one a direction
  std::uint32_t chains = 1;  // GEMM+RS, one stream: accumulator chains, each moving as many hops at once
  bool carries = false;      // the carried buffer is copied once a step
  [[nodiscard]] std::uint32_t steps() const { return bi ? ranks / 2 : ranks; }
  [[nodiscard]] std::uint32_t streams() const { return bi ? 2 : chains; }
  [[nodiscard]] bool scatters() const { return pattern == Pattern::gemm_rs; }
  // Shards gathered along K lie apart, so that a step of two streams is two einsums that accumulate.
  [[nodiscard]] bool einsum_per_stream() const { return bi && pattern == Pattern::agk_gemm; }
};

struct CoreStep {
  enum class What : std::uint8_t { einsum, carry, add, join, start, done } what = What::einsum;
  std::uint32_t stream = 0;
  std::uint32_t step = 0;     // of the loop
  std::uint32_t permute = 0;  // start, done: into LoopProgram::permutes
};

// What a stream holds changes with every permute and every add: versions are numbered from 0, the one it starts with.
struct Permute {
  std::uint32_t stream = 0;
  std::uint32_t from = 0;  // version that is sent; from + 1 is what arrives
  std::uint32_t hops = 1;
  enum class Role : std::uint8_t { loop, prologue, epilogue } role = Role::loop;
};

struct LoopProgram {
  std::vector<CoreStep> steps;
  std::vector<Permute> permutes;
};

// `einsum` and `hop`: what the placement takes for the time of one shard's einsum and of one hop of a shard.
LoopProgram loop_program(const LoopShape& shape, PlacementPolicy policy, std::uint32_t in_flight, double einsum,
                         double hop);
// Version that the einsum (or add) of a step uses of a stream.
std::uint32_t loop_version(const LoopShape& shape, std::uint32_t stream, std::uint32_t step);

// End of the program when all ranks are in step: einsums one after another, permutes of a stream's lane one after
// another, a Done waits; adds and copies are free.
Seconds run_program(const LoopProgram& program, Seconds einsum, const std::function<Seconds(const Permute&)>& time);

}  // namespace overlap::blocks
