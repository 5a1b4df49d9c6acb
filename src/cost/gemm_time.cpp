#include "cost/gemm_plan.hpp"

namespace overlap {

Seconds ideal_gemm_time(const Device& device, GemmShape shape, DType operand) {
  return shape.flops() / device.peak_of(operand);
}

Seconds gemm_time(const Device& device, GemmShape shape, DType operand, DType output, bool accumulate,
                  ComputeModel model, const Effects& effects) {
  return cost::find_compute_model(model).plan({&device, shape, operand, output, accumulate, 0, {}, effects}).total;
}

}  // namespace overlap
