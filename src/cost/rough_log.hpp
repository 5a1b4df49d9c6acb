// A logarithm for distances between GEMMs only.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace overlap::cost {

// 0.6931 log2(v) to 9 %, piecewise linear in the mantissa: the same bits on every machine.
inline double rough_log(double v) {
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52U) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(v);
  const std::uint64_t field = bits >> 52U;  // sign and exponent
  if (field == 0 || field >= 0x7ff) {       // zero, subnormal, negative or not finite
    int exponent = 0;
    const double mantissa = std::frexp(v, &exponent);
    return 0.6931 * (exponent - 1 + 2 * mantissa - 1);
  }
  const auto exponent = static_cast<double>(field) - 1022;
  const auto mantissa = std::bit_cast<double>((bits & kMantissa) | (std::uint64_t{1022} << 52U));  // in [0.5, 1)
  return 0.6931 * (exponent - 1 + 2 * mantissa - 1);
}

}  // namespace overlap::cost
