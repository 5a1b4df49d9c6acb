#include "cost/gemm_plans.hpp"

namespace overlap {

Seconds ideal_gemm_time(const Device& device, GemmShape shape, DType operand) {
  return shape.flops() / device.peak_of(operand);
}

Seconds gemm_time(const Device& device, GemmShape shape, DType operand, DType output, bool accumulate,
                  ComputeModel model, const Effects& effects) {
  return gemm_time(nullptr, device, shape, operand, output, accumulate, model, effects);
}

Seconds gemm_time(GemmPlans* plans, const Device& device, GemmShape shape, DType operand, DType output, bool accumulate,
                  ComputeModel model, const Effects& effects) {
  return cost::plan_of(plans, model, {&device, shape, operand, output, accumulate, 0, {}, effects}).total;
}

}  // namespace overlap
