// The tile kernel for any chip from sm_80 on: 128 x 128 tiles, eight warps of 64 x 32, mma.sync m16n8k16, three stages
// of K = 32 loaded with cp.async. Any alignment and any extents: what does not lie on 16 bytes is loaded element by
// element.
#include <cuda_bf16.h>

#include "cuda/device/tile_schedule.cuh"

namespace overlap::gpu {
namespace {

constexpr std::uint32_t kM = kMmaTile.rows;
constexpr std::uint32_t kN = kMmaTile.cols;
constexpr std::uint32_t kK = 32;
constexpr std::uint32_t kStages = 3;
constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kPitchA = kK + 8;  // elements; 16 bytes of padding keep ldmatrix free of bank conflicts
constexpr std::uint32_t kPitchB = kN + 8;

struct Shared {
  alignas(16) __nv_bfloat16 a[kStages][kM * kPitchA];
  alignas(16) __nv_bfloat16 b[kStages][kK * kPitchB];
  Tile tile;
};

__device__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

// Eight elements of a row from column `col`; zero beyond the edges.
__device__ void load_eight(__nv_bfloat16* dst, const __nv_bfloat16* row, bool inside, std::uint32_t col,
                           std::uint32_t cols) {
  const bool whole = inside && col + 8 <= cols && reinterpret_cast<std::uintptr_t>(row + col) % 16 == 0;
  if (whole) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(dst)), "l"(row + col) : "memory");
    return;
  }
#pragma unroll
  for (std::uint32_t i = 0; i < 8; ++i) {
    dst[i] = inside && col + i < cols ? row[col + i] : __float2bfloat16_rn(0.0F);
  }
}

__device__ void load_stage(const TileProduct& p, const Tile& tile, std::uint32_t k, __nv_bfloat16* a,
                           __nv_bfloat16* b) {
  const auto* ga = static_cast<const __nv_bfloat16*>(p.a);
  const auto* gb = static_cast<const __nv_bfloat16*>(p.b);
  for (std::uint32_t i = threadIdx.x; i < kM * kK / 8; i += kThreads) {
    const std::uint32_t r = i / (kK / 8);
    const std::uint32_t c = i % (kK / 8) * 8;
    const std::uint32_t row = tile.row * kM + r;
    load_eight(a + r * kPitchA + c, ga + row * p.lda, row < p.m, k + c, p.k);
  }
  for (std::uint32_t i = threadIdx.x; i < kK * kN / 8; i += kThreads) {
    const std::uint32_t r = i / (kN / 8);
    const std::uint32_t c = i % (kN / 8) * 8;
    load_eight(b + r * kPitchB + c, gb + (k + r) * p.ldb, k + r < p.k, tile.col * kN + c, p.n);
  }
}

__device__ void load_matrix(std::uint32_t (&r)[4], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(p))
               : "memory");
}
__device__ void load_matrix_transposed(std::uint32_t (&r)[4], const void* p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(p))
               : "memory");
}
__device__ void mma(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ void multiply_stage(float (&acc)[4][4][4], const __nv_bfloat16* a, const __nv_bfloat16* b) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t row = threadIdx.x / 32 % 2 * 64;
  const std::uint32_t col = threadIdx.x / 64 * 32;
#pragma unroll
  for (std::uint32_t k = 0; k < kK; k += 16) {
    std::uint32_t fa[4][4];
    std::uint32_t fb[2][4];
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i) {
      load_matrix(fa[i], a + (row + i * 16 + lane % 16) * kPitchA + k + lane / 16 * 8);
    }
#pragma unroll
    for (std::uint32_t j = 0; j < 2; ++j) {
      load_matrix_transposed(fb[j], b + (k + lane % 16) * kPitchB + col + j * 16 + lane / 16 * 8);
    }
#pragma unroll
    for (std::uint32_t i = 0; i < 4; ++i) {
#pragma unroll
      for (std::uint32_t j = 0; j < 4; ++j) mma(acc[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
    }
  }
}

__device__ void store_tile(const TileProduct& p, const Tile& tile, const float (&acc)[4][4][4]) {
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t row = tile.row * kM + threadIdx.x / 32 % 2 * 64 + lane / 4;
  const std::uint32_t col = tile.col * kN + threadIdx.x / 64 * 32 + lane % 4 * 2;
  auto* c = static_cast<__nv_bfloat16*>(p.c);
#pragma unroll
  for (std::uint32_t i = 0; i < 4; ++i) {
#pragma unroll
    for (std::uint32_t j = 0; j < 4; ++j) {
#pragma unroll
      for (std::uint32_t e = 0; e < 4; ++e) {
        const std::uint32_t r = row + i * 16 + e / 2 * 8;
        const std::uint32_t q = col + j * 8 + e % 2;
        if (r >= p.m || q >= p.n) continue;
        __nv_bfloat16* to = c + r * p.ldc + q;
        *to = __float2bfloat16_rn(p.accumulate != 0 ? acc[i][j][e] + __bfloat162float(*to) : acc[i][j][e]);
      }
    }
  }
}

__device__ void multiply_tile(const TileProduct& p, const Tile& tile, Shared& s) {
  float acc[4][4][4] = {};
  const std::uint32_t steps = (p.k + kK - 1) / kK;
  for (std::uint32_t i = 0; i < kStages - 1; ++i) {
    if (i < steps) load_stage(p, tile, i * kK, s.a[i], s.b[i]);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (std::uint32_t i = 0; i < steps; ++i) {
    asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
    __syncthreads();
    const std::uint32_t ahead = i + kStages - 1;
    if (ahead < steps) load_stage(p, tile, ahead * kK, s.a[ahead % kStages], s.b[ahead % kStages]);
    asm volatile("cp.async.commit_group;" ::: "memory");
    multiply_stage(acc, s.a[i % kStages], s.b[i % kStages]);
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  store_tile(p, tile, acc);
}

__global__ void __launch_bounds__(kThreads) tile_gemm(const __grid_constant__ TileArgs args) {
  extern __shared__ unsigned char raw[];
  Shared& s = *reinterpret_cast<Shared*>(raw);
  TilePicker picker;
  while (true) {
    if (threadIdx.x == 0) s.tile = picker.next<kM, kN>(args);
    __syncthreads();
    const Tile tile = s.tile;
    if (tile.part == kNoTile) break;
    multiply_tile(args.products[tile.product], tile, s);
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) finish_tile(args, tile);
  }
  if (threadIdx.x == 0) leave(args);
}

}  // namespace

void prepare_mma() {
  check(cudaFuncSetAttribute(tile_gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sizeof(Shared))),
        "cudaFuncSetAttribute");
}

void launch_tile_gemm_mma(const TileArgs& args, std::uint32_t ctas, gpuStream_t stream) {
  tile_gemm<<<ctas, kThreads, sizeof(Shared), stream>>>(args);
  check(gpuGetLastError(), "tile kernel (mma)");
}

}  // namespace overlap::gpu
