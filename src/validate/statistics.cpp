#include "validate/statistics.hpp"

#include <algorithm>
#include <cmath>
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

namespace {

// Chance that more than half of `draws` lie below a point that one does with chance x.
double most_below(double x, unsigned draws) {
  double sum = 0, choose = 1;
  for (unsigned j = 0; j <= draws; ++j) {
    if (2 * j > draws) sum += choose * std::pow(x, j) * std::pow(1 - x, draws - j);
    choose *= static_cast<double>(draws - j) / (j + 1);
  }
  return sum;
}

}  // namespace

double expected_median(std::vector<double> values, unsigned draws) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double sum = 0, before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double upto = most_below(static_cast<double>(i + 1) / n, draws);
    sum += (upto - before) * values[i];
    before = upto;
  }
  return sum;
}

}  // namespace overlap
