// Times as the reports print them: numbers of microseconds.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "overlap/units.hpp"

namespace overlap {

inline double microseconds(Seconds t) {
  return t.si() * 1e6;
}

// With a fixed number of digits; what rounds to nothing is "0.0", never "-0.0".
inline std::string microseconds(Seconds t, int digits) {
  const double v = microseconds(t);
  return fmt::format("{:.{}f}", std::abs(v) < 0.5 * std::pow(10.0, -digits) ? 0.0 : v, digits);
}

}  // namespace overlap
