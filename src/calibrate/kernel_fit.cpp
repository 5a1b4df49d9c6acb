// Kernel tables: time coefficients of each kernel, from the GEMMs that it ran.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibrate/calibrate.hpp"
#include "calibrate/kernels.hpp"
#include "calibrate/solver.hpp"
#include "calibrate/text.hpp"
#include "cost/near_rows.hpp"

namespace overlap::calibrate {
namespace {

using cost::KernelCase;

constexpr std::size_t kFew = 8;  // rows of a kernel below which its loop is taken from its tile's size

double modelled(const KernelTable& t, const KernelModel& k, const MeasuredGemm& g) {
  const double tiles = std::ceil(double(g.n) / k.cols) * std::ceil(double(g.m) / k.rows) * g.splits;
  return cost::kernel_time(t, k, case_of(t, g), tiles, g.splits);
}

// Coefficients of one kernel: fixed, wave and step in seconds, memory; as logarithms.
void set_times(KernelModel& k, std::span<const double> p) {
  k.time = {Seconds(std::exp(p[0])), Seconds(std::exp(p[1])), Seconds(std::exp(p[2])), std::exp(p[3])};
}

struct Bounds {
  std::vector<double> low, high;
};
LeastSquares problem_of(std::vector<double> start, double prior) {
  LeastSquares p;
  for (double& s : start) {
    s = std::log(s);
    p.lower.push_back(s - 4);
    p.upper.push_back(s + 4);
    p.prior.push_back(prior);
  }
  p.start = std::move(start);
  p.loss = 2;
  return p;
}

constexpr double kNoise = 0.01;

Solution fit_plain(const KernelTable& t, KernelModel& k, const std::vector<const MeasuredGemm*>& rows) {
  const bool known = k.time.step.si() > 0;
  // One tile at 6.7 TFLOP/s an SM, unless the base knows the kernel.
  LeastSquares p = problem_of(
      {std::max(1e-7, known ? k.time.fixed.si() : 3e-6), std::max(1e-8, known ? k.time.wave.si() : 0.8e-6),
       known ? k.time.step.si() : 2.0 * k.cols * k.rows * 64 / 6.7e12, std::max(0.05, known ? k.time.memory : 0.5)},
      0.7);
  KernelModel trial = k;
  p.residuals = rows.size();
  p.evaluate = [&](std::span<const double> x, std::span<double> r) {
    set_times(trial, x);
    for (std::size_t i = 0; i < rows.size(); ++i)
      r[i] = std::log(modelled(t, trial, *rows[i]) / rows[i]->time.si()) / kNoise;
  };
  Solution s = solve(p);
  set_times(k, s.p);
  return s;
}

void fit_accumulate(const KernelTable& t, KernelModel& k, const std::vector<const MeasuredGemm*>& rows) {
  LeastSquares p = problem_of({std::max(2e-9, k.accumulate.si() > 1e-8 ? k.accumulate.si() : 1e-6),
                               k.accumulate.si() > 1e-8 ? k.accumulate_steps : 8.0},
                              1.0);
  KernelModel trial = k;
  p.residuals = rows.size();
  p.evaluate = [&](std::span<const double> x, std::span<double> r) {
    trial.accumulate = Seconds(std::exp(x[0])), trial.accumulate_steps = std::exp(x[1]);
    for (std::size_t i = 0; i < rows.size(); ++i)
      r[i] = std::log(modelled(t, trial, *rows[i]) / rows[i]->time.si()) / kNoise;
  };
  const Solution s = solve(p);
  k.accumulate = Seconds(std::exp(s.p[0])), k.accumulate_steps = std::exp(s.p[1]);
}

// Reduction of a split K, two numbers: weighted least squares of what the kernels leave.
void fit_reduction(KernelTable& t) {
  const Seconds old = t.reduction;
  const double old_share = t.reduction_share;
  t.reduction = Seconds(0), t.reduction_share = 0;
  double a = 0, b = 0, c = 0, x = 0, y = 0;
  for (const MeasuredGemm& g : t.rows) {
    if (g.splits < 2 || g.accumulate || g.sms != 0) continue;
    const double w = 1 / (g.time.si() * g.time.si()), bytes = 8.0 * g.m * g.n * g.splits / t.hbm.si();
    const double left = g.time.si() - modelled(t, t.kernels[g.kernel], g);
    a += w, b += w * bytes, c += w * bytes * bytes, x += w * left, y += w * left * bytes;
  }
  const double det = a * c - b * b;
  t.reduction = det > 0 ? Seconds(std::max(0.0, (x * c - y * b) / det)) : old;
  t.reduction_share = det > 0 ? std::max(0.0, (a * y - b * x) / det) : old_share;
}

}  // namespace

KernelCase case_of(const KernelTable& t, const MeasuredGemm& g) {
  KernelCase c;
  c.m = g.m, c.n = g.n, c.k = g.k;
  c.sms = g.sms == 0 ? t.sms : g.sms;
  c.accumulate = g.accumulate;
  c.least_bytes = 2 * (c.m * c.k + c.k * c.n + c.m * c.n);
  return c;
}

void fit_kernel_times(KernelTable& t, Fit* fit) {
  for (std::uint32_t i = 0; i < t.kernels.size(); ++i) {
    KernelModel& k = t.kernels[i];
    std::vector<const MeasuredGemm*> plain, late;
    for (const MeasuredGemm& g : t.rows) {
      if (g.kernel == i && g.splits == 1 && g.sms == 0) (g.accumulate ? late : plain).push_back(&g);
    }
    if (plain.size() >= kFew || (!plain.empty() && k.time.step.si() <= 0)) {
      const double before = k.time.step.si() * 1e6;
      const Solution s = fit_plain(t, k, plain);
      if (fit != nullptr && plain.size() >= 4 * kFew) {
        const double v = k.time.step.si() * 1e6;
        fit->coefficients.push_back({fmt::format("kernel {}x{}: 64 of k", k.cols, k.rows), v, v * s.sigma[2], "us",
                                     "GEMMs of this kernel", static_cast<std::uint32_t>(plain.size()), before});
      }
    }
    if (late.size() >= kFew) fit_accumulate(t, k, late);
    if (k.time.step.si() <= 0) {
      k.time = {Seconds(3e-6), Seconds(0.8e-6), Seconds(2.0 * k.cols * k.rows * 64 / 6.7e12), 0.5};
    }
    if (k.accumulate.si() <= 0) k.accumulate = Seconds(1e-9), k.accumulate_steps = 4;
  }
  fit_reduction(t);
}

void add_rows(KernelTable& t, const std::vector<TimedGemm>& rows) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
  for (std::uint32_t i = 0; i < t.kernels.size(); ++i)
    known.emplace(std::pair(t.kernels[i].cols, t.kernels[i].rows), i);
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool, std::uint32_t>;
  std::map<Key, std::vector<const TimedGemm*>> fresh;
  for (const TimedGemm& g : rows) {
    if (g.tile_cols > 0) {
      fresh[{g.shape.m, g.shape.n, g.shape.k, g.accumulate, g.sms == t.sms ? 0 : g.sms}].push_back(&g);
    }
  }
  std::erase_if(t.rows, [&](const MeasuredGemm& g) { return fresh.contains({g.m, g.n, g.k, g.accumulate, g.sms}); });
  for (const auto& [key, list] : fresh) {
    std::vector<double> times;
    for (const TimedGemm* g : list) times.push_back(g->time.si());
    const TimedGemm& one = *list.front();
    const auto [it, is_new] =
        known.try_emplace({one.tile_cols, one.tile_rows}, static_cast<std::uint32_t>(t.kernels.size()));
    if (is_new) {
      KernelModel k;
      k.cols = one.tile_cols, k.rows = one.tile_rows;
      t.kernels.push_back(k);
    }
    MeasuredGemm m;
    std::tie(m.m, m.n, m.k, m.accumulate, m.sms) = key;
    m.kernel = it->second, m.splits = one.splits, m.time = Seconds(median_of(times));
    t.rows.push_back(m);
  }
}

void fit_kernels(Report& report, Device& device) {
  std::vector<TimedGemm> rows;
  for (const TimedGemm& g : report.inputs.gemms) {
    if (g.tile_cols > 0) rows.push_back(g);
  }
  const bool known = device.gemm.kernels && !device.gemm.kernels->kernels.empty();
  if (rows.size() < (known ? 1 : 64)) return;
  Fit fit{"GEMM, kernels of the library", gemm_errors(device, rows), {}, {}, {}};
  auto table = known ? std::make_shared<KernelTable>(*device.gemm.kernels) : std::make_shared<KernelTable>();
  table->path.clear();
  table->near.clear();
  table->sms = device.sms;
  table->hbm = device.hbm;
  add_rows(*table, rows);
  fit_kernel_times(*table, &fit);
  const double share = fit_choice(*table);
  cost::index_rows(*table);
  device.gemm.kernels = table;
  fit.after = gemm_errors(device, rows);
  fit.notes.push_back(
      fmt::format("{} kernels, {} GEMMs; the library's choice of kernel and split is named for {:.0f} %",
                  table->kernels.size(), table->rows.size(), 100 * share));
  report.fits.push_back(std::move(fit));
}

}  // namespace overlap::calibrate
