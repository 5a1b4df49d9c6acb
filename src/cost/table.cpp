#include <array>

#include "cost/gemm_plan.hpp"
#include "overlap/error.hpp"

namespace overlap::cost {
namespace {
constexpr std::array kModels = {
    ComputeModelInfo{ComputeModel::ideal, "ideal", "FLOPs over peak and nothing else", plan_ideal},
    ComputeModelInfo{ComputeModel::roofline, "roofline", "the larger of FLOPs over peak and bytes over HBM rate",
                     plan_roofline},
    ComputeModelInfo{ComputeModel::tile, "tile", "tiles, waves, L2 reuse and split K, the fastest candidate taken",
                     plan_tile},
};
}  // namespace

std::span<const ComputeModelInfo> compute_models() {
  return kModels;
}

const ComputeModelInfo& find_compute_model(ComputeModel m) {
  for (const ComputeModelInfo& info : kModels) {
    if (info.model == m) return info;
  }
  throw CheckError("a compute model is missing from the table");
}

}  // namespace overlap::cost
