// Which kernel the library launches: a multinomial logit over (kernel, split), whose utility is minus the library's
// estimate of the time (linear in the `choice` coefficients) over the time measured. Convex; gradient descent with
// per-coefficient steps, the same on every machine but for the last bits of exp.
#include <algorithm>
#include <array>
#include <cmath>

#include "calibrate/kernels.hpp"

namespace overlap::calibrate {
namespace {

constexpr std::array kSplits = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 16.0};
constexpr std::size_t kFewest = 25;     // rows of a kernel whose choice can be told
constexpr double kTemperature = 0.006;  // share of the time within which the library's pick is a toss-up
constexpr std::size_t kMost = 9000;     // rows that are used

struct Candidate {
  std::uint32_t kernel = 0;
  std::array<float, 4> factor{};  // of fixed, wave, step, memory
  float reduction = 0, reduction_share = 0;
};
struct Choice {
  std::vector<Candidate> all;
  std::size_t taken = 0;
  double time = 0;
};

// The candidates that library_choice() (cost/kernel_model.cpp) weighs, with what multiplies each coefficient.
Choice choice_of(const KernelTable& t, const MeasuredGemm& g, const std::vector<bool>& rated) {
  const cost::KernelCase c = case_of(t, g);
  Choice out;
  out.time = g.time.si();
  out.taken = static_cast<std::size_t>(-1);
  for (std::uint32_t i = 0; i < t.kernels.size(); ++i) {
    if (!rated[i]) continue;
    const KernelModel& k = t.kernels[i];
    const double tiles = std::ceil(c.n / k.cols) * std::ceil(c.m / k.rows);
    for (const double s : kSplits) {
      const double steps = std::ceil(std::ceil(c.k / 64) / s);
      if (s > 1 && (tiles * s > 2 * c.sms || steps < 6)) break;
      const double waves = std::ceil(tiles * s / c.sms);
      Candidate x;
      x.kernel = i;
      x.factor = {1.0F, static_cast<float>(waves), static_cast<float>(waves * steps),
                  static_cast<float>(c.least_bytes / t.hbm.si() * 1e6)};
      if (s > 1) x.reduction = 1, x.reduction_share = static_cast<float>(8e6 * c.m * c.n * s / t.hbm.si());
      if (i == g.kernel && s == g.splits) out.taken = out.all.size();
      out.all.push_back(x);
    }
  }
  return out;
}

// Parameters in us (memory and shares: none), all kernels then the two of the reduction.
double estimate(const std::vector<double>& p, const Candidate& x) {
  const double* k = &p[std::size_t{x.kernel} * 4];
  const std::size_t r = p.size() - 2;
  return k[0] + k[1] * x.factor[1] + k[2] * x.factor[2] + k[3] * x.factor[3] + p[r] * x.reduction +
         p[r + 1] * x.reduction_share;
}

// Mean of -log probability of what was taken, and its gradient.
double loss(const std::vector<Choice>& rows, const std::vector<double>& p, std::vector<double>& gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  double sum = 0;
  std::vector<double> e;
  const std::size_t red = p.size() - 2;
  for (const Choice& row : rows) {
    const double scale = 1 / (kTemperature * row.time * 1e6);
    e.resize(row.all.size());
    double least = 1e300;
    for (std::size_t i = 0; i < e.size(); ++i) least = std::min(least, e[i] = estimate(p, row.all[i]));
    double total = 0;
    const double taken = e[row.taken];
    for (double& v : e) total += v = std::exp(-(v - least) * scale);
    sum += std::log(total) + (taken - least) * scale;
    for (std::size_t i = 0; i < e.size(); ++i) {
      const double w = ((i == row.taken ? 1.0 : 0.0) - e[i] / total) * scale;
      if (std::abs(w) < 1e-9 * scale) continue;
      const Candidate& x = row.all[i];
      for (std::size_t a = 0; a < 4; ++a) gradient[std::size_t{x.kernel} * 4 + a] += w * x.factor[a];
      gradient[red] += w * x.reduction;
      gradient[red + 1] += w * x.reduction_share;
    }
  }
  const auto n = static_cast<double>(rows.size());
  for (double& g : gradient) g /= n;
  return sum / n;
}

std::vector<double> parameters(const KernelTable& t) {
  std::vector<double> p;
  for (const KernelModel& k : t.kernels) {
    const KernelTimes& c = k.choice.fixed.si() > 0 ? k.choice : k.time;
    p.insert(p.end(), {c.fixed.si() * 1e6, c.wave.si() * 1e6, c.step.si() * 1e6, c.memory});
  }
  const bool known = t.choice_reduction.si() > 0 || t.choice_reduction_share > 0;
  p.push_back(known ? t.choice_reduction.si() * 1e6 : t.reduction.si() * 1e6);
  p.push_back(known ? t.choice_reduction_share : t.reduction_share);
  return p;
}

void set_parameters(KernelTable& t, const std::vector<double>& p, const std::vector<bool>& rated) {
  for (std::size_t i = 0; i < t.kernels.size(); ++i) {
    const double* k = &p[i * 4];
    t.kernels[i].choice =
        rated[i] ? KernelTimes{Seconds(std::max(k[0], 1e-3) * 1e-6), Seconds(k[1] * 1e-6), Seconds(k[2] * 1e-6), k[3]}
                 : KernelTimes{};
  }
  t.choice_reduction = Seconds(p[p.size() - 2] * 1e-6);
  t.choice_reduction_share = p.back();
}

// Plain GEMMs whose kernel and split the table names.
double named_share(const KernelTable& t) {
  double right = 0, all = 0;
  for (const MeasuredGemm& g : t.rows) {
    if (g.accumulate || g.sms != 0) continue;
    const cost::Choice c = cost::library_choice(t, case_of(t, g));
    all += 1;
    right += c.kernel == g.kernel && c.splits == g.splits ? 1 : 0;
  }
  return all > 0 ? right / all : 0;
}

}  // namespace

double fit_choice(KernelTable& t) {
  std::vector<std::size_t> count(t.kernels.size());
  for (const MeasuredGemm& g : t.rows) count[g.kernel] += g.accumulate || g.sms != 0 ? 0 : 1;
  std::vector<bool> rated(t.kernels.size());
  bool known = false, any = false;
  for (const KernelModel& k : t.kernels) known = known || k.choice.fixed.si() > 0;
  // The base's candidates stay the candidates; a first table takes the kernels that ran often enough.
  for (std::size_t i = 0; i < count.size(); ++i) {
    rated[i] = known ? t.kernels[i].choice.fixed.si() > 0 : count[i] >= kFewest;
    any = any || rated[i];
  }
  for (std::size_t i = 0; i < count.size() && !any; ++i) rated[i] = count[i] > 0;
  const double named_before = known ? named_share(t) : -1;
  const KernelTable old = t;
  std::vector<Choice> rows;
  const std::size_t stride = t.rows.size() / kMost + 1;
  std::size_t seen = 0;
  for (const MeasuredGemm& g : t.rows) {
    if (g.accumulate || g.sms != 0 || !rated[g.kernel] || seen++ % stride != 0) continue;
    Choice c = choice_of(t, g, rated);
    if (c.taken < c.all.size()) rows.push_back(std::move(c));
  }
  std::vector<double> p = parameters(t), gradient(p.size());
  // Steps in logarithms, each coefficient with its own size (RPROP): robust where scales differ by 1e4.
  std::vector<double> step(p.size(), 0.02), before(p.size(), 0.0);
  for (double& v : p) v = std::max(v, 1e-4);
  std::vector<double> best = p;
  double most = -1;
  for (int turn = 0; turn < 150 && !rows.empty(); ++turn) {
    static_cast<void>(loss(rows, p, gradient));
    if (turn % 10 == 9) {
      // The likelihood only leads there: what counts is how often the pick is right.
      set_parameters(t, p, rated);
      if (const double share = named_share(t); share > most) most = share, best = p;
    }
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double g = gradient[i] * p[i];
      const double same = g * before[i];
      step[i] = std::clamp(step[i] * (same > 0 ? 1.2 : same < 0 ? 0.5 : 1.0), 1e-5, 0.3);
      before[i] = same < 0 ? 0 : g;
      if (before[i] != 0) p[i] = std::clamp(p[i] * std::exp(before[i] > 0 ? -step[i] : step[i]), 1e-5, 1e4);
    }
  }
  set_parameters(t, best, rated);
  const double share = named_share(t);
  if (share >= named_before) return share;
  t = old;
  return named_before;
}

}  // namespace overlap::calibrate
