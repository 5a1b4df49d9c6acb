// The entropy code: rANS with 12-bit probabilities over the exponent byte (Duda; state of 32 bits, 16 bits a step).
// Layout of `late`: 12 B {magic, count, symbols}, 3 B a symbol {byte, frequency}, 4 B state, 2 B words.
#include <algorithm>
#include <array>

#include "codec/planes.hpp"
#include "overlap/error.hpp"

namespace overlap {
namespace {

constexpr std::uint32_t kEntropyMagic = 0x534e4172U;
constexpr std::uint32_t kBits = 12;
constexpr std::uint32_t kTotal = 1U << kBits;
constexpr std::uint32_t kLow = 1U << 16U;  // the state stays in [kLow, 2^32)

using Frequencies = std::array<std::uint32_t, 256>;

// Scales counts to kTotal; whatever occurs keeps at least 1. The remainder goes to the most frequent, lowest first.
Frequencies scaled(std::span<const std::uint16_t> values) {
  std::array<std::uint64_t, 256> count{};
  for (const std::uint16_t v : values) ++count[codec::exponent_of(v)];
  Frequencies f{};
  std::uint32_t sum = 0;
  for (std::size_t s = 0; s < 256; ++s) {
    if (count[s] == 0) continue;
    f[s] = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, count[s] * kTotal / values.size()));
    sum += f[s];
  }
  while (sum != kTotal && !values.empty()) {
    const auto top = std::max_element(f.begin(), f.end());
    if (sum < kTotal) {
      *top += kTotal - sum;
      sum = kTotal;
    } else {
      --*top;
      --sum;
    }
  }
  return f;
}

Frequencies cumulative(const Frequencies& f) {
  Frequencies c{};
  for (std::size_t s = 1; s < 256; ++s) c[s] = c[s - 1] + f[s - 1];
  return c;
}

}  // namespace

Coded entropy_encode(std::span<const std::uint16_t> values) {
  Coded out;
  out.early.reserve(values.size());
  for (const std::uint16_t v : values) out.early.push_back(codec::rest_of(v));
  const Frequencies f = scaled(values);
  const Frequencies start = cumulative(f);
  std::vector<std::uint16_t> words;
  std::uint64_t state = kLow;
  for (std::size_t i = values.size(); i-- > 0;) {
    const std::size_t s = codec::exponent_of(values[i]);
    if (state >= (std::uint64_t{kLow >> kBits} << 16U) * f[s]) {
      words.push_back(static_cast<std::uint16_t>(state & 0xffffU));
      state >>= 16U;
    }
    state = ((state / f[s]) << kBits) + state % f[s] + start[s];
  }
  codec::put32(out.late, kEntropyMagic);
  codec::put32(out.late, static_cast<std::uint32_t>(values.size()));
  codec::put32(out.late, static_cast<std::uint32_t>(std::count_if(f.begin(), f.end(), [](auto n) { return n > 0; })));
  for (std::size_t s = 0; s < 256; ++s) {
    if (f[s] == 0) continue;
    out.late.push_back(static_cast<std::uint8_t>(s));
    out.late.push_back(static_cast<std::uint8_t>(f[s] & 0xffU));
    out.late.push_back(static_cast<std::uint8_t>(f[s] >> 8U));
  }
  codec::put32(out.late, static_cast<std::uint32_t>(state));
  for (std::size_t i = words.size(); i-- > 0;) {
    out.late.push_back(static_cast<std::uint8_t>(words[i] & 0xffU));
    out.late.push_back(static_cast<std::uint8_t>(words[i] >> 8U));
  }
  return out;
}

std::vector<std::uint16_t> entropy_decode(const Coded& in) {
  const auto bad = [] { return InputError("", "not an entropy-coded block"); };
  if (in.late.size() < 16 || codec::get32(in.late, 0) != kEntropyMagic) throw bad();
  const std::size_t count = codec::get32(in.late, 4);
  const std::size_t symbols = codec::get32(in.late, 8);
  std::size_t at = 12;
  if (symbols > 256 || in.early.size() != count || in.late.size() < at + 3 * symbols + 4) throw bad();
  Frequencies f{};
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < symbols; ++i, at += 3) {
    f[in.late[at]] = in.late[at + 1] | (std::uint32_t{in.late[at + 2]} << 8U);
    sum += f[in.late[at]];
  }
  if (count > 0 && sum != kTotal) throw bad();
  const Frequencies start = cumulative(f);
  std::array<std::uint8_t, kTotal> symbol_at{};
  for (std::size_t s = 0; s < 256; ++s) {
    std::fill_n(symbol_at.begin() + start[s], f[s], static_cast<std::uint8_t>(s));
  }
  std::uint32_t state = codec::get32(in.late, at);
  at += 4;
  std::vector<std::uint16_t> out;
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t slot = state & (kTotal - 1);
    const std::uint8_t s = symbol_at[slot];
    state = f[s] * (state >> kBits) + slot - start[s];
    if (state < kLow) {
      if (at + 2 > in.late.size()) throw bad();
      state = (state << 16U) | in.late[at] | (std::uint32_t{in.late[at + 1]} << 8U);
      at += 2;
    }
    out.push_back(codec::join(s, in.early[i]));
  }
  if (state != kLow || at != in.late.size()) throw bad();
  return out;
}

}  // namespace overlap
