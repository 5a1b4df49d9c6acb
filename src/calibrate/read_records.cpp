// Our own formats: measured records (JSON Lines) and kernel tables.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "calibrate/inputs.hpp"
#include "calibrate/text.hpp"
#include "config/reader.hpp"
#include "overlap/error.hpp"
#include "overlap/kernel_table.hpp"

namespace overlap::calibrate {
namespace {

using config::Cursor;

// "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT": the numbers of the first pair are columns and rows of a tile.
std::pair<std::uint32_t, std::uint32_t> tile_of(const std::string& name) {
  for (std::size_t i = 0; i + 1 < name.size(); ++i) {
    if (name[i] != '_' || std::isdigit(static_cast<unsigned char>(name[i + 1])) == 0) continue;
    std::uint32_t a = 0, b = 0;
    const char* end = name.data() + name.size();
    const auto first = std::from_chars(name.data() + i + 1, end, a);
    if (first.ptr == end || *first.ptr != 'x') continue;
    const auto second = std::from_chars(first.ptr + 1, end, b);
    if (second.ec == std::errc() && a >= 8 && b >= 8) return {a, b};
  }
  return {0, 0};
}

void add_kernels(Inputs& in, const Cursor& root, Place at) {
  const auto whole = [&](const char* key) { return static_cast<std::uint32_t>(root.member(key).integer(1, 1 << 30)); };
  TimedGemm g;
  g.at = at;
  g.shape = {whole("m"), whole("n"), whole("k")};
  if (root.value().find("accumulate") != nullptr) g.accumulate = root.member("accumulate").integer(0, 1) != 0;
  if (root.value().find("sm_target") != nullptr) {
    g.sms = static_cast<std::uint32_t>(root.member("sm_target").integer(0, 1 << 20));
  }
  const std::vector<Cursor> kernels = root.member("kernels").items();
  if (kernels.empty()) return in.reject(at, "no kernels");
  double us = 0;
  for (const Cursor& k : kernels) {
    std::vector<double> v;
    for (const Cursor& c : k.member("us").items()) v.push_back(c.ratio(0, 1e12));
    if (v.empty()) k.fail("a kernel needs times");
    us += median_of(v);
  }
  if (us <= 0) throw InputError(in.where(at), "the times of the kernels are zero");
  g.time = Seconds(us * 1e-6);
  std::tie(g.tile_cols, g.tile_rows) = tile_of(kernels.front().member("name").text());
  if (g.tile_cols == 0) return in.reject(at, "no tile in the name of kernel " + kernels.front().member("name").text());
  if (kernels.size() > 1 && kernels.front().value().find("grid") != nullptr) {
    double ctas = 1;
    for (const Cursor& c : kernels.front().member("grid").items()) ctas *= c.ratio(1, 1e9);
    const double tiles = std::ceil(double(g.shape.n) / g.tile_cols) * std::ceil(double(g.shape.m) / g.tile_rows);
    g.splits = static_cast<std::uint32_t>(std::max(1.0, std::round(ctas / tiles)));
  }
  in.gemms.push_back(g);
  ++in.sources[at.source].rows;
}

}  // namespace

void read_record_lines(Inputs& in, std::uint32_t source, const std::string& text) {
  std::uint32_t number_of_line = 0;
  for (const std::string_view line : lines_of(text)) {
    const Place at{source, ++number_of_line};
    if (trimmed(line).empty()) continue;
    const config::Document doc(line, in.where(at));
    const config::Value& v = doc.root().value();
    const config::Value* kind = v.find("kind");
    if (kind != nullptr && kind->string == "meta") {
      const config::Value* machine = v.find("machine");
      const std::vector<std::string> models = device_models(machine != nullptr ? machine->string : "");
      if (models.size() == 1) in.sources[source].device = models.front();
      continue;
    }
    if (v.find("kernels") != nullptr) {
      add_kernels(in, doc.root(), at);
    } else if (kind != nullptr) {
      ++in.sources[source].rows;
    } else {
      throw InputError(in.where(at), "a record needs \"kind\" (or \"kernels\")");
    }
  }
  in.record_files.push_back(in.sources[source].file);
}

void read_kernel_table(Inputs& in, std::uint32_t source, const std::string&) {
  const std::shared_ptr<const KernelTable> t = load_kernel_table(in.sources[source].file);
  std::uint32_t i = 0;
  for (const MeasuredGemm& g : t->rows) {
    const KernelModel& k = t->kernels[g.kernel];
    in.gemms.push_back({{g.m, g.n, g.k}, g.time, g.accumulate, g.sms, k.cols, k.rows, g.splits, {source, ++i}});
  }
  in.sources[source].rows += static_cast<std::uint32_t>(t->rows.size());
}

}  // namespace overlap::calibrate
