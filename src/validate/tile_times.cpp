#include "validate/tile_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "config/reader.hpp"
#include "cost/kernel_model.hpp"
#include "overlap/engine.hpp"
#include "overlap/error.hpp"
#include "overlap/graph_builder.hpp"
#include "overlap/validate.hpp"

namespace overlap::validation {
namespace {

using config::Cursor;

std::uint32_t count(const Cursor& at, std::string_view key) {
  return static_cast<std::uint32_t>(at.member(key).integer(1, 1LL << 31));
}

TileRecord read_record(const Cursor& at) {
  TileRecord r;
  r.where = at.file();
  r.shape = {count(at, "m"), count(at, "n"), count(at, "k")};
  r.parts = count(at, "parts");
  const Cursor span = at.member("spans").items().at(0);
  const double begin = span.items().at(2).ratio(-1e12, 1e12);
  const Cursor kernel = at.member("tile_ends").items().at(0);
  const std::vector<Cursor> f = kernel.items();
  if (f.size() != 6) kernel.fail("tile_ends are [gpu, op, thread blocks, rows, columns, [us]]");
  r.workers = static_cast<std::uint32_t>(f[2].integer(1, 1 << 20));
  r.tile_rows = static_cast<std::uint32_t>(f[3].integer(1, 1 << 20));
  r.tile_cols = static_cast<std::uint32_t>(f[4].integer(1, 1 << 20));
  for (const Cursor& c : f[5].items()) r.ends.emplace_back((c.ratio(-1e12, 1e12) - begin) * 1e-6);
  if (r.ends.empty()) kernel.fail("no tiles");
  return r;
}

std::uint32_t up(std::uint32_t n, std::uint32_t by) {
  return (n + by - 1) / by;
}

OpGraph graph_of(const TileRecord& r) {
  GraphBuilder g(1);
  const DeviceId d(0U);
  const GemmShape& s = r.shape;
  const BufferId x = g.buffer(d, s.m, s.k, DType::bf16, BufferRole::input, "X");
  const BufferId w = g.buffer(d, s.k, s.n, DType::bf16, BufferRole::weight, "W");
  const BufferId y = g.buffer(d, s.m, s.n, DType::bf16, BufferRole::output, "Y");
  Gemm work{.m = s.m, .n = s.n, .k = s.k, .parts = {}};
  work.order = PartOrder::fixed;
  const OpId op = g.fused_gemm(g.lane(d, 0, "compute"), work, {.label = g.label("tiles")});
  for (std::uint32_t i = 0; i < up(s.m, r.tile_rows) * up(s.n, r.tile_cols); ++i) {
    const std::uint32_t row = i % up(s.m, r.tile_rows) * r.tile_rows;
    const std::uint32_t col = i / up(s.m, r.tile_rows) * r.tile_cols;
    const Rect rect{row, std::min(r.tile_rows, s.m - row), col, std::min(r.tile_cols, s.n - col)};
    g.part(op, {rect,
                {},
                std::array{Slice{x, rect.row, rect.rows, 0, s.k}},
                std::array{Slice{w, 0, s.k, rect.col, rect.cols}},
                std::array{Slice{y, rect.row, rect.rows, rect.col, rect.cols}}});
  }
  return std::move(g).finish();
}

// Median of a wave's ends; waves are `workers` tiles, sorted by end.
Seconds wave_end(const std::vector<Seconds>& sorted, std::size_t wave, std::size_t workers) {
  const std::size_t begin = wave * workers;
  return sorted[begin + std::min(workers, sorted.size() - begin) / 2];
}

}  // namespace

std::vector<TileRecord> read_tiles(const std::vector<std::string>& paths) {
  std::vector<TileRecord> out;
  for (const std::string& file : record_files(paths)) {
    std::ifstream in(file);
    if (!in) throw InputError(file, "the file cannot be opened");
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      if (line.find("\"tile_ends\"") == std::string::npos) continue;
      const config::Document doc(line, file + ":" + std::to_string(number));
      out.push_back(read_record(doc.root()));
    }
  }
  if (out.empty()) throw InputError(paths.front(), "no record with tile_ends");
  return out;
}

std::vector<Seconds> predicted_tiles(const TileRecord& r, const Device& device, const Topology& topology,
                                     const CostOptions& options) {
  const OpGraph graph = graph_of(r);
  Device own = device;
  if (own.gemm.kernels) own.gemm.kernels = cost::with_fused_parts(*own.gemm.kernels);
  const Priced priced = price(graph, {topology, std::vector<Device>(2, own)}, options);
  const Timeline t = simulate(graph, priced.demands, priced.resources, {});
  std::vector<Seconds> ends;
  ends.reserve(t.part_ends.size());
  for (const Seconds end : t.part_ends) ends.push_back(end - t.ops[0].begin);
  return ends;
}

TileScore score_tiles(const TileRecord& r, const std::vector<Seconds>& predicted) {
  std::vector<Seconds> measured = r.ends;
  std::vector<Seconds> model = predicted;
  std::sort(measured.begin(), measured.end());
  std::sort(model.begin(), model.end());
  const std::size_t n = std::min(measured.size(), model.size());
  TileScore s;
  s.measured_end = measured.back();
  s.predicted_end = model.back();
  s.measured_first = wave_end(measured, 0, r.workers);
  s.predicted_first = wave_end(model, 0, r.workers);
  const std::size_t full = n / r.workers;
  if (full > 1) {
    const double steps = static_cast<double>(full - 1);
    s.measured_wave = (wave_end(measured, full - 1, r.workers) - s.measured_first) / steps;
    s.predicted_wave = (wave_end(model, full - 1, r.workers) - s.predicted_first) / steps;
  }
  std::vector<double> errors;
  for (std::size_t i = 0; i < n; ++i) {
    errors.push_back(std::abs((model[i] - measured[i]).si()) / measured.back().si() * 100);
  }
  std::sort(errors.begin(), errors.end());
  s.median_pct = errors[n / 2];
  s.p90_pct = errors[9 * n / 10];
  return s;
}

std::string tiles_text(const std::vector<TileRecord>& records, const Device& device, const Topology& topology,
                       const CostOptions& cost) {
  std::string out = fmt::format("{:<20} {:>6} {:>6}  {:>17}  {:>17}  {:>17}  {:>15}\n", "GEMM", "tiles", "flags",
                                "kernel us (model)", "1st wave (model)", "next (model)", "error % (p90)");
  for (const TileRecord& r : records) {
    const TileScore s = score_tiles(r, predicted_tiles(r, device, topology, cost));
    const auto pair = [](Seconds measured, Seconds model) {
      return fmt::format("{:.1f} ({:.1f})", measured.si() * 1e6, model.si() * 1e6);
    };
    out +=
        fmt::format("{:<20} {:>6} {:>6}  {:>17}  {:>17}  {:>17}  {:>15}\n",
                    fmt::format("{}x{}x{}", r.shape.m, r.shape.n, r.shape.k), r.ends.size(), r.parts,
                    pair(s.measured_end, s.predicted_end), pair(s.measured_first, s.predicted_first),
                    pair(s.measured_wave, s.predicted_wave), fmt::format("{:.1f} ({:.1f})", s.median_pct, s.p90_pct));
  }
  return out + "Errors are those of a tile's end, over the kernel's measured time; tiles in order of their ends.\n";
}

}  // namespace overlap::validation
