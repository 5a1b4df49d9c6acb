// Whole slices between peers, one GEMM a slice: own slice first where slices are gathered, last where partial sums are
// scattered. Shared by shard-level P2P overlap and CommFuse.
#pragma once

#include "schedule/blocks.hpp"

namespace overlap::blocks {

// Slices come from one peer after another (comm.path direct: each from its owner, `comm.lanes` peers at once; ring:
// handed on by the neighbour), each in `chunks` pieces with a GEMM a piece.
std::vector<Tensor> p2p_gather(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Comm& comm,
                               std::uint32_t chunks);
// Partial sums for the other ranks first, each piece sent to its owner when done; own slice last, then one add.
std::vector<Tensor> p2p_scatter(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Comm& comm,
                                std::uint32_t chunks);
// All-to-all before a GEMM: the block that the rank holds first, then blocks of columns of X as they come from their
// owners; GEMMs accumulate along K.
std::vector<Tensor> p2p_exchange(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Comm& comm,
                                 std::uint32_t chunks);

// One peer at a time (comm.lanes = 1 or ring): AG and all-to-all (n-1) max(tc, tm) + tc, RS max(n tc, tc + (n-1) tm),
// with the pieces' own times.
std::optional<ClosedForm> p2p_closed_form(const ScheduleContext& ctx, const PieceTimes& times, const Comm& comm,
                                          std::uint32_t chunks);

}  // namespace overlap::blocks
