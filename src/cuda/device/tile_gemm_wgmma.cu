// The tile kernel on Hopper: one producer warp loads stages with TMA, two consumer warpgroups multiply 64 x 256 each
// with wgmma. A stage is A 128 x 64 and B 64 x 256, both with 128-byte swizzle: A as 128 rows of 128 bytes (K-major), B
// as four boxes of 64 rows of 128 bytes (N-major).
#include <cuda.h>
#include <cuda_bf16.h>

#include "cuda/device/tile_schedule.cuh"
#include "cuda/device/wgmma.cuh"

namespace overlap::gpu {
namespace {

constexpr std::uint32_t kM = kWgmmaTile.rows;
constexpr std::uint32_t kN = kWgmmaTile.cols;
constexpr std::uint32_t kK = kWgmmaDepth;
constexpr std::uint32_t kStages = 4;
constexpr std::uint32_t kConsumers = 256;
constexpr std::uint32_t kThreads = kConsumers + 128;
constexpr std::uint32_t kBytesA = kM * kK * 2;
constexpr std::uint32_t kBytesB = kN * kK * 2;
constexpr std::uint32_t kBoxBytes = kK * kWgmmaBoxColumns * 2;
constexpr std::uint32_t kSlots = 2;

struct Shared {
  alignas(1024) unsigned char a[kStages][kBytesA];
  alignas(1024) unsigned char b[kStages][kBytesB];
  alignas(8) std::uint64_t full[kStages];
  std::uint64_t empty[kStages];
  std::uint64_t slot_full[kSlots];
  std::uint64_t slot_empty[kSlots];
  Tile slot[kSlots];
};
constexpr std::uint32_t kSharedBytes = sizeof(Shared) + 1024;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

__device__ std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
__device__ void barrier_init(std::uint64_t* bar, std::uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count));
}
__device__ void barrier_expect(std::uint64_t* bar, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes)
               : "memory");
}
__device__ void barrier_arrive(std::uint64_t* bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}
__device__ void barrier_wait(std::uint64_t* bar, std::uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\n"
      "bra again;\n"
      "over:\n"
      "}\n" ::"r"(shared_address(bar)),
      "r"(parity)
      : "memory");
}
__device__ void load_box(void* dst, const CUtensorMap* map, std::uint64_t* bar, std::uint32_t x, std::uint32_t y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(shared_address(dst)),
      "l"(map), "r"(shared_address(bar)), "r"(x), "r"(y)
      : "memory");
}

// Shared-memory matrix descriptor with 128-byte swizzle; offsets in bytes.
__device__ std::uint64_t descriptor(const void* p, std::uint32_t leading, std::uint32_t stride) {
  const std::uint64_t address = shared_address(p);
  return ((address & 0x3ffffU) >> 4) | (std::uint64_t{leading >> 4} << 16) | (std::uint64_t{stride >> 4} << 32) |
         (std::uint64_t{1} << 62);
}

struct Ring {
  std::uint32_t at = 0;
  std::uint32_t phase = 0;
  __device__ void advance(std::uint32_t size) {
    if (++at == size) {
      at = 0;
      phase ^= 1U;
    }
  }
};

__device__ void produce(const TileArgs& args, Shared& s) {
  TilePicker picker;
  Ring stage;
  Ring slot;
  while (true) {
    const Tile tile = picker.next<kM, kN>(args);
    barrier_wait(&s.slot_empty[slot.at], slot.phase ^ 1U);
    s.slot[slot.at] = tile;
    barrier_arrive(&s.slot_full[slot.at]);
    slot.advance(kSlots);
    if (tile.part == kNoTile) return;
    // What flags announced was written by other proxies and GPUs; TMA reads it through the async proxy.
    asm volatile("fence.proxy.async;" ::: "memory");
    const TileProduct& p = args.products[tile.product];
    const auto* maps = static_cast<const CUtensorMap*>(args.maps);
    for (std::uint32_t k = 0; k < p.k; k += kK) {
      barrier_wait(&s.empty[stage.at], stage.phase ^ 1U);
      barrier_expect(&s.full[stage.at], kBytesA + kBytesB);
      load_box(s.a[stage.at], maps + p.map_a, &s.full[stage.at], k, tile.row * kM);
#pragma unroll
      for (std::uint32_t box = 0; box < kN / kWgmmaBoxColumns; ++box) {
        load_box(s.b[stage.at] + box * kBoxBytes, maps + p.map_b, &s.full[stage.at],
                 tile.col * kN + box * kWgmmaBoxColumns, k);
      }
      stage.advance(kStages);
    }
  }
}

__device__ void multiply_stage(float (&acc)[128], const Shared& s, std::uint32_t stage, std::uint32_t group,
                               bool keep) {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (std::uint32_t k = 0; k < kK / 16; ++k) {
    const std::uint64_t a = descriptor(s.a[stage] + group * 64 * 128 + k * 32, 16, 1024);
    const std::uint64_t b = descriptor(s.b[stage] + k * 16 * 128, kBoxBytes, 1024);
    wgmma_m64n256k16(acc, a, b, keep || k > 0 ? 1 : 0);
  }
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

__device__ std::uint32_t pack(float low, float high) {
  const __nv_bfloat162 v = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const std::uint32_t*>(&v);
}

// One row of one quad of lanes: four 8-column blocks, two columns a lane and block, to one whole block a lane.
__device__ uint4 gather_block(std::uint32_t (&v)[4], std::uint32_t lane) {
  const bool odd = (lane & 1U) != 0;
  const bool high = (lane & 2U) != 0;
  std::uint32_t w[4];
#pragma unroll
  for (int i = 0; i < 4; i += 2) {  // exchange within pairs of blocks
    const std::uint32_t got = __shfl_xor_sync(0xffffffffU, odd ? v[i] : v[i + 1], 1);
    w[i] = odd ? got : v[i];
    w[i + 1] = odd ? v[i + 1] : got;
  }
  std::uint32_t x[4];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t got = __shfl_xor_sync(0xffffffffU, high ? w[i] : w[i + 2], 2);
    x[i] = high ? got : w[i];
    x[i + 2] = high ? w[i + 2] : got;
  }
  return make_uint4(x[0], x[1], x[2], x[3]);
}

__device__ void store_element(__nv_bfloat16* c, float v, bool add) {
  *c = __float2bfloat16_rn(add ? v + __bfloat162float(*c) : v);
}

__device__ void store_edge(const TileProduct& p, const float (&acc)[128], std::uint32_t row, std::uint32_t col) {
  auto* c = static_cast<__nv_bfloat16*>(p.c);
#pragma unroll
  for (std::uint32_t j = 0; j < 32; ++j) {
#pragma unroll
    for (std::uint32_t e = 0; e < 4; ++e) {
      const std::uint32_t r = row + (e / 2) * 8;
      const std::uint32_t q = col + j * 8 + e % 2;
      if (r < p.m && q < p.n) store_element(c + r * p.ldc + q, acc[j * 4 + e], p.accumulate != 0);
    }
  }
}

__device__ void store_tile(const TileProduct& p, float (&acc)[128], const Tile& tile, std::uint32_t thread) {
  const std::uint32_t lane = thread % 32;
  const std::uint32_t row = tile.row * kM + thread / 128 * 64 + thread % 128 / 32 * 16 + lane / 4;
  const std::uint32_t col = tile.col * kN;
  auto* c = static_cast<__nv_bfloat16*>(p.c);
  const bool whole = (tile.row + 1) * kM <= p.m && (tile.col + 1) * kN <= p.n && p.ldc % 8 == 0 &&
                     reinterpret_cast<std::uintptr_t>(c) % 16 == 0 && p.accumulate == 0;
  if (!whole) {
    store_edge(p, acc, row, col + lane % 4 * 2);
    return;
  }
#pragma unroll
  for (std::uint32_t j = 0; j < 32; j += 4) {
#pragma unroll
    for (std::uint32_t half = 0; half < 2; ++half) {
      std::uint32_t v[4];
#pragma unroll
      for (std::uint32_t i = 0; i < 4; ++i) v[i] = pack(acc[(j + i) * 4 + half * 2], acc[(j + i) * 4 + half * 2 + 1]);
      const uint4 block = gather_block(v, lane);
      *reinterpret_cast<uint4*>(c + (row + half * 8) * p.ldc + col + (j + lane % 4) * 8) = block;
    }
  }
}

__device__ void consume(const TileArgs& args, Shared& s) {
  const std::uint32_t thread = threadIdx.x - 128;
  const std::uint32_t group = thread / 128;
  float acc[128];
  Ring stage;
  Ring slot;
  while (true) {
    barrier_wait(&s.slot_full[slot.at], slot.phase);
    const Tile tile = s.slot[slot.at];
    barrier_arrive(&s.slot_empty[slot.at]);
    slot.advance(kSlots);
    if (tile.part == kNoTile) return;
    const TileProduct& p = args.products[tile.product];
    const std::uint32_t steps = (p.k + kK - 1) / kK;
    std::uint32_t before = 0;
    for (std::uint32_t i = 0; i < steps; ++i) {
      barrier_wait(&s.full[stage.at], stage.phase);
      multiply_stage(acc, s, stage.at, group, i > 0);
      if (i > 0) {  // the stage before is read when at most the newest group is under way
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (thread % 128 == 0) barrier_arrive(&s.empty[before]);
      }
      before = stage.at;
      stage.advance(kStages);
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    if (thread % 128 == 0) barrier_arrive(&s.empty[before]);
    store_tile(p, acc, tile, thread);
    __threadfence_system();
    asm volatile("bar.sync 1, %0;" ::"n"(kConsumers) : "memory");
    if (thread == 0) finish_tile(args, tile);
  }
}

#endif

__global__ void __launch_bounds__(kThreads, 1) tile_gemm(const __grid_constant__ TileArgs args) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ unsigned char raw[];
  const std::uint32_t misaligned = shared_address(raw) % 1024;
  Shared& s = *reinterpret_cast<Shared*>(raw + (misaligned == 0 ? 0 : 1024 - misaligned));
  if (threadIdx.x == 0) {
    for (std::uint32_t i = 0; i < kStages; ++i) {
      barrier_init(&s.full[i], 1);
      barrier_init(&s.empty[i], 2);
    }
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      barrier_init(&s.slot_full[i], 1);
      barrier_init(&s.slot_empty[i], kConsumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0) produce(args, s);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    consume(args, s);
  }
  __syncthreads();
  if (threadIdx.x == 0) leave(args);
#endif
}

}  // namespace

void prepare_wgmma() {
  check(cudaFuncSetAttribute(tile_gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kSharedBytes)),
        "cudaFuncSetAttribute");
}

void launch_tile_gemm_wgmma(const TileArgs& args, std::uint32_t ctas, gpuStream_t stream) {
  tile_gemm<<<ctas, kThreads, kSharedBytes, stream>>>(args);
  check(gpuGetLastError(), "tile kernel (wgmma)");
}

}  // namespace overlap::gpu
