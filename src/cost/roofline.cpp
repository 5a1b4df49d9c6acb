#include <algorithm>

#include "cost/gemm_plan.hpp"

namespace overlap::cost {

Bytes least_traffic(const GemmQuery& q) {
  const auto [m, n, k] = q.shape;
  const double in = size_of(q.operand).si();
  const double out = size_of(q.output).si() * (q.accumulate && q.effects.accumulate ? 2.0 : 1.0);
  return Bytes(in * (double{1} * m * k + double{1} * k * n) + out * m * n);
}

// T = max(2 m n k / peak, bytes / (HBM rate * its efficiency)).
GemmPlan plan_roofline(const GemmQuery& q) {
  GemmPlan p;
  p.whole = true;
  p.traffic = least_traffic(q);
  p.total =
      std::max(ideal_gemm_time(*q.device, q.shape, q.operand), p.traffic / (q.device->hbm * q.device->hbm_efficiency));
  p.tile_time = p.total;
  return p;
}

}  // namespace overlap::cost
