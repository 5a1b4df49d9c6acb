// Arithmetic of kernel tables: the time of one kernel, the library's choice, and the correction from measured rows.
#pragma once

#include "cost/gemm_plan.hpp"
#include "overlap/kernel_table.hpp"

namespace overlap::cost {

struct KernelCase {
  double m = 0, n = 0, k = 0;
  double least_bytes = 0;
  double sms = 0;
  bool accumulate = false;
  // Rectangles that tiles must not straddle: whoever writes a fused kernel takes a tile that suits them. Fewer than
  // two: the whole output.
  std::span<const Part> parts{};
};

// (a^4 + b^4)^(1/4) by square roots: the same bits on every machine.
double soft_max(double a, double b);

// Seconds of kernel `k` with `tiles` work items (output tiles times splits).
double kernel_time(const KernelTable& t, const KernelModel& k, const KernelCase& c, double tiles, double splits);

// The kernel and the split that the library would launch.
struct Choice {
  std::uint32_t kernel = 0;
  std::uint32_t splits = 1;
};
Choice library_choice(const KernelTable& t, const KernelCase& c);

// Sorts the rows; what was known of their places is forgotten.
void index_rows(KernelTable& t);
// The table without its rows of this n: what it would say of a weight shape that nobody measured.
std::shared_ptr<const KernelTable> without_columns(const KernelTable& t, std::uint32_t n);
// The table of the same device at another clock: loops take 1/ratio of their time, memory and launches what they did.
std::shared_ptr<const KernelTable> at_clock(const KernelTable& t, double ratio);
// The table for measurements of this project's own kernel: GEMMs with parts run as it.
std::shared_ptr<const KernelTable> with_fused_parts(const KernelTable& t);
// The measured row of exactly this GEMM; null when there is none.
const MeasuredGemm* exact_row(const KernelTable& t, const KernelCase& c);
// Factor by which measured rows of the same kernel near this GEMM differ from the coefficients.
double near_rows(const KernelTable& t, const KernelCase& c, Choice choice);

GemmPlan plan_from_table(const GemmQuery& q, const KernelTable& t);

}  // namespace overlap::cost
