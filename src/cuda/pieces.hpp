// Stacks of slices as what a device can do at once: rectangles to copy, products to compute.
#pragma once

#include <span>
#include <vector>

#include "overlap/op_graph.hpp"

namespace overlap::cuda {

// `rows` rows of `bytes` bytes; source and destination rows are `pitch` bytes apart. One row = contiguous.
struct CopyPiece {
  BufferId src;
  BufferId dst;
  std::uint64_t src_offset = 0;
  std::uint64_t dst_offset = 0;
  std::uint64_t src_pitch = 0;
  std::uint64_t dst_pitch = 0;
  std::uint64_t bytes = 0;
  std::uint64_t rows = 1;
  friend bool operator==(const CopyPiece&, const CopyPiece&) = default;
};

// Reads, stacked, to writes, stacked; as few pieces as the layout allows. Throws InputError when volumes differ or when
// rows of different length do not lie in one run.
std::vector<CopyPiece> copy_pieces(const OpGraph& graph, std::span<const Slice> reads, std::span<const Slice> writes);

// Neighbouring slices of a stack joined.
std::vector<Slice> merged(std::span<const Slice> stack);
// The stack as one run of memory without gaps: its buffer and byte offset; nullopt when it has gaps or several runs.
struct Run {
  BufferId buffer;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
bool contiguous(const OpGraph& graph, std::span<const Slice> stack, Run& run);

// C (+)= A B, each in one slice.
struct Product {
  Slice a;
  Slice b;
  Slice c;
  bool accumulate = false;
};
// Cut along m where A or C changes slice and along k where B does.
std::vector<Product> products(const OpGraph& graph, const Part& part, bool accumulate);

}  // namespace overlap::cuda
