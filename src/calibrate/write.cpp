#include "calibrate/write.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "config/values.hpp"

namespace overlap::calibrate {

std::string quantity(double value, std::string_view unit) {
  // %g may print an exponent; the formats of our files allow it.
  return fmt::format("{:.6g} {}", value, unit);
}

std::string source_text(const Fit& fit, const Inputs& in) {
  std::set<std::string> files;
  for (const Source& s : in.sources) {
    if (s.rows > 0) files.insert(std::filesystem::path(s.file).filename().string());
  }
  std::string out = fmt::format("calibrated from {}: ", fmt::join(files, ", "));
  if (fit.after.n > 0) {
    out += fmt::format("error median {:.2f} %, p90 {:.2f} % of {} rows; ", fit.after.median_pct, fit.after.p90_pct,
                       fit.after.n);
  }
  for (std::size_t i = 0; i < fit.coefficients.size(); ++i) {
    const Coefficient& c = fit.coefficients[i];
    const std::string name = c.name.substr(c.name.rfind('/') + 1);
    out += fmt::format("{}{} {:.4g}", i == 0 ? "" : ", ", name, c.value);
    out += c.sigma > 0 ? fmt::format(" +- {:.2g}", c.sigma) : " (at its bound)";
    if (!c.unit.empty()) out += " " + c.unit;
  }
  return out;
}

void apply(config::Value& device, const Fit& fit, const Inputs& in) {
  std::set<std::string> sections;
  for (const Coefficient& c : fit.coefficients) {
    if (c.name.find(' ') != std::string::npos) continue;  // no place of a device file
    const double v = std::stod(fmt::format("{:.6g}", c.value));
    config::set_member(device, c.name,
                       c.unit.empty() ? config::number_value(v) : config::text_value(quantity(c.value, c.unit)));
    const std::size_t slash = c.name.find('/');
    if (slash != std::string::npos) sections.insert(c.name.substr(0, slash));
  }
  for (const std::string& s : sections)
    config::set_member(device, s + "/source", config::text_value(source_text(fit, in)));
}

}  // namespace overlap::calibrate
