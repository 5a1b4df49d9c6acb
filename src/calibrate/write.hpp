// The device and topology files that a calibration writes: the base's values with what was fitted in their place.
#pragma once

#include <string>

#include "calibrate/fit.hpp"
#include "config/value.hpp"

namespace overlap::calibrate {

// "1.25 us", "397 GB/s", "16384 B": at most six figures.
std::string quantity(double value, std::string_view unit);
// Coefficients with their errors and rows in one line, for the `source` of a section.
std::string source_text(const Fit& fit, const Inputs& in);

// Sets the coefficients of a fit in a device value; sections get a `source`.
void apply(config::Value& device, const Fit& fit, const Inputs& in);

}  // namespace overlap::calibrate
