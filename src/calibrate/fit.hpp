// Fits of a device's coefficients. Each says what it found, how sure it is and from which rows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/inputs.hpp"
#include "overlap/device.hpp"

namespace overlap::calibrate {

// One coefficient of a device or topology file, as found.
struct Coefficient {
  std::string name;  // its place in the file: "gemm/fixed"
  double value = 0;  // in `unit`
  double sigma = 0;  // standard error; 0 = at its bound, not determined by the data
  std::string unit;  // "us", "GB/s", "" for a ratio
  std::string from;  // what it was fitted to
  std::uint32_t rows = 0;
  double before = 0;  // in the base file
};

struct Errors {
  std::uint32_t n = 0;
  double bias_pct = 0, median_pct = 0, p90_pct = 0;
};
// Of predicted / measured - 1.
Errors errors_of(const std::vector<double>& relative);

// What a part of the calibration did, for the report.
struct Fit {
  std::string name;  // "GEMM", "collectives"
  Errors before, after;
  std::vector<Coefficient> coefficients;
  std::vector<std::string> notes;
};

// Rows that cannot be: faster than the base's peak, or far from others of the same GEMM. Taken out of `in`.
void reject_inconsistent(Inputs& in, const Device& base);

// --- GEMMs: the one place where their coefficients are fitted.
// Which rows a fit may see, by (n, k): cross-validation leaves whole weight shapes out.
using Sees = std::function<bool(const TimedGemm&)>;
// Tile model of rows without kernel names (cost/tile.cpp). Fits at most `most` rows, spread over all.
Fit fit_tile_model(Device& device, const std::vector<TimedGemm>& rows, std::size_t most = 700);
// Where a fitted tile model still errs: a table of `near` rows that corrects it, in device.gemm.kernels.
void add_near_rows(Device& device, const std::vector<TimedGemm>& rows);
double predicted(const Device& device, const TimedGemm& g);  // seconds
Errors gemm_errors(const Device& device, const std::vector<TimedGemm>& rows);

// Fold of a weight shape or of any other group: equal keys stay together.
std::uint32_t fold_of(std::uint64_t key, std::uint32_t folds);
std::uint64_t family_of(const TimedGemm& g);  // (n, k)

}  // namespace overlap::calibrate
