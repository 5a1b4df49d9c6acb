// GEMM plans that are kept. A plan hangs on the device, the GEMM, the model and three effects; the others are not shown
// to the model, so that runs which differ in them share a plan.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "cost/gemm_plan.hpp"

namespace overlap {

class GemmPlans {
 public:
  // `q.device` must outlive this and stay as it is.
  cost::GemmPlan of(ComputeModel model, const cost::GemmQuery& q);

 private:
  std::mutex guard_;
  std::map<std::vector<std::uint64_t>, cost::GemmPlan> known_;
};

namespace cost {
// From `plans` unless that is null.
GemmPlan plan_of(GemmPlans* plans, ComputeModel model, const GemmQuery& q);
}  // namespace cost

}  // namespace overlap
