#include "validate/statistics.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace overlap {

double quantile_of(std::vector<double> v, double q) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  const double at = q * static_cast<double>(v.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, v.size() - 1);
  return v[low] + (v[high] - v[low]) * (at - static_cast<double>(low));
}

double median_of(std::vector<double> values) {
  return quantile_of(std::move(values), 0.5);
}

}  // namespace overlap
