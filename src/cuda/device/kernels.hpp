// Small kernels: release gate, copies, sums, inputs, delays. Launchers only; all are asynchronous in their stream.
#pragma once

#include <cstdint>

#include "cuda/device/gpu_api.hpp"

namespace overlap::gpu {

enum class Element : std::uint8_t { bf16, f16, f32, u8 };

// One rectangle to copy, in bytes.
struct DevicePiece {
  const char* src = nullptr;
  char* dst = nullptr;
  std::uint64_t src_pitch = 0;
  std::uint64_t dst_pitch = 0;
  std::uint64_t bytes = 0;  // of a row
  std::uint64_t rows = 0;
};

constexpr int kMaxTerms = 16;

// dst = sum of `terms` rectangles, added in float32; rows of `cols` elements, pitches in elements.
struct DeviceSum {
  void* dst = nullptr;
  const void* src[kMaxTerms] = {};
  std::uint64_t src_pitch[kMaxTerms] = {};
  std::uint64_t dst_pitch = 0;
  std::uint32_t terms = 0;
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  Element type = Element::bf16;
};

// bf16 values in rectangles (src of an encoder, dst of a decoder; in device memory) beside their window code.
struct CodedBlock {
  const DevicePiece* pieces = nullptr;
  std::uint32_t count = 0;
  std::uint16_t* run = nullptr;  // set where all values lie in one run, 16-byte aligned
  std::uint32_t escapes = 0;     // that fit behind the planes; with more the decoder writes NaN
  std::uint64_t values = 0;
  char* early = nullptr;  // a byte a value
  char* late = nullptr;   // window_bytes(values) and the escapes; 16-byte aligned
};
std::uint64_t window_bytes(std::uint64_t values);

// Holds the stream until *flag (mapped host memory) reaches `value`, then writes the GPU's nanosecond clock to *stamp.
// Gives up after two seconds, writing 0: a call between launches waited for the GPU.
void launch_gate(const std::uint32_t* flag, std::uint32_t value, std::uint64_t* stamp, gpuStream_t stream);
// `pieces` lies in device memory.
void launch_copy(const DevicePiece* pieces, std::uint32_t count, std::uint32_t ctas, gpuStream_t stream);
void launch_sum(const DeviceSum& sum, std::uint32_t ctas, gpuStream_t stream);
void launch_encode(const CodedBlock& block, std::uint32_t ctas, gpuStream_t stream);
void launch_decode(const CodedBlock& block, std::uint32_t ctas, gpuStream_t stream);
void launch_delay(std::uint64_t nanoseconds, gpuStream_t stream);
// Rectangle of matrix `stream_key` whose first element is (global_row, global_col); pitch in elements.
void launch_fill(void* dst, std::uint64_t pitch, std::uint32_t rows, std::uint32_t cols, Element type,
                 std::uint64_t stream_key, std::uint32_t global_row, std::uint32_t global_col, gpuStream_t stream);

}  // namespace overlap::gpu
