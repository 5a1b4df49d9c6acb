// The coefficients of the tile model, fitted to rows of m, n, k and time.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "calibrate/fit.hpp"
#include "calibrate/solver.hpp"
#include "calibrate/text.hpp"
#include "cost/gemm_plan.hpp"
#include "cost/near_rows.hpp"

namespace overlap::calibrate {
namespace {

// Where a coefficient lies and how far it may go; all are positive and fitted as logarithms.
struct Tuned {
  std::string_view name, unit;
  double scale;  // of the unit in SI
  double low, high;
  double (*get)(const GemmCoefficients&);
  void (*set)(GemmCoefficients&, double);
};
constexpr std::array kTuned = {
    Tuned{"mma_efficiency", "", 1, 0.2, 1.5, [](const GemmCoefficients& g) { return g.mma_efficiency; },
          [](GemmCoefficients& g, double v) { g.mma_efficiency = v; }},
    Tuned{"fixed", "us", 1e-6, 0.05e-6, 60e-6, [](const GemmCoefficients& g) { return g.fixed.si(); },
          [](GemmCoefficients& g, double v) { g.fixed = Seconds(v); }},
    Tuned{"tile", "us", 1e-6, 0.01e-6, 30e-6, [](const GemmCoefficients& g) { return g.tile.si(); },
          [](GemmCoefficients& g, double v) { g.tile = Seconds(v); }},
    Tuned{"l2_bytes_per_clock", "", 1, 2, 1000, [](const GemmCoefficients& g) { return g.l2_bytes_per_clock; },
          [](GemmCoefficients& g, double v) { g.l2_bytes_per_clock = v; }},
    Tuned{"hbm_efficiency", "", 1, 0.05, 1.0, [](const GemmCoefficients& g) { return g.hbm_efficiency; },
          [](GemmCoefficients& g, double v) { g.hbm_efficiency = v; }},
    Tuned{"power_floor", "", 1, 0.3, 1.0, [](const GemmCoefficients& g) { return g.power_floor; },
          [](GemmCoefficients& g, double v) { g.power_floor = v; }},
    Tuned{"power_time", "us", 1e-6, 1e-6, 1e-2, [](const GemmCoefficients& g) { return g.power_time.si(); },
          [](GemmCoefficients& g, double v) { g.power_time = Seconds(v); }},
    Tuned{"split_k", "us", 1e-6, 0.05e-6, 30e-6, [](const GemmCoefficients& g) { return g.split_k.si(); },
          [](GemmCoefficients& g, double v) { g.split_k = Seconds(v); }},
};

std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

cost::GemmPlan plan_of(const Device& device, GemmShape shape, bool accumulate, std::uint32_t sms) {
  const cost::GemmQuery q{&device, shape, DType::bf16, DType::bf16, accumulate, sms, {}, {}};
  return cost::find_compute_model(ComputeModel::tile).plan(q);
}

// `most` rows, whatever their order in the file: those of least hash.
std::vector<const TimedGemm*> spread(const std::vector<TimedGemm>& rows, std::size_t most) {
  std::vector<std::pair<std::uint64_t, const TimedGemm*>> order;
  order.reserve(rows.size());
  for (const TimedGemm& g : rows) order.emplace_back(mixed(family_of(g) * 1000003 + g.shape.m), &g);
  std::sort(order.begin(), order.end());
  std::vector<const TimedGemm*> out;
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i) out.push_back(order[i].second);
  return out;
}

// The least candidate changes with the coefficients, so the cost has kinks and hollows: several starts on some of the
// rows, then all of them from the best.
Solution best_of_starts(LeastSquares problem) {
  static constexpr double kShifts[][8] = {{0, 0, 0, 0, 0, 0, 0, 0},
                                          {-0.15, 0.3, -0.5, 0.3, -0.1, 0.1, 1.5, 0.3},
                                          {0.0, 0.3, 0.4, -0.3, 0.0, -0.15, -1.0, 0.5}};
  constexpr std::size_t kSome = 200;
  const std::vector<double> origin = problem.start;
  const std::size_t all = problem.residuals;
  problem.residuals = std::min(all, kSome);
  Solution best;
  for (const auto& shift : kShifts) {
    for (std::size_t i = 0; i < origin.size(); ++i) {
      problem.start[i] = std::clamp(origin[i] + shift[i], problem.lower[i] + 1e-3, problem.upper[i] - 1e-3);
    }
    Solution s = solve(problem);
    if (best.p.empty() || s.cost < best.cost) best = std::move(s);
  }
  problem.start = best.p;
  problem.residuals = all;
  problem.start = solve(problem).p;
  return solve(problem);
}

}  // namespace

std::uint32_t fold_of(std::uint64_t key, std::uint32_t folds) {
  return static_cast<std::uint32_t>(mixed(key) % folds);
}

std::uint64_t family_of(const TimedGemm& g) {
  return (std::uint64_t{g.shape.n} << 32U) | g.shape.k;
}

Errors errors_of(const std::vector<double>& relative) {
  Errors e;
  std::vector<double> size;
  size.reserve(relative.size());
  for (const double r : relative) size.push_back(std::abs(r));
  e.n = static_cast<std::uint32_t>(relative.size());
  e.bias_pct = 100 * median_of(relative);
  e.median_pct = 100 * median_of(size);
  e.p90_pct = 100 * quantile_of(size, 0.9);
  return e;
}

double predicted(const Device& device, const TimedGemm& g) {
  return plan_of(device, g.shape, g.accumulate, g.sms).total.si();
}

Errors gemm_errors(const Device& device, const std::vector<TimedGemm>& rows) {
  std::vector<double> off;
  off.reserve(rows.size());
  for (const TimedGemm& g : rows) off.push_back(predicted(device, g) / g.time.si() - 1);
  return errors_of(off);
}

Fit fit_tile_model(Device& device, const std::vector<TimedGemm>& rows, std::size_t most) {
  Fit fit{"GEMM, tile model", {}, {}, {}, {}};
  Device trial = device;
  trial.gemm.kernels = nullptr;
  fit.before = gemm_errors(device, rows);
  const std::vector<const TimedGemm*> use = spread(rows, most);
  LeastSquares problem;
  problem.residuals = use.size();
  constexpr double kNoise = 0.02;  // of a row: weighs the rows against the prior
  problem.loss = 2.5;
  for (const Tuned& t : kTuned) {
    problem.lower.push_back(std::log(t.low));
    problem.upper.push_back(std::log(t.high));
    problem.start.push_back(
        std::clamp(std::log(t.get(device.gemm)), std::log(t.low * 1.001), std::log(t.high / 1.001)));
    problem.prior.push_back(2.0);  // keeps what few rows leave open within a factor of e^2
  }
  const auto apply = [&](std::span<const double> p) {
    for (std::size_t i = 0; i < kTuned.size(); ++i) kTuned[i].set(trial.gemm, std::exp(p[i]));
  };
  problem.evaluate = [&](std::span<const double> p, std::span<double> r) {
    apply(p);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = std::log(predicted(trial, *use[i]) / use[i]->time.si()) / kNoise;
  };
  const Solution s = best_of_starts(problem);
  apply(s.p);
  for (std::size_t i = 0; i < kTuned.size(); ++i) {
    const Tuned& t = kTuned[i];
    const double v = std::exp(s.p[i]) / t.scale;
    fit.coefficients.push_back({"gemm/" + std::string(t.name), v, v * s.sigma[i], std::string(t.unit), "GEMM rows",
                                static_cast<std::uint32_t>(use.size()), t.get(device.gemm) / t.scale});
  }
  fit.after = gemm_errors(trial, rows);
  fit.notes.push_back(
      fmt::format("coefficients alone: median {:.2f} %, p90 {:.2f} %", fit.after.median_pct, fit.after.p90_pct));
  trial.gemm.kernels = device.gemm.kernels;
  device.gemm = trial.gemm;
  return fit;
}

void add_near_rows(Device& device, const std::vector<TimedGemm>& rows) {
  auto table = std::make_shared<KernelTable>();
  table->sms = device.sms;
  table->hbm = device.hbm;
  if (device.gemm.kernels) {
    table->copy_out = device.gemm.kernels->copy_out;
    table->copy_in = device.gemm.kernels->copy_in;
  }
  device.gemm.kernels = nullptr;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<double>> times;
  for (const TimedGemm& g : rows) {
    if (!g.accumulate && g.sms == 0) times[{g.shape.m, g.shape.n, g.shape.k}].push_back(g.time.si());
  }
  for (auto& [key, list] : times) {
    const auto [m, n, k] = key;
    const cost::GemmPlan p = plan_of(device, {m, n, k}, false, 0);
    table->near.push_back({m, n, k, p.tile_m, p.tile_n, p.splits, median_of(list) / p.total.si(), {}});
  }
  cost::place_near(*table);
  device.gemm.kernels = table;
}

// Duplicates: the median stays. Campaigns of one GEMM differ by up to 15 % (p90), so only more than 25 % is a fault.
void reject_inconsistent(Inputs& in, const Device& base) {
  constexpr double kApart = 0.25;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool, std::uint32_t>, std::vector<std::size_t>> same;
  std::vector<bool> out(in.gemms.size());
  const double peak = base.peak_of(DType::bf16).si();
  for (std::size_t i = 0; i < in.gemms.size(); ++i) {
    const TimedGemm& g = in.gemms[i];
    const double rate = g.shape.flops().si() / g.time.si();
    if (rate > 1.1 * peak) {
      out[i] = true;
      in.reject(g.at, fmt::format("{:.0f} TFLOP/s, faster than the peak of {:.0f} of {}", rate / 1e12, peak / 1e12,
                                  base.name));
      continue;
    }
    same[{g.shape.m, g.shape.n, g.shape.k, g.accumulate, g.sms}].push_back(i);
  }
  for (const auto& [key, list] : same) {
    if (list.size() < 2) continue;
    std::vector<double> t;
    for (const std::size_t i : list) t.push_back(in.gemms[i].time.si());
    const double middle = median_of(t);
    for (const std::size_t i : list) {
      const double off = in.gemms[i].time.si() / middle - 1;
      if (std::abs(off) <= kApart) continue;
      out[i] = true;
      in.reject(in.gemms[i].at,
                fmt::format("{:+.0f} % off the median of the {} rows of this GEMM", 100 * off, t.size()));
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < in.gemms.size(); ++i) {
    if (!out[i]) in.gemms[kept++] = in.gemms[i];
  }
  in.gemms.resize(kept);
}

}  // namespace overlap::calibrate
