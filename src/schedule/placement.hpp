// List scheduling of one core's program that issues asynchronous transfers: where a Start is issued and a Done waited
// for among the computations, under a cap on transfers in flight (synchronisation flags).
//
// top_down   forwards: a Start as soon as its operands are there and a flag is free; a computation while one is ready;
//            a Done once its transfer should have arrived, or when nothing else is ready.
// bottom_up  backwards: a Done right before what needs it; its Start as early as its operands (and a flag, once what
// lies
//            between covers the transfer) allow. Starts end up early, Dones late.
// Where the source (Wang et al., ASPLOS 2023) is silent, ties go by program order; costs are the scheduler's estimates.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace overlap::blocks {

enum class PlacementPolicy : std::uint8_t { bottom_up, top_down };

struct Instr {
  enum class Kind : std::uint8_t { compute, start, done } kind = Kind::compute;
  double cost = 0;                   // compute: of itself; start and done: of the transfer; one unit for all
  std::uint32_t pair = 0;            // start: its done; done: its start
  std::vector<std::uint32_t> after;  // instructions that must come before (a done's start need not be named)
};

// Order of a program, indices into it. in_flight: most transfers between Start and Done; 0 = any number.
std::vector<std::uint32_t> place(std::span<const Instr> program, PlacementPolicy policy, std::uint32_t in_flight);

}  // namespace overlap::blocks
