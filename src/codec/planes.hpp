// Byte planes of bf16: sign and mantissa in one byte, exponent in the other.
#pragma once

#include <cstdint>

#include "overlap/codec.hpp"

namespace overlap::codec {

inline std::uint8_t exponent_of(std::uint16_t v) {
  return static_cast<std::uint8_t>((v >> 7U) & 0xffU);
}
inline std::uint8_t rest_of(std::uint16_t v) {
  return static_cast<std::uint8_t>(((v >> 8U) & 0x80U) | (v & 0x7fU));
}
inline std::uint16_t join(std::uint8_t exponent, std::uint8_t rest) {
  return static_cast<std::uint16_t>(((rest & 0x80U) << 8U) | (std::uint32_t{exponent} << 7U) | (rest & 0x7fU));
}

inline void put32(ByteVector& out, std::uint32_t v) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
}
inline std::uint32_t get32(const ByteVector& in, std::size_t at) {
  std::uint32_t v = 0;
  for (std::size_t i = 0; i < 4; ++i) v |= std::uint32_t{in[at + i]} << (8 * i);
  return v;
}

}  // namespace overlap::codec
