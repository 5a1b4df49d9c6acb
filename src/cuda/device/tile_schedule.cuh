// What both tile kernels share: who takes which tile when, and what happens when a tile is stored. Called by one thread
// of a thread block.
#pragma once

#include "cuda/device/tile_gemm.hpp"

namespace overlap::gpu {

struct Tile {
  std::uint32_t part;
  std::uint32_t product;
  std::uint32_t row;  // in tiles
  std::uint32_t col;
  std::uint32_t index;  // in the kernel's numbering
};
constexpr std::uint32_t kNoTile = 0xffffffffU;

__device__ inline std::uint32_t load_acquire(const std::uint32_t* p) {
  std::uint32_t v;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline void store_release(std::uint32_t* p, std::uint32_t v) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ inline std::uint64_t tile_clock() {
  std::uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

__device__ inline bool part_ready(const TileArgs& a, const TilePart& part) {
  for (std::uint32_t w = part.wait_begin; w < part.wait_end; ++w) {
    if (static_cast<std::int32_t>(load_acquire(a.flags[a.own_gpu] + a.waits[w]) - a.epoch) < 0) return false;
  }
  return true;
}

// Tiles in bands of eight rows, so that neighbours in time share A and B in L2.
template <std::uint32_t kRows, std::uint32_t kCols>
__device__ Tile place_tile(const TileArgs& a, std::uint32_t part, std::uint32_t in_part) {
  constexpr std::uint32_t kBand = 8;
  const TilePart& p = a.parts[part];
  std::uint32_t product = p.product_begin;
  while (product + 1 < p.product_end && a.products[product + 1].first_tile <= in_part) ++product;
  const TileProduct& x = a.products[product];
  const std::uint32_t t = in_part - x.first_tile;
  const std::uint32_t rows = (x.m + kRows - 1) / kRows;
  const std::uint32_t cols = (x.n + kCols - 1) / kCols;
  const std::uint32_t band = t / (kBand * cols);
  const std::uint32_t height = min(kBand, rows - band * kBand);
  const std::uint32_t inside = t - band * kBand * cols;
  return {part, product, band * kBand + inside % height, inside / height, p.first_tile + in_part};
}

class TilePicker {
 public:
  // part == kNoTile when none is left.
  template <std::uint32_t kRows, std::uint32_t kCols>
  __device__ Tile next(const TileArgs& a) {
    return a.fixed != 0 ? next_fixed<kRows, kCols>(a) : next_ready<kRows, kCols>(a);
  }

 private:
  template <std::uint32_t kRows, std::uint32_t kCols>
  __device__ Tile next_fixed(const TileArgs& a) {
    const std::uint32_t t = atomicAdd(&a.counters->next, 1U);
    if (t >= a.tile_count) return {kNoTile, 0, 0, 0, 0};
    std::uint32_t end = a.part_count;  // the last part that begins at or before t, by bisection
    while (end - first_ > 1) {
      const std::uint32_t middle = first_ + (end - first_) / 2;
      (a.parts[middle].first_tile <= t ? first_ : end) = middle;
    }
    while (!part_ready(a, a.parts[first_])) {
    }
    return place_tile<kRows, kCols>(a, first_, t - a.parts[first_].first_tile);
  }

  template <std::uint32_t kRows, std::uint32_t kCols>
  __device__ Tile next_ready(const TileArgs& a) {
    while (true) {
      bool left = false;
      for (std::uint32_t p = first_; p < a.part_count; ++p) {
        const std::uint32_t tiles = a.parts[p].tiles;
        if (*static_cast<volatile std::uint32_t*>(a.part_next + p) >= tiles) {
          if (p == first_) ++first_;
          continue;
        }
        left = true;
        if (!part_ready(a, a.parts[p])) continue;
        const std::uint32_t t = atomicAdd(a.part_next + p, 1U);
        if (t < tiles) return place_tile<kRows, kCols>(a, p, t);
      }
      if (!left) return {kNoTile, 0, 0, 0, 0};
    }
  }

  std::uint32_t first_ = 0;  // parts before it have no tiles left
};

// Behind a barrier of the threads that stored the tile, each of which has fenced.
__device__ inline void finish_tile(const TileArgs& a, const Tile& tile) {
  const TilePart& part = a.parts[tile.part];
  const std::uint64_t now = tile_clock();
  if (a.tile_end != nullptr) a.tile_end[tile.index] = now;
  __threadfence();
  if (atomicAdd(a.part_done + tile.part, 1U) + 1 != part.tiles) return;
  __threadfence_system();
  a.part_end[tile.part] = now;
  for (std::uint32_t g = 0; g < kMaxGpus; ++g) {
    if ((part.flag_gpus >> g & 1U) != 0) store_release(a.flags[g] + part.flag, a.epoch);
  }
}

// The last thread block to leave zeroes the counters for the next launch.
__device__ inline void leave(const TileArgs& a) {
  __threadfence();
  if (atomicAdd(&a.counters->exited, 1U) + 1 != gridDim.x) return;
  for (std::uint32_t p = 0; p < a.part_count; ++p) a.part_next[p] = a.part_done[p] = 0;
  a.counters->next = 0;
  a.counters->exited = 0;
  __threadfence();
}

}  // namespace overlap::gpu
