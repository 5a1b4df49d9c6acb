#include <fmt/format.h>

#include <algorithm>

#include "overlap/best.hpp"

namespace overlap {
namespace {

// Bytes that must cross from a side of `left` ranks to the rest, and back.
std::pair<Bytes, Bytes> must_cross(const Workload& w, double left) {
  const double p = w.tp;
  const double right = p - left;
  const Bytes m = collective_bytes(w);
  switch (w.pattern) {
    case Pattern::ag_gemm:
    case Pattern::agk_gemm:
    case Pattern::bulk:
      return {m * (left / p), m * (right / p)};
    case Pattern::gemm_rs:
      return {m * (right / p), m * (left / p)};
    case Pattern::gemm_ar:
      return {m, m};
    case Pattern::a2a_gemm:
      return {m * (left * right / (p * p)), m * (left * right / (p * p))};
  }
  return {};
}

Bytes least_hbm_traffic(const Workload& w, std::uint32_t rank) {
  const GemmShape g = local_gemm(w, rank);
  const double x = static_cast<double>(g.m) * g.k;
  const double weights = static_cast<double>(g.k) * g.n;
  const double y = static_cast<double>(g.m) * g.n;
  const bool reduces = w.pattern == Pattern::gemm_rs || w.pattern == Pattern::gemm_ar;
  // Partial sums may leave from registers; X may be coded or gathered, but is read by the GEMM.
  return size_of(w.operand) * (x + weights) + size_of(w.output) * (reduces ? 0.0 : y);
}

}  // namespace

std::vector<PhysicalBound> physical_bounds(const Workload& w, const Machine& machine) {
  std::vector<PhysicalBound> out;
  Seconds flops;
  Seconds hbm;
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const Device& d = machine.devices[r];
    flops = std::max(flops, ideal_gemm_time(d, local_gemm(w, r), w.operand));
    if (d.hbm.si() > 0) hbm = std::max(hbm, least_hbm_traffic(w, r) / d.hbm);
  }
  out.push_back({"FLOPs over peak", flops});
  out.push_back({"HBM: operands once", hbm});
  for (const Cut& c : machine.topology.cuts()) {
    double left = 0;
    for (const DeviceId d : c.left) left += d.v < w.tp ? 1 : 0;
    if (left == 0 || left == w.tp) continue;
    const auto [there, back] = must_cross(w, left);
    out.push_back({fmt::format("cut {}", c.name), std::max(there / c.left_to_right, back / c.right_to_left)});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const PhysicalBound& a, const PhysicalBound& b) { return a.time > b.time; });
  return out;
}

}  // namespace overlap
