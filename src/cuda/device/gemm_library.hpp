// A Gemm through cuBLASLt: row-major C (+)= A B as column-major C^T = B^T A^T.
#pragma once

#include <string>
#include <vector>

#include "cuda/device/gpu_api.hpp"
#include "cuda/device/libraries.hpp"
#include "cuda/pieces.hpp"

namespace overlap::gpu {

struct Workspace {
  void* memory = nullptr;
  std::size_t bytes = 0;
};

// One product with the algorithm that the library's heuristic puts first. Movable handle of prepared descriptors.
class LibraryGemm {
 public:
  struct Problem {
    const void* a = nullptr;
    const void* b = nullptr;
    void* c = nullptr;
    std::uint64_t lda = 0, ldb = 0, ldc = 0;  // elements
    std::uint32_t m = 0, n = 0, k = 0;
    DType operand = DType::bf16;
    DType output = DType::bf16;
    bool accumulate = false;
    std::uint32_t sms = 0;  // 0 = all
    // Equal products at equal distances (elements) in one call.
    std::uint32_t batch = 1;
    std::int64_t step_a = 0, step_b = 0, step_c = 0;
  };
  LibraryGemm(cublasLtHandle_t handle, const Problem& problem, Workspace workspace);
  ~LibraryGemm();
  LibraryGemm(LibraryGemm&& other) noexcept;
  LibraryGemm& operator=(LibraryGemm&&) = delete;
  void launch(gpuStream_t stream) const;
  // "algo 66 tile 128x256 (id 20) stages 36 cluster 2x1 (id 3) split-k 1 swizzle 0"
  [[nodiscard]] std::string algorithm() const;

 private:
  cublasLtHandle_t handle_;
  Problem problem_;
  Workspace workspace_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr;   // B
  cublasLtMatrixLayout_t second_ = nullptr;  // A
  cublasLtMatrixLayout_t result_ = nullptr;  // C
  cublasLtMatmulAlgo_t algo_{};
};

}  // namespace overlap::gpu
