#include "overlap/workload.hpp"

namespace overlap {

std::string_view to_text(Pattern p) {
  switch (p) {
    case Pattern::ag_gemm:
      return "ag+gemm";
    case Pattern::gemm_rs:
      return "gemm+rs";
    case Pattern::gemm_ar:
      return "gemm+ar";
    case Pattern::a2a_gemm:
      return "a2a+gemm";
    case Pattern::bulk:
      return "bulk";
    case Pattern::agk_gemm:
      return "agk+gemm";
  }
  return "";
}

Extent piece(std::uint32_t extent, std::uint32_t pieces, std::uint32_t index) {
  const std::uint32_t base = extent / pieces;
  const std::uint32_t more = extent % pieces;
  return {index * base + (index < more ? index : more), base + (index < more ? 1U : 0U)};
}

GemmShape local_gemm(const Workload& w, std::uint32_t rank) {
  switch (w.pattern) {
    case Pattern::ag_gemm:
    case Pattern::agk_gemm:
      return {w.tokens, piece(w.out, w.tp, rank).size, w.in};
    case Pattern::gemm_rs:
    case Pattern::gemm_ar:
      return {w.tokens, w.out, piece(w.in, w.tp, rank).size};
    case Pattern::a2a_gemm:
      return {piece(w.tokens, w.tp, rank).size, w.out, w.in};
    case Pattern::bulk:
      return {w.tokens, piece(w.out, w.tp, rank).size, w.in};
  }
  return {};
}

Bytes collective_bytes(const Workload& w) {
  const bool reduces = w.pattern == Pattern::gemm_rs || w.pattern == Pattern::gemm_ar;
  return size_of(w.wire) * static_cast<double>(w.tokens) * static_cast<double>(reduces ? w.out : w.in);
}

}  // namespace overlap
