// Thread blocks of kernels that move data where the graph names no number.
#pragma once

#include <cstdint>

namespace overlap::cuda {

inline constexpr std::uint16_t kCopyCtas = 32;  // of a copy kernel
inline constexpr std::uint16_t kSumCtas = 128;  // of a collective's sum kernel

}  // namespace overlap::cuda
