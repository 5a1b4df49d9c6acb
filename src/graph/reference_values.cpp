#include "graph/reference_values.hpp"

#include <bit>

namespace overlap {
namespace {

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

void put(std::vector<std::uint8_t>& out, std::uint64_t bits, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(bits >> (8 * i)));
}

std::uint64_t take(std::span<const std::uint8_t> bytes, std::size_t at, std::size_t n) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < n; ++i) bits |= std::uint64_t{bytes[at + i]} << (8 * i);
  return bits;
}

}  // namespace

double reference_value(Matrix matrix, std::uint32_t problem, std::uint32_t row, std::uint32_t col) {
  const std::uint64_t key = (std::uint64_t{row} << 32) | col;
  const std::uint64_t h = mix(key + 0x9e3779b97f4a7c15ULL * (1 + 2 * problem + (matrix == Matrix::w ? 1U : 0U)));
  return static_cast<double>(h % 5) - 2.0;
}

std::uint64_t SplitMix::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  return mix(state_);
}

std::vector<std::uint8_t> to_bytes(DType type, std::span<const double> values, bool& fits) {
  std::vector<std::uint8_t> out;
  for (const double v : values) {
    const auto single = static_cast<float>(v);
    const auto bits = std::bit_cast<std::uint32_t>(single);
    switch (type) {
      case DType::f64:
        put(out, std::bit_cast<std::uint64_t>(v), 8);
        break;
      case DType::f32:
        fits = fits && static_cast<double>(single) == v;
        put(out, bits, 4);
        break;
      case DType::bf16:
        fits = fits && static_cast<double>(single) == v && (bits & 0xffffU) == 0;
        put(out, bits >> 16, 2);
        break;
      case DType::u8:
        fits = fits && v >= 0 && v <= 255 && v == static_cast<double>(static_cast<std::uint8_t>(v));
        put(out, fits ? static_cast<std::uint8_t>(v) : 0U, 1);
        break;
      case DType::f16:
      case DType::fp8_e4m3:
      case DType::fp8_e5m2:
        fits = false;  // no codec takes these yet
        put(out, 0, 1);
        break;
    }
  }
  return out;
}

std::vector<double> from_bytes(DType type, std::span<const std::uint8_t> bytes) {
  std::vector<double> out;
  const auto size = static_cast<std::size_t>(size_of(type).si());
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    const std::uint64_t bits = take(bytes, at, size);
    if (type == DType::f64) out.push_back(std::bit_cast<double>(bits));
    if (type == DType::f32) out.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (type == DType::bf16) out.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
    if (type == DType::u8) out.push_back(static_cast<double>(bits));
  }
  return out;
}

}  // namespace overlap
