// The window code. Layout of `late`: 16 B header {magic, base, first escape's place, count}, then a block of up to 256
// values each: 4 B index of the block's first escape, 3 bit planes of 32 B; then the escapes.
#include <algorithm>
#include <array>

#include "codec/planes.hpp"
#include "overlap/error.hpp"

namespace overlap {
namespace {

constexpr std::size_t kBlock = 256;
constexpr std::size_t kPlane = kBlock / 8;
constexpr std::size_t kHeader = 16;
constexpr std::size_t kBlockBytes = 4 + 3 * kPlane;
constexpr std::uint32_t kWindowMagic = 0x57454e5aU;
constexpr std::uint32_t kCodes = 7;

// First exponent of the seven adjacent ones that occur most; the lowest of several.
std::uint32_t best_base(std::span<const std::uint16_t> values) {
  std::array<std::uint64_t, 256> count{};
  for (const std::uint16_t v : values) ++count[codec::exponent_of(v)];
  std::uint64_t sum = 0;
  for (std::uint32_t e = 0; e < kCodes; ++e) sum += count[e];
  std::uint64_t best = sum;
  std::uint32_t base = 0;
  for (std::uint32_t e = kCodes; e < 256; ++e) {
    sum += count[e] - count[e - kCodes];
    if (sum > best) {
      best = sum;
      base = e - kCodes + 1;
    }
  }
  return base;
}

}  // namespace

Coded window_encode(std::span<const std::uint16_t> values) {
  const std::uint32_t base = best_base(values);
  Coded out;
  out.early.reserve(values.size());
  ByteVector escapes;
  codec::put32(out.late, kWindowMagic);
  codec::put32(out.late, base);
  const std::size_t blocks = (values.size() + kBlock - 1) / kBlock;
  codec::put32(out.late, static_cast<std::uint32_t>(kHeader + blocks * kBlockBytes));
  codec::put32(out.late, static_cast<std::uint32_t>(values.size()));
  for (std::size_t b = 0; b < blocks; ++b) {
    codec::put32(out.late, static_cast<std::uint32_t>(escapes.size()));
    std::array<std::uint8_t, 3 * kPlane> planes{};
    for (std::size_t i = 0; i < std::min(kBlock, values.size() - b * kBlock); ++i) {
      const std::uint16_t v = values[b * kBlock + i];
      out.early.push_back(codec::rest_of(v));
      const std::uint32_t e = codec::exponent_of(v);
      const bool inside = e >= base && e < base + kCodes;
      const std::uint32_t code = inside ? e - base + 1 : 0;
      if (!inside) escapes.push_back(static_cast<std::uint8_t>(e));
      for (std::size_t p = 0; p < 3; ++p) {
        planes[p * kPlane + i / 8] |= static_cast<std::uint8_t>(((code >> p) & 1U) << (i % 8));
      }
    }
    out.late.insert(out.late.end(), planes.begin(), planes.end());
  }
  out.late.insert(out.late.end(), escapes.begin(), escapes.end());
  return out;
}

std::vector<std::uint16_t> window_decode(const Coded& in) {
  const auto bad = [] { return InputError("", "not a window-coded block"); };
  if (in.late.size() < kHeader || codec::get32(in.late, 0) != kWindowMagic) throw bad();
  const std::uint32_t base = codec::get32(in.late, 4);
  const std::size_t escapes = codec::get32(in.late, 8);
  const std::size_t count = codec::get32(in.late, 12);
  const std::size_t blocks = (count + kBlock - 1) / kBlock;
  if (in.early.size() != count || escapes != kHeader + blocks * kBlockBytes || in.late.size() < escapes) throw bad();
  std::vector<std::uint16_t> out;
  out.reserve(count);
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t at = kHeader + b * kBlockBytes;
    std::size_t escape = escapes + codec::get32(in.late, at);
    for (std::size_t i = 0; i < std::min(kBlock, count - b * kBlock); ++i) {
      std::uint32_t code = 0;
      for (std::size_t p = 0; p < 3; ++p) {
        code |= ((in.late[at + 4 + p * kPlane + i / 8] >> (i % 8)) & 1U) << p;
      }
      if (code == 0 && escape >= in.late.size()) throw bad();
      const std::uint32_t e = code == 0 ? in.late[escape++] : base + code - 1;
      out.push_back(codec::join(static_cast<std::uint8_t>(e), in.early[b * kBlock + i]));
    }
  }
  return out;
}

}  // namespace overlap
