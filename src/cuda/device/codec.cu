// The window code of codec.hpp on the GPU, in a layout of its own: a warp codes a block of 256 values. `early` holds
// the sign and mantissa bytes; `late` a header of 16 bytes {first exponent of the window, escapes used}, the first
// escape of each block (4 B each), three bit planes of 32 B a block, then the escaped exponents in the order in which
// blocks came.
#include "cuda/device/gpu_types.cuh"
#include "cuda/device/kernels.hpp"

namespace overlap::gpu {
namespace {

constexpr int kThreads = 768;
constexpr std::uint32_t kLaneValues = 8;
constexpr std::uint32_t kWarpValues = 32 * kLaneValues;
constexpr std::uint32_t kSubBlocks = 4;
constexpr std::uint32_t kBlock = kSubBlocks * kWarpValues;
constexpr std::uint32_t kPlane = kWarpValues / 8;
constexpr std::uint32_t kHeader = 16;
constexpr std::uint32_t kCodes = 7;
constexpr std::uint32_t kSample = 8192;
constexpr std::uint32_t kNotNumbers = 0x7fff7fffU;

__device__ std::uint16_t* place(const DevicePiece* pieces, std::uint32_t count, std::uint64_t value, bool source) {
  for (std::uint32_t i = 0; i + 1 < count; ++i) {
    const std::uint64_t in_piece = pieces->bytes / 2 * pieces->rows;
    if (value < in_piece) break;
    value -= in_piece;
    ++pieces;
  }
  const std::uint64_t cols = pieces->bytes / 2;
  const std::uint64_t row = value / cols;
  char* base =
      source ? const_cast<char*>(pieces->src) + row * pieces->src_pitch : pieces->dst + row * pieces->dst_pitch;
  return reinterpret_cast<std::uint16_t*>(base) + value % cols;
}

// A lane's eight values lie in one aligned vector when they lie in one row of one piece.
__device__ bool one_vector(const std::uint16_t* first, const std::uint16_t* last) {
  return last - first == kLaneValues - 1 && reinterpret_cast<std::uintptr_t>(first) % 16 == 0;
}

__device__ std::uint32_t exponent_of(std::uint16_t v) {
  return (v >> 7) & 0xffU;
}
// The seven adjacent exponents that occur most in an even sample; the same in every thread block.
__device__ std::uint32_t window_of(const CodedBlock& c) {
  __shared__ std::uint32_t histogram[256];
  __shared__ std::uint32_t base;
  for (std::uint32_t i = threadIdx.x; i < 256; i += blockDim.x) histogram[i] = 0;
  __syncthreads();
  const std::uint64_t sample = c.values < kSample ? c.values : kSample;
  for (std::uint64_t i = threadIdx.x; i < sample; i += blockDim.x) {
    const std::uint64_t at = i * c.values / sample;
    const std::uint16_t v = c.run != nullptr ? c.run[at] : *place(c.pieces, c.count, at, true);
    atomicAdd(histogram + exponent_of(v), 1U);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    std::uint32_t sum = 0;
    for (std::uint32_t e = 0; e < kCodes; ++e) sum += histogram[e];
    std::uint32_t best = sum;
    base = 0;
    for (std::uint32_t e = kCodes; e < 256; ++e) {
      sum += histogram[e] - histogram[e - kCodes];
      if (sum > best) {
        best = sum;
        base = e - kCodes + 1;
      }
    }
  }
  __syncthreads();
  return base;
}

__device__ std::uint32_t* first_escapes(const CodedBlock& c) {
  return reinterpret_cast<std::uint32_t*>(c.late + kHeader);
}
__device__ std::uint8_t* planes(const CodedBlock& c, std::uint64_t blocks, std::uint64_t block) {
  return reinterpret_cast<std::uint8_t*>(c.late) + kHeader + 4 * blocks + block * kSubBlocks * 3 * kPlane;
}

// Escapes of the lanes before this one, and of all.
__device__ std::uint32_t before(std::uint32_t own, std::uint32_t& all) {
  const std::uint32_t lane = threadIdx.x % 32;
  std::uint32_t sum = own;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const std::uint32_t got = shuffle_up(sum, static_cast<unsigned int>(step));
    if (lane >= static_cast<std::uint32_t>(step)) sum += got;
  }
  all = shuffle(sum, 31);
  return sum - own;
}

// Values of this lane in sub-block `s` of block `b`: where they begin and how many there are.
__device__ std::uint64_t lane_begin(std::uint64_t b, std::uint32_t s) {
  return b * kBlock + s * kWarpValues + threadIdx.x % 32 * kLaneValues;
}
__device__ std::uint32_t lane_count(const CodedBlock& c, std::uint64_t at) {
  if (at >= c.values) return 0;
  return c.values - at < kLaneValues ? static_cast<std::uint32_t>(c.values - at) : kLaneValues;
}

// The lane's values as one vector, or null where they lie in several rows or end early.
__device__ std::uint16_t* vector_at(const CodedBlock& c, std::uint64_t at, std::uint32_t have, bool source) {
  if (have < kLaneValues) return nullptr;
  if (c.run != nullptr) return c.run + at;
  std::uint16_t* first = place(c.pieces, c.count, at, source);
  return one_vector(first, place(c.pieces, c.count, at + kLaneValues - 1, source)) ? first : nullptr;
}

// Eight values as four words of two, absent ones zero.
__device__ uint4 load_values(const CodedBlock& c, std::uint64_t at, std::uint32_t have) {
  if (const std::uint16_t* from = vector_at(c, at, have, true)) return *reinterpret_cast<const uint4*>(from);
  std::uint32_t w[4] = {};
#pragma unroll
  for (std::uint32_t i = 0; i < kLaneValues; ++i) {
    if (i < have) w[i / 2] |= std::uint32_t{*place(c.pieces, c.count, at + i, true)} << (i % 2 * 16);
  }
  return make_uint4(w[0], w[1], w[2], w[3]);
}

__device__ void store_values(const CodedBlock& c, std::uint64_t at, std::uint32_t have, uint4 v) {
  if (std::uint16_t* to = vector_at(c, at, have, false)) {
    *reinterpret_cast<uint4*>(to) = v;
    return;
  }
  const std::uint32_t w[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (std::uint32_t i = 0; i < kLaneValues; ++i) {
    if (i < have) *place(c.pieces, c.count, at + i, false) = static_cast<std::uint16_t>(w[i / 2] >> (i % 2 * 16));
  }
}

// Every fourth bit of the word, from bit 0 on, as a byte; and back.
__device__ std::uint32_t every_fourth(std::uint32_t x) {
  x &= 0x11111111U;
  x = (x | x >> 3) & 0x03030303U;
  x = (x | x >> 6) & 0x000f000fU;
  return (x | x >> 12) & 0xffU;
}
__device__ std::uint32_t to_every_fourth(std::uint32_t x) {
  x = (x | x << 12) & 0x000f000fU;
  x = (x | x << 6) & 0x03030303U;
  return (x | x << 3) & 0x11111111U;
}

// Codes of eight values, four bits each: exponent - base + 1 inside the window, else 0.
__device__ std::uint32_t codes_of(uint4 v, std::uint32_t base) {
  const std::uint32_t w[4] = {v.x, v.y, v.z, v.w};
  std::uint32_t codes = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < kLaneValues; ++i) {
    const std::uint32_t above = (w[i / 2] >> (7 + i % 2 * 16) & 0xffU) - base;
    codes |= (above < kCodes ? above + 1 : 0) << (4 * i);
  }
  return codes;
}

// Sign and mantissa bytes of four values.
__device__ std::uint32_t rests_of(std::uint32_t low, std::uint32_t high) {
  const auto pair = [](std::uint32_t w) { return (w & 0x007f007fU) | (w >> 8 & 0x00800080U); };
  return __byte_perm(pair(low), pair(high), 0x6420);
}

// Two values of their sign and mantissa bytes (in the low bytes of each half) and codes (in bits 0 and 4).
__device__ std::uint32_t join(std::uint32_t rests, std::uint32_t codes, std::uint32_t base) {
  // Code 0 must not borrow from its neighbour; what it gives is written over.
  const std::uint32_t one = ((codes & 7U) != 0 ? 0x80U : 0) | ((codes & 0x70U) != 0 ? 0x00800000U : 0);
  const std::uint32_t exponents = ((codes & 7U) << 7 | (codes & 0x70U) << 19) + base * 0x00800080U - one;
  return exponents | (rests & 0x007f007fU) | (rests & 0x00800080U) << 8;
}

__global__ void __launch_bounds__(kThreads) window_encode(CodedBlock c) {
  const std::uint32_t base = window_of(c);
  auto* header = reinterpret_cast<std::uint32_t*>(c.late);
  if (blockIdx.x == 0 && threadIdx.x == 0) header[0] = base;
  const std::uint64_t blocks = (c.values + kBlock - 1) / kBlock;
  std::uint8_t* escapes = planes(c, blocks, blocks);
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (kThreads / 32);
  for (std::uint64_t b = blockIdx.x * (kThreads / 32) + threadIdx.x / 32; b < blocks; b += warps) {
    uint4 v[kSubBlocks];
    std::uint32_t next[kSubBlocks];
    std::uint32_t outside[kSubBlocks];  // which of the lane's values escape
    std::uint32_t total = 0;
#pragma unroll
    for (std::uint32_t s = 0; s < kSubBlocks; ++s)
      v[s] = load_values(c, lane_begin(b, s), lane_count(c, lane_begin(b, s)));
#pragma unroll
    for (std::uint32_t s = 0; s < kSubBlocks; ++s) {
      const std::uint64_t at = lane_begin(b, s);
      const std::uint32_t have = lane_count(c, at);
      const std::uint32_t codes = codes_of(v[s], base);
      std::uint8_t* plane = planes(c, blocks, b) + s * 3 * kPlane + lane;
      std::uint32_t coded = 0;
#pragma unroll
      for (int p = 0; p < 3; ++p) {
        const std::uint32_t bits = every_fourth(codes >> p);
        plane[p * kPlane] = static_cast<std::uint8_t>(bits);
        coded |= bits;
      }
      outside[s] = ~coded & ((1U << have) - 1U);
      const uint2 rest = make_uint2(rests_of(v[s].x, v[s].y), rests_of(v[s].z, v[s].w));
      if (have == kLaneValues) {
        *reinterpret_cast<uint2*>(c.early + at) = rest;
      } else {
        for (std::uint32_t i = 0; i < have; ++i) {
          c.early[at + i] = static_cast<char>((i < 4 ? rest.x : rest.y) >> (i % 4 * 8));
        }
      }
      std::uint32_t all = 0;
      next[s] = total + before(__popc(outside[s]), all);
      total += all;
    }
    std::uint32_t first = 0;
    if (lane == 0) {
      first = total > 0 ? atomicAdd(header + 1, total) : 0;
      first_escapes(c)[b] = first;
    }
    first = shuffle(first, 0);
#pragma unroll
    for (std::uint32_t s = 0; s < kSubBlocks; ++s) {
      std::uint32_t at = first + next[s];
      for (std::uint32_t left = outside[s]; left != 0; left &= left - 1, ++at) {  // few: read once more
        const std::uint64_t value = lane_begin(b, s) + __ffs(static_cast<int>(left)) - 1;
        const std::uint16_t v = c.run != nullptr ? c.run[value] : *place(c.pieces, c.count, value, true);
        if (at < c.escapes) escapes[at] = static_cast<std::uint8_t>(exponent_of(v));
      }
    }
  }
}

__global__ void __launch_bounds__(kThreads) window_decode(CodedBlock c) {
  const auto* header = reinterpret_cast<const std::uint32_t*>(c.late);
  const std::uint32_t base = header[0];
  const bool fits = header[1] <= c.escapes;
  const std::uint64_t blocks = (c.values + kBlock - 1) / kBlock;
  const std::uint8_t* escapes = planes(c, blocks, blocks);
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (kThreads / 32);
  for (std::uint64_t b = blockIdx.x * (kThreads / 32) + threadIdx.x / 32; b < blocks; b += warps) {
    std::uint32_t first = first_escapes(c)[b];
#pragma unroll
    for (std::uint32_t s = 0; s < kSubBlocks; ++s) {
      const std::uint64_t at = lane_begin(b, s);
      const std::uint32_t have = lane_count(c, at);
      const std::uint8_t* plane = planes(c, blocks, b) + s * 3 * kPlane + lane;
      std::uint32_t codes = 0;
      std::uint32_t coded = 0;
#pragma unroll
      for (int p = 0; p < 3; ++p) {
        const std::uint32_t bits = plane[p * kPlane];
        coded |= bits;
        codes |= to_every_fourth(bits) << p;
      }
      std::uint32_t outside = ~coded & ((1U << have) - 1U);
      std::uint32_t all = 0;
      std::uint32_t next = first + before(__popc(outside), all);
      first += all;
      uint2 rest = make_uint2(0, 0);
      if (have == kLaneValues) {
        rest = *reinterpret_cast<const uint2*>(c.early + at);
      } else {
        for (std::uint32_t i = 0; i < have; ++i) {
          (i < 4 ? rest.x : rest.y) |= std::uint32_t{static_cast<std::uint8_t>(c.early[at + i])} << (i % 4 * 8);
        }
      }
      uint4 v;
      v.x = join(__byte_perm(rest.x, 0, 0x4140), codes, base);
      v.y = join(__byte_perm(rest.x, 0, 0x4342), codes >> 8, base);
      v.z = join(__byte_perm(rest.y, 0, 0x4140), codes >> 16, base);
      v.w = join(__byte_perm(rest.y, 0, 0x4342), codes >> 24, base);
      if (!fits) v.x = v.y = v.z = v.w = kNotNumbers;
      store_values(c, at, have, v);
      for (; outside != 0 && fits; outside &= outside - 1, ++next) {  // few: written over
        const std::uint32_t i = __ffs(static_cast<int>(outside)) - 1;
        const std::uint32_t byte = static_cast<std::uint8_t>(c.early[at + i]);
        const std::uint32_t value = (byte & 0x80U) << 8 | std::uint32_t{escapes[next]} << 7 | (byte & 0x7fU);
        *(c.run != nullptr ? c.run + at + i : place(c.pieces, c.count, at + i, false)) =
            static_cast<std::uint16_t>(value);
      }
    }
  }
}

}  // namespace

std::uint64_t window_bytes(std::uint64_t values) {
  return kHeader + (values + kBlock - 1) / kBlock * (4 + kSubBlocks * 3 * kPlane);
}

void launch_encode(const CodedBlock& block, std::uint32_t ctas, gpuStream_t stream) {
  check(gpuMemsetAsync(block.late, 0, kHeader, stream), "cudaMemsetAsync");
  window_encode<<<ctas, kThreads, 0, stream>>>(block);
  check(gpuGetLastError(), "encode kernel");
}

void launch_decode(const CodedBlock& block, std::uint32_t ctas, gpuStream_t stream) {
  window_decode<<<ctas, kThreads, 0, stream>>>(block);
  check(gpuGetLastError(), "decode kernel");
}

}  // namespace overlap::gpu
