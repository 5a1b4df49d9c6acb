#include "calibrate/table_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/text.hpp"
#include "overlap/error.hpp"

namespace overlap::calibrate {
namespace {

// Seconds a unit of a column of times; nothing where the column holds none. Spellings: us, time_us, us_vllm,
// "time (us)", latency_ms, duration_ns, time_stats.all_reduce.median (Vidur: ms).
std::optional<double> time_unit(const std::string& column) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  static constexpr Unit kUnits[] = {{"us", 1e-6},   {"usec", 1e-6}, {"microseconds", 1e-6},
                                    {"ms", 1e-3},   {"msec", 1e-3}, {"milliseconds", 1e-3},
                                    {"ns", 1e-9},   {"sec", 1},     {"s", 1},
                                    {"seconds", 1}, {"µs", 1e-6}};
  std::string plain = lower(column);
  if (plain.starts_with("time_stats.") && plain.ends_with(".median")) return 1e-3;
  for (char& c : plain) {
    if (c == '(' || c == ')' || c == '[' || c == ']' || c == '_' || c == '.' || c == '-' || c == '/') c = ' ';
  }
  const std::vector<std::string> parts = words(plain);
  const auto is = [&](std::string_view w) { return std::find(parts.begin(), parts.end(), w) != parts.end(); };
  for (const std::string_view spread : {"min", "max", "std", "stddev", "p10", "p90", "p99", "error", "inplace"}) {
    if (is(spread)) return std::nullopt;
  }
  for (const Unit& u : kUnits) {
    if (is(u.name)) return u.seconds;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Block> blocks_of(std::string_view text) {
  std::vector<Block> out;
  std::string about, title;
  std::uint32_t number = 0;
  bool fresh = true;
  char separator = ',';
  for (const std::string_view line : lines_of(text)) {
    ++number;
    const std::string_view t = trimmed(line);
    if (t.empty()) continue;
    if (t.starts_with("##")) {
      title = std::string(trimmed(t.substr(2)));
      fresh = true;
    } else if (t.front() == '#') {
      if (out.empty() && fresh) about += std::string(t.substr(1)) + "\n";
    } else if (fresh) {
      separator = contains(t, ",") ? ',' : contains(t, ";") ? ';' : '\t';
      out.push_back({title.empty() ? about : title, number, csv_fields(t, separator), {}});
      fresh = false;
    } else {
      out.back().rows.push_back({number, csv_fields(t, separator)});
    }
  }
  return out;
}

Columns::Columns(const Inputs& in, std::uint32_t source, const Block& b) : in_(in), source_(source), block_(b) {
  for (std::size_t i = 0; i < b.head.size(); ++i) {
    lower_.push_back(lower(b.head[i]));
    if (const auto unit = time_unit(b.head[i])) times_.emplace_back(i, *unit);
  }
}

std::optional<std::size_t> Columns::find(std::initializer_list<std::string_view> names) const {
  for (const std::string_view n : names) {
    const auto it = std::find(lower_.begin(), lower_.end(), n);
    if (it != lower_.end()) return static_cast<std::size_t>(it - lower_.begin());
  }
  return std::nullopt;
}

std::optional<std::size_t> Columns::ending(std::string_view end) const {
  for (std::size_t i = 0; i < lower_.size(); ++i) {
    if (lower_[i].ends_with(end)) return i;
  }
  return std::nullopt;
}

void Columns::fail(const Row& r, const std::string& what) const {
  throw InputError(in_.where({source_, r.line}), what);
}

std::uint32_t Columns::whole(const Row& r, std::size_t column) const {
  const auto v = number(r.fields[column]);
  if (!v || *v < 1 || *v > 4e9 || *v != std::floor(*v)) {
    fail(r, fmt::format("{} is '{}', a positive whole number is needed", block_.head[column], r.fields[column]));
  }
  return static_cast<std::uint32_t>(*v);
}

std::optional<double> Columns::seconds(const Row& r) const {
  std::vector<double> v;
  for (const auto& [column, unit] : times_) {
    if (r.fields[column].empty()) continue;
    const auto t = number(r.fields[column]);
    if (!t || *t == 0) {
      fail(r, fmt::format("{} is '{}', a time is needed", block_.head[column], r.fields[column]));
    }
    v.push_back(*t * unit);
  }
  if (v.empty()) return std::nullopt;
  return median_of(v);
}

void Columns::check(const Row& r) const {
  if (r.fields.size() != block_.head.size()) {
    fail(r,
         fmt::format("{} fields where the header of line {} has {}", r.fields.size(), block_.line, block_.head.size()));
  }
}

}  // namespace overlap::calibrate
