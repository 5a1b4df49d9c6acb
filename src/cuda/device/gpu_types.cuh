// 16-bit element types and the nanosecond clock under CUDA and HIP.
#pragma once

#include <cstdint>

#if defined(__HIP_PLATFORM_AMD__)
#include <hip/hip_bfloat16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace overlap::gpu {

using Half = __half;
#if defined(__HIP_PLATFORM_AMD__)
using Bfloat16 = hip_bfloat16;
__device__ inline float to_float(Bfloat16 v) {
  return static_cast<float>(v);
}
__device__ inline void from_float(float v, Bfloat16& out) {
  out = Bfloat16(v);
}
// The constant 100 MHz counter of CDNA chips.
__device__ inline std::uint64_t clock_ns() {
  return __builtin_amdgcn_s_memrealtime() * 10;
}
// Groups of 32 threads, as on NVIDIA chips, whatever the width of a wavefront.
template <class T>
__device__ T shuffle(T v, int lane) {
  return __shfl(v, lane, 32);
}
template <class T>
__device__ T shuffle_up(T v, unsigned int by) {
  return __shfl_up(v, by, 32);
}
#else
template <class T>
__device__ T shuffle(T v, int lane) {
  return __shfl_sync(0xffffffffU, v, lane);
}
template <class T>
__device__ T shuffle_up(T v, unsigned int by) {
  return __shfl_up_sync(0xffffffffU, v, by);
}
using Bfloat16 = __nv_bfloat16;
__device__ inline float to_float(Bfloat16 v) {
  return __bfloat162float(v);
}
__device__ inline void from_float(float v, Bfloat16& out) {
  out = __float2bfloat16_rn(v);
}
__device__ inline std::uint64_t clock_ns() {
  std::uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}
#endif

__device__ inline float to_float(float v) {
  return v;
}
__device__ inline void from_float(float v, float& out) {
  out = v;
}
__device__ inline float to_float(Half v) {
  return __half2float(v);
}
__device__ inline void from_float(float v, Half& out) {
  out = __float2half_rn(v);
}

}  // namespace overlap::gpu
