#include "cost/gemm_plan.hpp"

namespace overlap::cost {

// T = 2 m n k / peak.
GemmPlan plan_ideal(const GemmQuery& q) {
  GemmPlan p;
  p.whole = true;
  p.total = ideal_gemm_time(*q.device, q.shape, q.operand);
  p.tile_time = p.total;
  return p;
}

}  // namespace overlap::cost
