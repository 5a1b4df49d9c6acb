// Order statistics of errors and times.
#pragma once

#include <vector>

namespace overlap {

// Linear between the neighbouring values; q in 0..1. 0 of no values.
double quantile_of(std::vector<double> values, double q);
double median_of(std::vector<double> values);

}  // namespace overlap
