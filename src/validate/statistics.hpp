// Order statistics of errors and times.
#pragma once

#include <vector>

namespace overlap {

// Linear between the neighbouring values; q in 0..1. 0 of no values.
double quantile_of(std::vector<double> values, double q);
double median_of(std::vector<double> values);

// What the median of `draws` (odd) of these values is on average: of two outcomes as likely it is in between, where the
// median of many draws jumps (Harrell and Davis, Biometrika 69, 1982). 0 of no values.
double expected_median(std::vector<double> values, unsigned draws);

}  // namespace overlap
