// Remote stores that the tile kernel can make itself.
#pragma once

#include <vector>

#include "overlap/cuda.hpp"

namespace overlap::cuda {

// Transfers by remote store whose reads are the whole result of one plain bf16 Gemm that nobody else reads, and that
// lead to one rectangle of the same extents.
std::vector<EpilogueStore> epilogue_stores(const OpGraph& graph);

}  // namespace overlap::cuda
