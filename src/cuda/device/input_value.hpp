// Inputs are a function of place and seed, so that any element of the result can be checked without keeping a matrix.
// Every value is a multiple of 1/128 in [-1, 1): exact in bf16, f16 and f32.
#pragma once

#include <cstdint>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define OVERLAP_BOTH __host__ __device__
#else
#define OVERLAP_BOTH
#endif

namespace overlap::gpu {

OVERLAP_BOTH inline float input_value(std::uint64_t stream, std::uint32_t row, std::uint32_t col) {
  std::uint64_t h = stream ^ ((std::uint64_t{row} << 32) | col) * 0x9e3779b97f4a7c15ULL;
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ULL;
  h ^= h >> 32;
  h *= 0xd6e8feb86659fd93ULL;
  h ^= h >> 32;
  return static_cast<float>(static_cast<std::int32_t>(h & 0xffU) - 128) * (1.0F / 128.0F);
}

// The stream of one matrix of one problem under one seed.
OVERLAP_BOTH inline std::uint64_t input_stream(std::uint64_t seed, std::uint32_t matrix, std::uint32_t problem) {
  std::uint64_t h = (seed + 1) * 0xbf58476d1ce4e5b9ULL ^ (std::uint64_t{matrix} << 40) ^ (std::uint64_t{problem} << 8);
  h ^= h >> 29;
  return h * 0x94d049bb133111ebULL;
}

}  // namespace overlap::gpu
