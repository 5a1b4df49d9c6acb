// A collective as data movement: what one library call can do, and what copies and sums do in its place.
#pragma once

#include <vector>

#include "cuda/pieces.hpp"

namespace overlap::cuda {

// Equal rectangles that are added: terms[0] + terms[1] + ... -> dst. Offsets and pitches are in the CopyPieces; each
// term names the same destination rectangle.
struct SumPiece {
  std::vector<CopyPiece> terms;
};

// `groups` stacks of equal volume, added into `writes`; the writes themselves are a term too where `accumulate`.
// Throws InputError where the stacks are cut in ways that do not match.
std::vector<SumPiece> sum_pieces(const OpGraph& graph, const std::vector<std::vector<Slice>>& groups,
                                 std::span<const Slice> writes, bool accumulate);

struct CollectivePieces {
  // One run of memory a member on each side: the library's own collective takes it. Empty otherwise.
  std::vector<Run> send;
  std::vector<Run> recv;
  // By destination member: what is copied there, from any member (empty for reductions).
  std::vector<std::vector<CopyPiece>> copies;
  // By destination member: what is added there (reduce_scatter; all_reduce: the member's share, then spread).
  std::vector<std::vector<SumPiece>> sums;
  // all_reduce: the member's finished share to every other member.
  std::vector<std::vector<CopyPiece>> spread;
  [[nodiscard]] bool native() const { return !send.empty(); }
  // Contiguous pieces only: the library's send and receive can carry them.
  [[nodiscard]] bool point_to_point() const;
};

// The sums are made only where the collective runs `by_copies`.
CollectivePieces collective_pieces(const OpGraph& graph, const Op& op, bool by_copies);

}  // namespace overlap::cuda
