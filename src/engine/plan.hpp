// What a run needs of an OpGraph, in flat arrays: who waits for whom. Built once, read only.
//
// A *source* is something that completes: op i is source i, part p of a tiled Gemm is source ops + p. A *target* waits:
// member m of an op (its index in the graph's lane_refs), or a part of a tiled Gemm (kPartBit | part).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "overlap/engine.hpp"

namespace overlap::engine {

inline constexpr std::uint32_t kNone = 0xffffffffU;
inline constexpr std::uint32_t kPartBit = 0x80000000U;

// A part of a tiled Gemm, in one place because a run touches all of it at once.
struct PartState {
  std::uint32_t pending = 0;     // completions it waits for
  std::uint32_t unstarted = 0;   // tiles
  std::uint32_t unfinished = 0;  // tiles
  std::uint32_t op = kNone;
};

struct Plan {
  std::vector<std::uint32_t> member_op;
  std::vector<std::uint32_t> lane_next;       // next member of the same lane, or kNone
  std::vector<std::uint32_t> member_pending;  // completions that a member waits for, its lane's previous op included
  std::vector<PartState> parts;               // by PartId; `pending` of parts of tiled Gemms, the rest is the run's
  std::vector<std::uint32_t> successor_begin;
  std::vector<std::uint32_t> successors;  // targets, by source
  std::vector<std::uint32_t> lane_first;  // first member of each lane, or kNone
  bool whole_gemms = false;               // there are Gemms that are not priced as tiles
  [[nodiscard]] std::span<const std::uint32_t> targets(std::uint32_t source) const {
    return {successors.data() + successor_begin[source], successor_begin[source + 1] - successor_begin[source]};
  }
};

// A dependency on an op that ran on one of the op's devices holds back the member of that device, any other all
// members. Waits of parts of a Gemm that is not priced as tiles hold back the whole op, and its parts complete with it.
// Throws CheckError when a dependency or a demand names something that does not exist.
Plan make_plan(const OpGraph& graph, const Demands& demands);

// The previous member of each member's lane, or kNone.
std::vector<std::uint32_t> previous_in_lane(const Plan& plan);

}  // namespace overlap::engine
