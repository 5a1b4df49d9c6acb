// Numbers of the reference run: small integers by place, exact in double, and real bytes for codecs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "overlap/op_graph.hpp"

namespace overlap {

// Element of a global matrix: an integer in -2..2.
double reference_value(Matrix matrix, std::uint32_t problem, std::uint32_t row, std::uint32_t col);

// Our own generator, so that a seed means the same run everywhere.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(next() % n); }

 private:
  std::uint64_t state_;
};

// Values as bytes of their type and back. `fits` is false when a value has no exact form in the type.
std::vector<std::uint8_t> to_bytes(DType type, std::span<const double> values, bool& fits);
std::vector<double> from_bytes(DType type, std::span<const std::uint8_t> bytes);

}  // namespace overlap
