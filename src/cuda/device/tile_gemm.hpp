// The persistent tile kernel of fused Gemms: one launch whose thread blocks take tiles part by part, wait on flags
// before a part's first use and raise a flag behind its last tile. Two versions share the schedule and the arguments:
// TMA and wgmma (sm_90a), and cp.async and mma.sync (sm_80 and later, any alignment).
#pragma once

#include <cstdint>

#include "cuda/device/gpu_api.hpp"

namespace overlap::gpu {

constexpr std::uint32_t kMaxGpus = 8;

// C (+)= A B of bf16, row-major, in one slice each. Tiles are numbered from first_tile inside the part.
struct TileProduct {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::uint64_t lda = 0;  // elements
  std::uint64_t ldb = 0;
  std::uint64_t ldc = 0;
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  std::uint32_t map_a = 0;  // into TileArgs::maps (wgmma version)
  std::uint32_t map_b = 0;
  std::uint32_t first_tile = 0;
  std::uint32_t accumulate = 0;
};

struct TilePart {
  std::uint32_t product_begin = 0;
  std::uint32_t product_end = 0;
  std::uint32_t wait_begin = 0;  // into TileArgs::waits
  std::uint32_t wait_end = 0;
  std::uint32_t tiles = 0;
  std::uint32_t first_tile = 0;      // in the kernel's numbering
  std::uint32_t flag = 0xffffffffU;  // raised behind the last tile; none
  std::uint32_t flag_gpus = 0;
};

// Counters in device memory; zero before the first launch, and each launch leaves them zero.
struct TileCounters {
  std::uint32_t next = 0;    // fixed order: next tile of the kernel
  std::uint32_t exited = 0;  // thread blocks that have finished
};

struct TileArgs {
  const void* maps = nullptr;  // CUtensorMap[]
  const TileProduct* products = nullptr;
  const TilePart* parts = nullptr;
  const std::uint32_t* waits = nullptr;  // flag indices
  std::uint32_t* flags[kMaxGpus] = {};   // flag array of each GPU
  std::uint32_t own_gpu = 0;
  std::uint32_t epoch = 0;  // a flag is up when it has reached this
  std::uint32_t part_count = 0;
  std::uint32_t tile_count = 0;
  std::uint32_t fixed = 0;  // parts in index order, waiting for each; else any part that is ready
  TileCounters* counters = nullptr;
  std::uint32_t* part_next = nullptr;  // by part: next tile
  std::uint32_t* part_done = nullptr;  // by part: tiles stored
  std::uint64_t* part_end = nullptr;   // by part: clock of the last tile
  std::uint64_t* tile_end = nullptr;   // by tile of the kernel: clock of its store; may be null
};

struct TileShape {
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
};
constexpr TileShape kWgmmaTile{128, 256};
constexpr TileShape kMmaTile{128, 128};
constexpr std::uint32_t kWgmmaDepth = 64;       // K of one stage: columns of A's box, rows of B's
constexpr std::uint32_t kWgmmaBoxColumns = 64;  // columns of one box of B

// Must be called once a GPU before the first launch there (shared memory limits).
void prepare_wgmma();
void prepare_mma();
void launch_tile_gemm_wgmma(const TileArgs& args, std::uint32_t ctas, gpuStream_t stream);
void launch_tile_gemm_mma(const TileArgs& args, std::uint32_t ctas, gpuStream_t stream);

}  // namespace overlap::gpu
