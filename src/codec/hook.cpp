#include "overlap/codec.hpp"

namespace overlap {
namespace {

// 16-bit types have an even number of bytes; others may leave one over, which goes ahead of the code, behind its count.
bool may_be_odd(DType type) {
  return size_of(type) != Bytes(2);
}

std::vector<std::uint16_t> values_of(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint16_t> values(bytes.size() / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint16_t>(bytes[2 * i] | (bytes[2 * i + 1] << 8U));
  }
  return values;
}

std::pair<ByteVector, ByteVector> encode(Codec codec, DType type, std::span<const std::uint8_t> bytes) {
  const std::vector<std::uint16_t> values = values_of(bytes);
  Coded coded = codec == Codec::window ? window_encode(values) : entropy_encode(values);
  if (!may_be_odd(type)) return {std::move(coded.early), std::move(coded.late)};
  ByteVector early = {static_cast<std::uint8_t>(bytes.size() % 2)};
  if (bytes.size() % 2 == 1) early.push_back(bytes.back());
  early.insert(early.end(), coded.early.begin(), coded.early.end());
  return {std::move(early), std::move(coded.late)};
}

ByteVector decode(Codec codec, DType type, const ByteVector& early, const ByteVector& late) {
  const std::size_t over = may_be_odd(type) && !early.empty() ? early.front() : 0;
  const std::size_t ahead = may_be_odd(type) ? 1 + over : 0;
  const Coded coded{{early.begin() + static_cast<std::ptrdiff_t>(ahead), early.end()}, late};
  ByteVector bytes;
  for (const std::uint16_t v : codec == Codec::window ? window_decode(coded) : entropy_decode(coded)) {
    bytes.push_back(static_cast<std::uint8_t>(v & 0xffU));
    bytes.push_back(static_cast<std::uint8_t>(v >> 8U));
  }
  if (over == 1) bytes.push_back(early[1]);
  return bytes;
}

}  // namespace

CodecHook real_codecs() {
  return {encode, decode};
}

}  // namespace overlap
