// AG+GEMM and GEMM+RS cut along the tokens in d stages, each a collective and a GEMM: serial is d = 1, InterDecom d
// > 1.
#pragma once

#include "schedule/blocks.hpp"

namespace overlap::blocks {

struct Stages {
  std::uint32_t count = 1;
  Comm comm;
};

// Stage i gathers piece i of every rank's shard; GEMM i runs on those rows as soon as they are there.
std::vector<Tensor> gather_stages(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Stages& s);
// GEMM i computes the rows of piece i of every rank's result; stage i reduces and scatters them meanwhile.
std::vector<Tensor> scatter_stages(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Stages& s);

// AGK+GEMM, whole: blocks of columns are gathered as they lie, a kernel puts them side by side, one GEMM.
std::vector<Tensor> gather_columns(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in,
                                   const Comm& comm);

// Rows of stage i over all ranks, and the GEMM that rank r runs in it.
std::uint32_t stage_rows(const Workload& w, std::uint32_t stages, std::uint32_t i);
GemmShape stage_gemm(const Workload& w, std::uint32_t stages, std::uint32_t i, std::uint32_t rank);
// Time of the collective of stage i, and whether it is exact on this network (see phase_time()).
struct StageTime {
  Seconds time;
  bool exact = false;
};
StageTime stage_collective(const ScheduleContext& ctx, const PieceTimes& times, std::uint32_t stages, std::uint32_t i);

}  // namespace overlap::blocks
