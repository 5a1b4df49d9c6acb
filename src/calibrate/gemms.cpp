// GEMM tables without kernel names: the fit, its cross-validation and its learning curve.
#include <fmt/format.h>

#include <algorithm>

#include "calibrate/calibrate.hpp"
#include "overlap/error.hpp"
#include "overlap/kernel_table.hpp"

namespace overlap::calibrate {
namespace {

constexpr std::size_t kFewest = 16;

// Rows without kernel names, of plain GEMMs on all SMs.
std::vector<TimedGemm> unnamed(const std::vector<TimedGemm>& rows) {
  std::vector<TimedGemm> out;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(out),
               [](const TimedGemm& g) { return g.tile_cols == 0 && !g.accumulate && g.sms == 0; });
  return out;
}

void fit_both(Device& device, const std::vector<TimedGemm>& rows) {
  fit_tile_model(device, rows);
  add_near_rows(device, rows);
}

void collect(std::vector<double>& off, const Device& device, const std::vector<TimedGemm>& rows) {
  for (const TimedGemm& g : rows) off.push_back(predicted(device, g) / g.time.si() - 1);
}

std::pair<std::vector<TimedGemm>, std::vector<TimedGemm>> fold(const std::vector<TimedGemm>& rows, std::uint32_t f,
                                                               std::uint32_t folds) {
  std::pair<std::vector<TimedGemm>, std::vector<TimedGemm>> out;  // seen, left out
  for (const TimedGemm& g : rows) (fold_of(family_of(g), folds) == f ? out.second : out.first).push_back(g);
  return out;
}

}  // namespace

void fit_gemms(Report& report, Device& device) {
  const std::vector<TimedGemm> rows = unnamed(report.inputs.gemms);
  if (rows.empty()) return;
  if (rows.size() < kFewest) {
    Fit skipped{"GEMM, tile model", {}, {}, {}, {}};
    skipped.notes.push_back(
        fmt::format("{} rows; at least {} are needed, the base's values stay", rows.size(), kFewest));
    report.fits.push_back(skipped);
    return;
  }
  Fit fit = fit_tile_model(device, rows);
  add_near_rows(device, rows);
  fit.after = gemm_errors(device, rows);
  fit.notes.push_back(
      fmt::format("{} rows kept as corrections near by: the error of training says little, "
                  "--cross-validate tells that of GEMMs not measured",
                  device.gemm.kernels->near.size()));
  report.fits.push_back(std::move(fit));
}

void cross_validate_gemms(Report& report, const Device& base, std::uint32_t folds) {
  const std::vector<TimedGemm> rows = unnamed(report.inputs.gemms);
  if (rows.size() < 2 * kFewest) return;
  std::vector<double> training, left_out, alone;
  for (std::uint32_t f = 0; f < folds; ++f) {
    const auto [seen, unseen] = fold(rows, f, folds);
    if (unseen.empty() || seen.size() < kFewest) continue;
    Device device = base;
    fit_tile_model(device, seen);
    device.gemm.kernels = nullptr;
    collect(alone, device, unseen);
    add_near_rows(device, seen);
    collect(training, device, seen);
    collect(left_out, device, unseen);
  }
  report.folds.push_back({"GEMM, whole (n, k) left out", errors_of(training), errors_of(left_out)});
  report.folds.push_back({"  the same, coefficients alone", {}, errors_of(alone)});
}

void learning_curve(Report& report, const Device& base) {
  const std::vector<TimedGemm> rows = unnamed(report.inputs.gemms);
  constexpr std::uint32_t kFolds = 4;
  if (rows.size() < 4 * kFewest) {
    throw InputError("--learning-curve", fmt::format("{} GEMM rows without kernel names; at least {} are needed",
                                                     rows.size(), 4 * kFewest));
  }
  for (const std::size_t n : {16U, 32U, 64U, 128U}) {
    std::vector<double> training, left_out;
    for (std::uint32_t f = 0; f < kFolds; ++f) {
      auto [seen, unseen] = fold(rows, f, kFolds);
      if (seen.size() < n || unseen.empty()) continue;
      // The rows whose hash is least: a sample that no order of the file chooses.
      std::sort(seen.begin(), seen.end(), [](const TimedGemm& a, const TimedGemm& b) {
        const auto key = [](const TimedGemm& g) { return fold_of(family_of(g) * 31 + g.shape.m, 1U << 30U); };
        return std::tuple(key(a), a.at.line) < std::tuple(key(b), b.at.line);
      });
      seen.resize(n);
      Device device = base;
      fit_both(device, seen);
      collect(training, device, seen);
      collect(left_out, device, unseen);
    }
    if (left_out.empty()) continue;
    report.curve.push_back({fmt::format("GEMM, {} rows", n), errors_of(training), errors_of(left_out)});
  }
}

}  // namespace overlap::calibrate
