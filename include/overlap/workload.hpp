// The undivided layer and its tensor-parallel division. Everything per GPU is derived here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "overlap/dtype.hpp"
#include "overlap/units.hpp"

namespace overlap {

enum class Pattern : std::uint8_t {
  ag_gemm,   // X [tokens/P, in] a device is gathered; W [in, out/P]; Y [tokens, out/P]   (column parallel)
  gemm_rs,   // X [tokens, in/P]; W [in/P, out]; Y reduce-scattered to [tokens/P, out]    (row parallel)
  gemm_ar,   // X [tokens, in/P]; W [in/P, out]; Y [tokens, out] all-reduced
  a2a_gemm,  // X re-divided from columns to rows by an all-to-all beside a GEMM (MoE, Ulysses)
  bulk,      // a collective beside an independent GEMM
  agk_gemm,  // X [tokens, in/P] a device is gathered along its columns, the contracting dimension; else as ag_gemm
};

[[nodiscard]] std::string_view to_text(Pattern p);  // "ag+gemm", ..., "bulk", "agk+gemm"

struct Workload {
  std::string name;
  Pattern pattern = Pattern::ag_gemm;
  std::uint32_t tokens = 0;  // rows of the undivided X
  std::uint32_t in = 0;      // columns of X = rows of W, undivided
  std::uint32_t out = 0;     // columns of W, undivided
  std::uint32_t tp = 1;      // tensor-parallel degree P
  DType operand = DType::bf16;
  DType output = DType::bf16;
  DType wire = DType::bf16;  // of what the collective moves
  std::string source;
};

struct GemmShape {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  [[nodiscard]] Flops flops() const { return Flops(2.0 * m * n * k); }
};

// The GEMM of rank r. Extents that P does not divide give the first (extent mod P) ranks one more.
[[nodiscard]] GemmShape local_gemm(const Workload& w, std::uint32_t rank);
// Whole tensor that the collective gathers, scatters or reduces, on the wire.
[[nodiscard]] Bytes collective_bytes(const Workload& w);
// Piece `index` of `extent` cut in `pieces`: the first (extent mod pieces) have one more. begin and size.
struct Extent {
  std::uint32_t begin = 0;
  std::uint32_t size = 0;
};
[[nodiscard]] Extent piece(std::uint32_t extent, std::uint32_t pieces, std::uint32_t index);

}  // namespace overlap
