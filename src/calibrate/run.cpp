// Reads, fits what the rows allow, writes and reports.
#include <fmt/format.h>

#include <algorithm>

#include "calibrate/calibrate.hpp"
#include "calibrate/solver.hpp"
#include "calibrate/write.hpp"
#include "config/paths.hpp"
#include "config/values.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "overlap/report.hpp"

namespace overlap::calibrate {
namespace {

constexpr std::size_t kFewestGemms = 16;

// Rows without kernel names.
std::vector<TimedGemm> unnamed(const std::vector<TimedGemm>& rows) {
  std::vector<TimedGemm> out;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(out), [](const TimedGemm& g) { return g.tile_cols == 0; });
  return out;
}

void fit_gemms(Report& report, Device& device) {
  const std::vector<TimedGemm> rows = unnamed(report.inputs.gemms);
  if (rows.empty()) return;
  if (rows.size() < kFewestGemms) {
    Fit skipped{"GEMM, tile model", {}, {}, {}, {}};
    skipped.notes.push_back(
        fmt::format("{} rows; at least {} are needed, the base's values stay", rows.size(), kFewestGemms));
    report.fits.push_back(skipped);
    return;
  }
  report.fits.push_back(fit_tile_model(device, rows));
}

// Whole weight shapes left out.
void cross_validate(Report& report, const Device& base, std::uint32_t folds) {
  const std::vector<TimedGemm> rows = unnamed(report.inputs.gemms);
  if (rows.size() < 2 * kFewestGemms) return;
  std::vector<double> training, left_out;
  for (std::uint32_t f = 0; f < folds; ++f) {
    std::vector<TimedGemm> seen, unseen;
    for (const TimedGemm& g : rows) (fold_of(family_of(g), folds) == f ? unseen : seen).push_back(g);
    if (unseen.empty() || seen.size() < kFewestGemms) continue;
    Device device = base;
    fit_tile_model(device, seen);
    for (const TimedGemm& g : seen) training.push_back(predicted(device, g) / g.time.si() - 1);
    for (const TimedGemm& g : unseen) left_out.push_back(predicted(device, g) / g.time.si() - 1);
  }
  report.folds.push_back({"GEMM, whole (n, k) left out", errors_of(training), errors_of(left_out)});
}

void write_device(Report& report, const Request& q, config::Value value, const Device& base) {
  for (const Fit& f : report.fits) apply(value, f, report.inputs);
  config::set_member(value, "name", config::text_value(config::stem_of(q.device_out)));
  config::set_member(
      value, "source",
      config::text_value(fmt::format("{}; calibrated from measurements, see the source of each section", base.source)));
  // What is written must be readable.
  static_cast<void>(config::device_from(value, q.device_out));
  write_file(q.device_out, config::json_text(value, 2) + "\n");
  report.written.push_back(q.device_out);
}

}  // namespace

int run(const Request& q) {
  if (q.data.empty()) throw InputError("calibrate", "measured files are needed");
  if (q.device.empty()) throw InputError("calibrate", "--device BASE is needed: the device file to start from");
  if (q.cross_validate != 0 && (q.cross_validate < 2 || q.cross_validate > 100)) {
    throw InputError("--cross-validate", "2 to 100 folds are possible");
  }
  const config::Value value = config::device_value(q.device);
  const Device base = load_device(q.device);
  Report report;
  report.base = q.device;
  report.inputs = read_inputs(q.data);
  reject_inconsistent(report.inputs, base);
  Device device = base;
  fit_gemms(report, device);
  if (q.cross_validate > 0) cross_validate(report, base, static_cast<std::uint32_t>(q.cross_validate));
  if (!q.device_out.empty()) write_device(report, q, value, base);
  if (!q.report_out.empty()) write_file(q.report_out, to_json(report));
  fmt::print("{}", q.json ? to_json(report) : to_text(report));
  return 0;
}

}  // namespace overlap::calibrate
