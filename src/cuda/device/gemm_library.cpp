#include "cuda/device/gemm_library.hpp"

#include <fmt/format.h>

#include <utility>

#include "overlap/error.hpp"

namespace overlap::gpu {
namespace {

cudaDataType_t data_type(DType t) {
  switch (t) {
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    case DType::f32:
      return CUDA_R_32F;
    default:
      throw InputError("", fmt::format("the GPU backend multiplies bf16, f16 and f32, not {}", to_text(t)));
  }
}

void batch_layout(cublasLtMatrixLayout_t layout, std::uint32_t count, std::int64_t step) {
  if (count < 2) return;
  const auto batch = static_cast<std::int32_t>(count);
  const auto& set = cublaslt().layout_set;
  check(set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), "cublasLtMatrixLayoutSetAttribute");
  check(set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step),
        "cublasLtMatrixLayoutSetAttribute");
}

template <class T>
T config(const cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T value{};
  std::size_t written = 0;
  (void)cublaslt().config_get(&algo, attribute, &value, sizeof value, &written);
  return value;
}

}  // namespace

LibraryGemm::LibraryGemm(cublasLtHandle_t handle, const Problem& problem, Workspace workspace)
    : handle_(handle), problem_(problem), workspace_(workspace) {
  const CublasLt& lt = cublaslt();
  const cudaDataType_t in = data_type(problem.operand);
  const cudaDataType_t out = data_type(problem.output);
  check(lt.desc_create(&desc_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
  if (problem.sms > 0) {
    const auto target = static_cast<std::int32_t>(problem.sms);
    check(lt.desc_set(desc_, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, &target, sizeof target),
          "cublasLtMatmulDescSetAttribute");
  }
  check(lt.layout_create(&first_, in, problem.n, problem.k, static_cast<std::int64_t>(problem.ldb)),
        "cublasLtMatrixLayoutCreate");
  check(lt.layout_create(&second_, in, problem.k, problem.m, static_cast<std::int64_t>(problem.lda)),
        "cublasLtMatrixLayoutCreate");
  check(lt.layout_create(&result_, out, problem.n, problem.m, static_cast<std::int64_t>(problem.ldc)),
        "cublasLtMatrixLayoutCreate");
  batch_layout(first_, problem.batch, problem.step_b);
  batch_layout(second_, problem.batch, problem.step_a);
  batch_layout(result_, problem.batch, problem.step_c);
  cublasLtMatmulPreference_t preference = nullptr;
  check(lt.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  check(
      lt.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace.bytes, sizeof workspace.bytes),
      "cublasLtMatmulPreferenceSetAttribute");
  const auto align = [&](const void* p, cublasLtMatmulPreferenceAttributes_t attribute) {
    std::uint32_t bytes = 256;
    while (reinterpret_cast<std::uintptr_t>(p) % bytes != 0) bytes /= 2;
    check(lt.preference_set(preference, attribute, &bytes, sizeof bytes), "cublasLtMatmulPreferenceSetAttribute");
  };
  align(problem.b, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  align(problem.a, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
  align(problem.c, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
  align(problem.c, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  const auto status = lt.heuristic(handle, desc_, first_, second_, result_, result_, preference, 1, &found, &count);
  (void)lt.preference_destroy(preference);
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  if (count == 0) fail("cublasLtMatmulAlgoGetHeuristic", "no algorithm for these extents", "choose other extents");
  algo_ = found.algo;
}

LibraryGemm::~LibraryGemm() {
  if (desc_ == nullptr) return;
  const CublasLt& lt = cublaslt();
  (void)lt.layout_destroy(first_);
  (void)lt.layout_destroy(second_);
  (void)lt.layout_destroy(result_);
  (void)lt.desc_destroy(desc_);
}

LibraryGemm::LibraryGemm(LibraryGemm&& other) noexcept
    : handle_(other.handle_),
      problem_(other.problem_),
      workspace_(other.workspace_),
      desc_(std::exchange(other.desc_, nullptr)),
      first_(other.first_),
      second_(other.second_),
      result_(other.result_),
      algo_(other.algo_) {}

void LibraryGemm::launch(gpuStream_t stream) const {
  const float alpha = 1.0F;
  const float beta = problem_.accumulate ? 1.0F : 0.0F;
  check(cublaslt().matmul(handle_, desc_, &alpha, problem_.b, first_, problem_.a, second_, &beta, problem_.c, result_,
                          problem_.c, result_, &algo_, workspace_.memory, workspace_.bytes, stream),
        "cublasLtMatmul");
}

std::string LibraryGemm::algorithm() const {
  return fmt::format(
      "algo {} tile {} stages {} cluster {} split-k {} reduction {} swizzle {} custom {} inner {} batch {}",
      config<std::int32_t>(algo_, CUBLASLT_ALGO_CONFIG_ID), config<std::uint32_t>(algo_, CUBLASLT_ALGO_CONFIG_TILE_ID),
      config<std::uint32_t>(algo_, CUBLASLT_ALGO_CONFIG_STAGES_ID),
      config<std::uint16_t>(algo_, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID),
      config<std::int32_t>(algo_, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
      config<std::uint32_t>(algo_, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME),
      config<std::uint32_t>(algo_, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING),
      config<std::uint32_t>(algo_, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION),
      config<std::uint16_t>(algo_, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID), problem_.batch);
}

}  // namespace overlap::gpu
