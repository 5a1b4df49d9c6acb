// Lossless codes for bf16 tensors on the wire, for real: bytes in, bytes out, the same values back. And what their
// kernels cost.
//
// A bf16 value is a byte of sign and mantissa and a byte of exponent. Exponents of trained tensors use few values, so
// both codes leave the first byte alone and shorten the second.
//   window   ZipCCL (arXiv 2604.27844): the seven adjacent exponents that occur most get 3-bit codes, code 0 means that
//            the exponent byte follows aside (escape). Bits lie in 3 planes, blocks of 256 values.
//            Size: n (sign, mantissa) + 3n/8 + escapes + 4 B a block + 16 B. Needs no table.
//   entropy  UCCL-Zip (arXiv 2604.17172): the exponent byte is entropy coded (here: rANS, 12-bit probabilities). The
//            other half is final after the first pass and can leave while the exponents are coded (split-send).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "overlap/graph_check.hpp"
#include "overlap/op_graph.hpp"
#include "overlap/units.hpp"

namespace overlap {

using ByteVector = std::vector<std::uint8_t>;

// Encoded block: `early` is final after the first pass over the data (sign and mantissa bytes), `late` is the rest.
// The window code fills both in one pass.
struct Coded {
  ByteVector early;
  ByteVector late;
  [[nodiscard]] std::size_t size() const { return early.size() + late.size(); }
};

// Values are the 16 bits of a bf16 each. Every bit pattern is allowed (NaN, infinities, denormals).
[[nodiscard]] Coded window_encode(std::span<const std::uint16_t> values);
[[nodiscard]] Coded entropy_encode(std::span<const std::uint16_t> values);
// Throws InputError when the bytes were not made by the encoder.
[[nodiscard]] std::vector<std::uint16_t> window_decode(const Coded& coded);
[[nodiscard]] std::vector<std::uint16_t> entropy_decode(const Coded& coded);

// Both codes as the reference run takes them: any bytes, two a value, an odd last byte left as it is.
[[nodiscard]] CodecHook real_codecs();

// bf16 nearest to v (ties to even) and back.
[[nodiscard]] std::uint16_t to_bf16(float v);
[[nodiscard]] float from_bf16(std::uint16_t bits);

// Probability of each exponent byte.
using ExponentShares = std::array<double, 256>;
[[nodiscard]] ExponentShares gaussian_exponents(double sigma);   // N(0, sigma^2), rounded to bf16
[[nodiscard]] ExponentShares uniform_exponents(double largest);  // uniform in [-largest, largest]
[[nodiscard]] ExponentShares exponents_of(std::span<const std::uint16_t> values);

[[nodiscard]] double entropy_bits(const ExponentShares& p);         // of the exponent byte
[[nodiscard]] double window_coverage(const ExponentShares& p);      // share that the best seven adjacent ones cover
[[nodiscard]] double window_ratio(const ExponentShares& p);         // coded bytes over original, long messages
[[nodiscard]] double entropy_bound_ratio(const ExponentShares& p);  // (8 + entropy)/16

// What a codec costs where a schedule uses it. Ratios are constants so that no logarithm lies on the way to a time;
// tests show that they are what the distributions give.
struct CodecCost {
  double ratio = 1.0;        // coded bytes over original bytes on the wire
  double early = 0.0;        // share of the original bytes that the first pass leaves final
  double early_time = 1.0;   // share of the compress time that the first pass takes
  Seconds compress_start{};  // of a compress kernel at no bytes
  Seconds decompress_start{};
  Bandwidth compress{};  // original bytes per second above that, with the whole device
  Bandwidth decompress{};
  double compress_traffic = 0;  // HBM bytes per original byte
  double decompress_traffic = 0;
  std::uint16_t ctas = 0;  // SMs a kernel takes; 0 = all that are free
  bool estimate = false;   // no published throughput behind it
};
[[nodiscard]] const CodecCost& codec_cost(Codec codec);

[[nodiscard]] Seconds compress_time(const CodecCost& c, Bytes original);
[[nodiscard]] Seconds decompress_time(const CodecCost& c, Bytes original);

// Time of one message of `original` bytes over a link of rate b, before decompression.
[[nodiscard]] Seconds plain_send(Bytes original, Bandwidth b);
[[nodiscard]] Seconds coded_send(Bytes original, Bandwidth b, double ratio, Seconds compress);
// Raw half at once after the first pass, the rest coded meanwhile:
// T = early_time t + max((1 - early_time) t, early S/b) + (ratio - early) S/b.
[[nodiscard]] Seconds split_send(Bytes original, Bandwidth b, double ratio, double early, double early_time,
                                 Seconds compress);
// Link rate below which compress, send, decompress one after another beats sending as it is:
// (1 - ratio)/(1/compress + 1/decompress).
[[nodiscard]] Bandwidth break_even(double ratio, Bandwidth compress, Bandwidth decompress);

}  // namespace overlap
