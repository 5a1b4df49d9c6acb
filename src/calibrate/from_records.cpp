// What single records say by themselves: times of collectives, rate of a link, rate of the device's memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/calibrate.hpp"
#include "calibrate/solver.hpp"
#include "calibrate/text.hpp"

namespace overlap::calibrate {
namespace {

// The collective of a record in which nothing overlaps it; bytes 0 where there is none.
struct Part {
  std::string kind;
  double bytes = 0;
};
Part lone_collective(const Record& r) {
  if (r.kind == "nccl") return {r.op, r.bytes.si()};
  if (!r.graph.empty() || r.fused || r.d > 1) return {};
  const bool known = r.kind == "ag_gemm" || r.kind == "gemm_rs" || r.kind == "interdecom_env";
  if (!known || !contains(r.schedule, "nccl") || contains(r.schedule, "interdecom")) return {};
  const double in = 2.0 * r.shape.m * r.shape.k, out = 2.0 * r.shape.m * r.shape.n;
  const bool scatter = r.kind == "gemm_rs" || r.schedule.starts_with("rs_");
  return {scatter ? "reduce_scatter" : "all_gather", scatter ? out : in};
}

// Start and rate of rows of (bytes, seconds).
struct Line {
  double start = 0, start_sigma = 0, rate = 0, rate_sigma = 0;
};
Line line_of(const std::vector<std::pair<double, double>>& rows) {
  LeastSquares p;
  p.residuals = rows.size();
  p.loss = 0.01;
  p.lower = {0, std::log(1e8)};
  p.upper = {1e3, std::log(1e14)};
  const auto& last = *std::max_element(rows.begin(), rows.end());
  p.start = {5, std::log(last.first / last.second)};
  p.evaluate = [&](std::span<const double> x, std::span<double> r) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      r[i] = std::log((x[0] * 1e-6 + rows[i].first / std::exp(x[1])) / rows[i].second);
    }
  };
  const Solution s = solve(p);
  return {s.p[0], s.sigma[0], std::exp(s.p[1]), std::exp(s.p[1]) * s.sigma[1]};
}

std::vector<std::pair<double, double>> large(const RecordSet& set, std::string_view kind, double least) {
  std::vector<std::pair<double, double>> out;
  for (const Record& r : set.records) {
    if (r.kind == kind && r.bytes.si() >= least && r.chunks == 1) out.emplace_back(r.bytes.si(), r.median.si());
  }
  return out;
}

}  // namespace

std::vector<TimedCollective> collectives_of(const RecordSet& set, const Device& device, const Topology& topology,
                                            const Inputs& in) {
  // What else is in the record's time: the replay with a collective of a known time, less that time.
  Device known = device;
  known.collectives.clear();
  constexpr double kRate = 400e9;
  for (const char* kind : {"all_gather", "reduce_scatter", "all_reduce", "all_to_all"}) {
    known.collectives.push_back({kind,
                                 2,
                                 device.collective_channels,
                                 {{Bytes(1), Seconds(1e-6)}, {Bytes(1e12), Seconds(1e-6 + 1e12 / kRate)}}});
  }
  std::vector<TimedCollective> out;
  for (const Record& r : set.records) {
    const Part part = lone_collective(r);
    if (part.bytes <= 0 || r.gpus != 2 || r.method.clock_ratio != 1.0) continue;
    const double rest = predict(r, known, topology, {}).median.si() - (1e-6 + part.bytes / kRate);
    TimedCollective t;
    t.kind = part.kind;
    t.members = 2;
    t.channels = r.channels;
    t.in_place = r.in_place;
    t.bytes = Bytes(part.bytes);
    t.time = Seconds(std::max(0.5e-6, r.median.si() - rest));
    t.at = in.place_of(r.where);
    out.push_back(t);
  }
  return out;
}

void add_rates(Report& report, Device& device, const RecordSet& set, std::uint32_t source) {
  constexpr double kLarge = 16e6;
  Fit fit{"copies", {}, {}, {}, {}};
  const auto add = [&](const std::string& what, const Line& l, std::size_t n, double base_rate) {
    fit.coefficients.push_back({what + ": rate", l.rate / 1e9, l.rate_sigma / 1e9, "GB/s", "copies of 16 MB and more",
                                static_cast<std::uint32_t>(n), base_rate / 1e9});
    fit.coefficients.push_back({what + ": start, release and join", l.start, l.start_sigma, "us", "the same",
                                static_cast<std::uint32_t>(n), 0});
  };
  if (const auto rows = large(set, "peer_uni", kLarge); rows.size() >= 3) {
    const Line l = line_of(rows);
    add("peer copy", l, rows.size(), 0);
    report.inputs.pairs.push_back({0, 0, Bandwidth(l.rate), false, true, false, {source, 0}});
  }
  if (const auto rows = large(set, "peer_bi", kLarge); rows.size() >= 3) {
    const Line l = line_of(rows);
    add("peer copy, both ways", l, rows.size(), 0);
    report.inputs.pairs.push_back({0, 0, Bandwidth(l.rate), true, true, false, {source, 0}});
  }
  if (const auto rows = large(set, "copy_hbm", 60e6); rows.size() >= 3) {
    const Line l = line_of(rows);
    const double share = std::min(1.0, 2 * l.rate / device.hbm.si());
    fit.coefficients.push_back({"hbm_efficiency", share, 2 * l.rate_sigma / device.hbm.si(), "",
                                "copies within the memory, read and write", static_cast<std::uint32_t>(rows.size()),
                                device.hbm_efficiency});
    device.hbm_efficiency = share;
  }
  if (!fit.coefficients.empty()) report.fits.push_back(std::move(fit));
}

}  // namespace overlap::calibrate
