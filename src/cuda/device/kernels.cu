#include "cuda/device/gpu_types.cuh"
#include "cuda/device/input_value.hpp"
#include "cuda/device/kernels.hpp"

namespace overlap::gpu {
namespace {

constexpr int kThreads = 512;

__global__ void gate(const volatile std::uint32_t* flag, std::uint32_t value, std::uint64_t* stamp) {
  constexpr std::uint64_t kTimeout = 2000000000ULL;
  const std::uint64_t start = clock_ns();
  bool open = false;
  while (!open && clock_ns() - start < kTimeout) open = static_cast<std::int32_t>(*flag - value) >= 0;
  *stamp = open ? clock_ns() : 0;
}

template <class Word>
__device__ void copy_words(const DevicePiece& p) {
  const std::uint64_t words = p.bytes / sizeof(Word);
  const std::uint64_t total = words * p.rows;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  constexpr int kUnroll = 4;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < total; i += step * kUnroll) {
    Word held[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const std::uint64_t j = i + u * step;
      if (j < total) held[u] = reinterpret_cast<const Word*>(p.src + (j / words) * p.src_pitch)[j % words];
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const std::uint64_t j = i + u * step;
      if (j < total) reinterpret_cast<Word*>(p.dst + (j / words) * p.dst_pitch)[j % words] = held[u];
    }
  }
}

__global__ void __launch_bounds__(kThreads) copy(const DevicePiece* pieces, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const DevicePiece p = pieces[i];
    const auto all = reinterpret_cast<std::uintptr_t>(p.src) | reinterpret_cast<std::uintptr_t>(p.dst) | p.src_pitch |
                     p.dst_pitch | p.bytes;
    if (all % 16 == 0) {
      copy_words<uint4>(p);
    } else if (all % 4 == 0) {
      copy_words<std::uint32_t>(p);
    } else {
      copy_words<std::uint8_t>(p);
    }
  }
}

template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth) Pack {
  T v[kWidth];
};

// kWidth elements a thread and load, kUnroll loads of each term under way; the caller guarantees that rows and pitches
// divide.
template <class T, int kWidth, int kUnroll>
__global__ void __launch_bounds__(kThreads) sum(DeviceSum s) {
  using P = Pack<T, kWidth>;
  const std::uint64_t packs = s.cols / kWidth;
  const std::uint64_t total = packs * s.rows;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < total; i += step * kUnroll) {
    std::uint64_t row[kUnroll];
    std::uint64_t col[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const std::uint64_t at = i + u * step;
      row[u] = at < total ? at / packs : ~std::uint64_t{0};
      col[u] = (at % packs) * kWidth;
    }
    float acc[kUnroll][kWidth] = {};
    for (std::uint32_t t = 0; t < s.terms; ++t) {
      const T* src = static_cast<const T*>(s.src[t]);
      P held[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (row[u] < s.rows) held[u] = *reinterpret_cast<const P*>(src + row[u] * s.src_pitch[t] + col[u]);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
          if (row[u] < s.rows) acc[u][j] += to_float(held[u].v[j]);
        }
      }
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      if (row[u] >= s.rows) continue;
      P out;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) from_float(acc[u][j], out.v[j]);
      *reinterpret_cast<P*>(static_cast<T*>(s.dst) + row[u] * s.dst_pitch + col[u]) = out;
    }
  }
}

template <class T>
void launch_sum_of(const DeviceSum& s, std::uint32_t ctas, gpuStream_t stream) {
  constexpr int kWidth = 16 / sizeof(T);
  std::uint64_t all = s.dst_pitch | s.cols;
  std::uintptr_t pointers = reinterpret_cast<std::uintptr_t>(s.dst);
  for (std::uint32_t t = 0; t < s.terms; ++t) {
    all |= s.src_pitch[t];
    pointers |= reinterpret_cast<std::uintptr_t>(s.src[t]);
  }
  constexpr std::uint32_t kMany = 128;  // thread blocks that hide latency between them: more registers would cost more
  if (all % kWidth != 0 || pointers % 16 != 0) {
    sum<T, 1, 1><<<ctas, kThreads, 0, stream>>>(s);
  } else if (ctas >= kMany) {
    sum<T, kWidth, 1><<<ctas, kThreads, 0, stream>>>(s);
  } else {
    sum<T, kWidth, 4><<<ctas, kThreads, 0, stream>>>(s);
  }
}

__global__ void delay(std::uint64_t nanoseconds) {
  const std::uint64_t start = clock_ns();
  while (clock_ns() - start < nanoseconds) {
  }
}

template <class T>
__global__ void fill(T* dst, std::uint64_t pitch, std::uint32_t rows, std::uint32_t cols, std::uint64_t key,
                     std::uint32_t global_row, std::uint32_t global_col) {
  const std::uint64_t total = std::uint64_t{rows} * cols;
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < total; i += step) {
    const auto row = static_cast<std::uint32_t>(i / cols);
    const auto col = static_cast<std::uint32_t>(i % cols);
    from_float(input_value(key, global_row + row, global_col + col), dst[row * pitch + col]);
  }
}

}  // namespace

void launch_gate(const std::uint32_t* flag, std::uint32_t value, std::uint64_t* stamp, gpuStream_t stream) {
  gate<<<1, 1, 0, stream>>>(flag, value, stamp);
  check(gpuGetLastError(), "release gate");
}

void launch_copy(const DevicePiece* pieces, std::uint32_t count, std::uint32_t ctas, gpuStream_t stream) {
  copy<<<ctas, kThreads, 0, stream>>>(pieces, count);
  check(gpuGetLastError(), "copy kernel");
}

void launch_sum(const DeviceSum& s, std::uint32_t ctas, gpuStream_t stream) {
  if (s.type == Element::f32) {
    launch_sum_of<float>(s, ctas, stream);
  } else if (s.type == Element::f16) {
    launch_sum_of<Half>(s, ctas, stream);
  } else {
    launch_sum_of<Bfloat16>(s, ctas, stream);
  }
  check(gpuGetLastError(), "sum kernel");
}

void launch_delay(std::uint64_t nanoseconds, gpuStream_t stream) {
  delay<<<1, 1, 0, stream>>>(nanoseconds);
  check(gpuGetLastError(), "delay kernel");
}

void launch_fill(void* dst, std::uint64_t pitch, std::uint32_t rows, std::uint32_t cols, Element type,
                 std::uint64_t stream_key, std::uint32_t global_row, std::uint32_t global_col, gpuStream_t stream) {
  constexpr int kBlocks = 1024;
  if (type == Element::f32) {
    fill<<<kBlocks, 256, 0, stream>>>(static_cast<float*>(dst), pitch, rows, cols, stream_key, global_row, global_col);
  } else if (type == Element::f16) {
    fill<<<kBlocks, 256, 0, stream>>>(static_cast<Half*>(dst), pitch, rows, cols, stream_key, global_row, global_col);
  } else {
    fill<<<kBlocks, 256, 0, stream>>>(static_cast<Bfloat16*>(dst), pitch, rows, cols, stream_key, global_row,
                                      global_col);
  }
  check(gpuGetLastError(), "fill kernel");
}

}  // namespace overlap::gpu
