#include "overlap/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "overlap/error.hpp"

namespace overlap {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kTime = {Unit{"ps", 1e-12}, Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1.0}};
constexpr std::array kBytes = {Unit{"B", 1.0},         Unit{"kB", 1e3},          Unit{"MB", 1e6},
                               Unit{"GB", 1e9},        Unit{"TB", 1e12},         Unit{"KiB", 1024.0},
                               Unit{"MiB", 1048576.0}, Unit{"GiB", 1073741824.0}};
constexpr std::array kBandwidth = {
    Unit{"B/s", 1.0},      Unit{"kB/s", 1e3},        Unit{"MB/s", 1e6},           Unit{"GB/s", 1e9},
    Unit{"TB/s", 1e12},    Unit{"MiB/s", 1048576.0}, Unit{"GiB/s", 1073741824.0}, Unit{"Mb/s", 1e6 / 8},
    Unit{"Gb/s", 1e9 / 8}, Unit{"Tb/s", 1e12 / 8}};
constexpr std::array kFlops = {Unit{"FLOP/s", 1.0}, Unit{"GFLOP/s", 1e9}, Unit{"TFLOP/s", 1e12}, Unit{"PFLOP/s", 1e15}};
constexpr std::array kHertz = {Unit{"Hz", 1.0}, Unit{"kHz", 1e3}, Unit{"MHz", 1e6}, Unit{"GHz", 1e9}};

std::string names(std::span<const Unit> units) {
  std::string out;
  for (const Unit& u : units) {
    out += out.empty() ? "" : ", ";
    out += u.name;
  }
  return out;
}

std::string_view dimension_of(std::string_view unit) {
  const std::array<std::pair<std::string_view, std::span<const Unit>>, 5> all = {
      {{"time", kTime}, {"size", kBytes}, {"bandwidth", kBandwidth}, {"compute rate", kFlops}, {"frequency", kHertz}}};
  for (const auto& [dimension, units] : all) {
    for (const Unit& u : units) {
      if (u.name == unit) return dimension;
    }
  }
  return {};
}

double parse(std::string_view text, std::span<const Unit> units, std::string_view what) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || !std::isfinite(number)) {
    throw UnitError(fmt::format("'{}' is no {}: a finite number and a unit are needed ({})", text, what, names(units)));
  }
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  if (unit.empty()) throw UnitError(fmt::format("'{}' has no unit; a {} takes one of {}", text, what, names(units)));
  for (const Unit& u : units) {
    if (u.name == unit) return number * u.factor;
  }
  const std::string_view dimension = dimension_of(unit);
  if (!dimension.empty()) {
    throw UnitError(fmt::format("'{}' is a {} where a {} belongs; use one of {}", text, dimension, what, names(units)));
  }
  throw UnitError(fmt::format("'{}' has the unknown unit '{}'; a {} takes one of {}", text, unit, what, names(units)));
}

std::string show(double v, std::span<const Unit> units) {
  const double magnitude = std::fabs(v);
  const Unit* best = &units.front();
  for (const Unit& u : units) {
    if (magnitude >= u.factor) best = &u;
  }
  return fmt::format("{:.4g} {}", v / best->factor, best->name);
}

constexpr std::array kShowTime = {Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1.0}};
constexpr std::array kShowBytes = {Unit{"B", 1.0}, Unit{"KiB", 1024.0}, Unit{"MiB", 1048576.0},
                                   Unit{"GiB", 1073741824.0}};
constexpr std::array kShowBandwidth = {Unit{"B/s", 1.0}, Unit{"MB/s", 1e6}, Unit{"GB/s", 1e9}, Unit{"TB/s", 1e12}};
constexpr std::array kShowWork = {Unit{"FLOP", 1.0}, Unit{"GFLOP", 1e9}, Unit{"TFLOP", 1e12}};

}  // namespace

std::string to_text(Seconds v) {
  return show(v.si(), kShowTime);
}
std::string to_text(Bytes v) {
  return show(v.si(), kShowBytes);
}
std::string to_text(Flops v) {
  return show(v.si(), kShowWork);
}
std::string to_text(Bandwidth v) {
  return show(v.si(), kShowBandwidth);
}
std::string to_text(FlopRate v) {
  return show(v.si(), kFlops);
}
std::string to_text(Frequency v) {
  return show(v.si(), kHertz);
}

Seconds parse_seconds(std::string_view text) {
  return Seconds(parse(text, kTime, "time"));
}
Bytes parse_bytes(std::string_view text) {
  return Bytes(parse(text, kBytes, "size"));
}
Bandwidth parse_bandwidth(std::string_view text) {
  return Bandwidth(parse(text, kBandwidth, "bandwidth"));
}
FlopRate parse_flop_rate(std::string_view text) {
  return FlopRate(parse(text, kFlops, "compute rate"));
}
Frequency parse_frequency(std::string_view text) {
  return Frequency(parse(text, kHertz, "frequency"));
}

}  // namespace overlap
