// Text of nccl-tests (and rccl-tests) and of nvbandwidth, as the tools print it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/inputs.hpp"
#include "calibrate/text.hpp"
#include "config/reader.hpp"
#include "overlap/error.hpp"

namespace overlap::calibrate {
namespace {

void note_device(Inputs& in, Place at, std::string_view text) {
  for (const std::string& m : device_models(text)) {
    std::string& known = in.sources[at.source].device;
    if (known.empty()) known = m;
    if (m != known) {
      throw InputError(in.where(at), fmt::format("a device {} beside {}; calibrate one device at a time", m, known));
    }
  }
}

// One run of a test: its header, columns and what its comments tell.
struct Run {
  std::string kind;
  std::uint32_t ranks = 0;
  std::vector<std::string> columns;
  std::vector<TimedCollective> rows;
  std::vector<double> factors;  // busbw / algbw of rows large enough to tell
  bool reduces = false;         // redop is a reduction
  bool no_in_place_check = false;
};

// Devices from the ratio of bus to algorithm bandwidth, as nccl-tests defines it.
std::uint32_t ranks_from(const std::string& kind, double factor) {
  const double n = kind == "all_reduce" ? 2 / (2 - factor) : 1 / (1 - factor);
  return std::isfinite(n) && n > 1.5 && n < 4096 ? static_cast<std::uint32_t>(std::lround(n)) : 0;
}

void finish(Inputs& in, Run& run, std::uint32_t source) {
  const double factor = run.factors.empty() ? 0 : median_of(run.factors);
  if (run.kind.empty() && !run.rows.empty()) run.kind = collective_kind(in.sources[source].file);
  if (run.kind.empty() && factor > 0) {
    // 2 (n-1)/n is above 1 from three devices on; the others stay below.
    run.kind = run.reduces ? (factor > 0.995 ? "all_reduce" : "reduce_scatter")
                           : (run.no_in_place_check ? "all_to_all" : "all_gather");
  }
  const std::uint32_t told = run.ranks > 1 ? run.ranks : factor > 0 ? ranks_from(run.kind, factor) : 0;
  for (TimedCollective& t : run.rows) {
    t.kind = run.kind;
    t.members = told;
    if (t.kind.empty() || told < 2) {
      in.reject(t.at, t.kind.empty() ? "which collective ran is not said (keep the tool's comment lines)"
                                     : "the number of devices is not said (keep the tool's comment lines)");
      continue;
    }
    in.collectives.push_back(t);
    ++in.sources[source].rows;
  }
  run = Run();
}

void add_row(Inputs& in, Run& run, const std::vector<std::string>& f, Place at) {
  std::vector<std::size_t> times;
  for (std::size_t i = 0; i < run.columns.size(); ++i) {
    if (run.columns[i] == "time") times.push_back(i);
  }
  // A line that lost its end (an interrupted run) still has its first time.
  if (f.size() < run.columns.size() && (times.empty() || f.size() < times.front() + 3)) {
    throw InputError(in.where(at), fmt::format("{} fields where the header names {}", f.size(), run.columns.size()));
  }
  const auto bytes = number(f[0]);
  if (!bytes || *bytes < 0) throw InputError(in.where(at), fmt::format("the size is '{}'", f[0]));
  for (std::size_t i = 0; i < run.columns.size(); ++i) {
    if (run.columns[i] == "redop" && i < f.size()) run.reduces = run.reduces || f[i] != "none";
  }
  if (!f.empty() && lower(f.back()) == "n/a") run.no_in_place_check = true;
  bool in_place = false;
  for (const std::size_t i : times) {
    if (i + 2 >= f.size()) continue;
    const auto t = number(f[i]), a = number(f[i + 1]), b = number(f[i + 2]);
    const bool second = in_place;
    in_place = true;
    if (second && !t) continue;
    if (!t) throw InputError(in.where(at), fmt::format("the time is '{}'", f[i]));
    if (*bytes == 0) {
      if (!second) in.reject(at, "no bytes");
      continue;
    }
    if (*t <= 0) {
      in.reject(at, "a time that is not positive");
      continue;
    }
    if (a && *a > 1 && std::abs(*bytes / (*t * 1e-6) / (*a * 1e9) - 1) > 0.05) {
      in.reject(at, fmt::format("bytes over time are {:.2f} GB/s, the row says {}", *bytes / (*t * 1e3), *a));
      continue;
    }
    if (a && b && *a > 5) run.factors.push_back(*b / *a);
    run.rows.push_back({"", 0, 0, Bytes(*bytes), Seconds(*t * 1e-6), second, at});
  }
}

// "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)": rates of device pairs, this way or that.
struct Matrix {
  bool pairs = false, towards_row = false, both = false, total = false, by_sms = false;
};

Matrix matrix_of(std::string_view title, std::string_view test) {
  const std::string t = lower(std::string(title) + " " + std::string(test));
  Matrix m;
  m.pairs = contains(t, "gpu(row)") && contains(t, "gpu(column)") && contains(t, "gb/s") && !contains(t, "latency");
  m.both = contains(t, "<->") || contains(t, "bidirectional");
  m.towards_row = !m.both && contains(title, "<-");
  m.total = contains(t, "total");
  m.by_sms = contains(t, "memcpy sm") || contains(t, "_sm");
  return m;
}

void add_pair(Inputs& in, const Matrix& m, std::uint32_t row, std::uint32_t column, const std::string& field,
              Place at) {
  const auto v = number(field);
  if (!v) {
    if (lower(field) != "n/a") throw InputError(in.where(at), fmt::format("'{}' is no rate", field));
    return;
  }
  if (row == column) return;
  if (*v <= 0) return in.reject(at, fmt::format("a rate of {} GB/s between {} and {}", field, row, column));
  // Of a bidirectional test the total of both directions is printed beside the parts: the total counts.
  if (m.both && !m.total) return;
  const std::uint32_t from = m.towards_row ? column : row, to = m.towards_row ? row : column;
  in.pairs.push_back({from, to, Bandwidth(*v * 1e9 / (m.both ? 2 : 1)), m.both, false, m.by_sms, at});
  ++in.sources[at.source].rows;
}

}  // namespace

void read_nccl_tests(Inputs& in, std::uint32_t source, const std::string& text) {
  Run run;
  std::uint32_t number_of_line = 0;
  for (const std::string_view line : lines_of(text)) {
    const Place at{source, ++number_of_line};
    const std::vector<std::string> f = words(line);
    if (f.empty()) continue;
    if (f[0].starts_with('#')) {
      const bool starts = contains(line, "nThread") || contains(line, "Collective test starting");
      if (starts && !run.rows.empty()) finish(in, run, source);
      if (starts || contains(line, "_perf")) {
        if (const std::string kind = collective_kind(line); !kind.empty()) run.kind = kind;
      }
      if (f.size() > 2 && f[1] == "Rank" && number(f[2])) {
        run.ranks = std::max(run.ranks, static_cast<std::uint32_t>(*number(f[2])) + 1);
        note_device(in, at, line);
      }
      if (f.size() > 3 && f[1] == "size" && contains(line, "time")) {
        if (!run.rows.empty()) finish(in, run, source);
        run.columns.assign(f.begin() + 1, f.end());
      }
      continue;
    }
    if (!number(f[0])) {
      // Output of the launcher or of NCCL_DEBUG between the rows; a command line names the test.
      if (contains(line, "_perf")) {
        if (!run.rows.empty()) finish(in, run, source);
        if (const std::string kind = collective_kind(line); !kind.empty()) run.kind = kind;
      }
      continue;
    }
    if (run.columns.empty())
      throw InputError(in.where(at), "a row before the header line '# size count type ... time'");
    add_row(in, run, f, at);
  }
  finish(in, run, source);
}

void read_nvbandwidth(Inputs& in, std::uint32_t source, const std::string& text) {
  Matrix now;
  std::string test;
  std::uint32_t number_of_line = 0;
  std::size_t columns = 0;
  for (const std::string_view line : lines_of(text)) {
    const Place at{source, ++number_of_line};
    const std::vector<std::string> f = words(line);
    if (f.empty()) continue;
    if (f[0] == "Device" && f.size() > 2) {
      note_device(in, at, line);
    } else if (f[0] == "Running" && f.size() > 1) {
      test = f[1];
      now = Matrix();
    } else if (contains(line, "(row)")) {
      now = matrix_of(line, test);
      columns = 0;
    } else if (f[0] == "SUM" || f[0] == "NOTE:" || f[0] == "ERROR") {
      now = Matrix();
    } else if (now.pairs && number(f[0])) {
      if (columns == 0) {
        columns = f.size();
        continue;
      }
      if (f.size() != columns + 1) {
        throw InputError(in.where(at), fmt::format("{} fields in a matrix of {} columns", f.size(), columns));
      }
      for (std::size_t i = 1; i < f.size(); ++i) {
        add_pair(in, now, static_cast<std::uint32_t>(*number(f[0])), static_cast<std::uint32_t>(i - 1), f[i], at);
      }
    }
  }
  if (in.sources[source].rows == 0 && in.sources[source].rejected == 0) {
    in.reject({source, 0}, "no matrix of rates between devices (run the device_to_device tests)");
  }
}

void read_nvbandwidth_json(Inputs& in, std::uint32_t source, const std::string& text) {
  const config::Document doc(text, in.sources[source].file);
  for (const config::Cursor& c : doc.root().member("nvbandwidth").member("testcases").items()) {
    if (c.value().find("bandwidth_matrix") == nullptr) continue;
    const std::string name = c.member("name").text();
    const bool described = c.value().find("bandwidth_description") != nullptr;
    const Matrix m = matrix_of(described ? c.member("bandwidth_description").text() : "", name);
    if (!m.pairs) continue;
    const std::vector<config::Cursor> rows = c.member("bandwidth_matrix").items();
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::vector<config::Cursor> cells = rows[r].items();
      for (std::size_t k = 0; k < cells.size(); ++k) {
        add_pair(in, m, static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(k), cells[k].text(), {source, 0});
      }
    }
  }
  if (in.sources[source].rows == 0 && in.sources[source].rejected == 0) {
    in.reject({source, 0}, "no matrix of rates between devices (run the device_to_device tests)");
  }
}

}  // namespace overlap::calibrate
