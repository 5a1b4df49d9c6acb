#include "cost/kernel_model.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "cost/rough_log.hpp"

namespace overlap::cost {
namespace {

constexpr std::array kSplits = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 16.0};
constexpr double kStep = 64;      // of k
constexpr std::size_t kNear = 6;  // measured rows that correct a prediction
constexpr double kPrior = 2.0;    // weight of the coefficients against them

double output_tiles(const KernelModel& k, const KernelCase& c) {
  if (c.parts.size() < 2) return std::ceil(c.n / k.cols) * std::ceil(c.m / k.rows);
  double tiles = 0;
  for (const Part& p : c.parts)
    tiles += std::ceil(double(p.rect.rows) / k.rows) * std::ceil(double(p.rect.cols) / k.cols);
  return tiles;
}

double combine(const KernelTable& t, const KernelTimes& k, const KernelCase& c, double waves, double steps,
               double more) {
  const double loop = waves * (k.wave.si() + k.step.si() * steps + more);
  return soft_max(loop, k.memory * c.least_bytes / t.hbm.si());
}

double partial_bytes(const KernelCase& c, double splits) {
  return 8 * c.m * c.n * splits;
}

// Where a GEMM lies among others of its kernel.
using Place = std::array<double, 6>;
Place place_of(const KernelTable& t, const KernelModel& k, const KernelCase& c, double splits) {
  const double tiles = output_tiles(k, c) * splits;
  const double sms = c.sms > 0 ? c.sms : t.sms;
  const double waves = std::ceil(tiles / sms);
  return {rough_log(c.m),   rough_log(c.n),         rough_log(c.k), 5 * tiles / (sms * waves),
          rough_log(waves), 0.7 * rough_log(splits)};
}

KernelCase case_of(const KernelTable& t, const MeasuredGemm& g) {
  KernelCase c{double(g.m), double(g.n), double(g.k), 0, double(g.sms == 0 ? t.sms : g.sms), g.accumulate};
  c.least_bytes = 2 * (c.m * c.k + c.k * c.n + c.m * c.n);
  return c;
}

auto key_of(const MeasuredGemm& g) {
  return std::tuple(g.m, g.n, g.k, g.accumulate, g.sms);
}

}  // namespace

double soft_max(double a, double b) {
  const double hi = std::max(a, b);
  if (hi <= 0) return 0;
  const double r = std::min(a, b) / hi;
  const double r2 = r * r;
  return hi * std::sqrt(std::sqrt(1.0 + r2 * r2));
}

double kernel_time(const KernelTable& t, const KernelModel& k, const KernelCase& c, double tiles, double splits) {
  const double waves = std::ceil(tiles / c.sms);
  const double steps = std::ceil(std::ceil(c.k / kStep) / splits);
  KernelTimes times = k.time;
  times.step *= 1 - t.fewer_sms * (1 - c.sms / t.sms);
  const double more = c.accumulate ? k.accumulate.si() / (1 + steps / k.accumulate_steps) : 0;
  double v = k.time.fixed.si() + combine(t, times, c, waves, steps, more);
  if (splits > 1) v += t.reduction.si() + t.reduction_share * partial_bytes(c, splits) / t.hbm.si();
  return v;
}

Choice library_choice(const KernelTable& t, const KernelCase& c) {
  Choice best;
  double least = 1e300;
  for (std::uint32_t i = 0; i < t.kernels.size(); ++i) {
    const KernelModel& k = t.kernels[i];
    if (k.choice.fixed.si() <= 0) continue;  // too rare in the data to say when it is taken
    const double tiles = output_tiles(k, c);
    for (const double s : kSplits) {
      const double steps = std::ceil(std::ceil(c.k / kStep) / s);
      if (s > 1 && (tiles * s > 2 * c.sms || steps < 6)) break;
      const KernelTimes& e = k.choice;
      double v = e.fixed.si() + std::ceil(tiles * s / c.sms) * (e.wave.si() + e.step.si() * steps) +
                 e.memory * c.least_bytes / t.hbm.si();
      if (s > 1) v += t.choice_reduction.si() + t.choice_reduction_share * partial_bytes(c, s) / t.hbm.si();
      if (v < least) {
        least = v;
        best = {i, static_cast<std::uint32_t>(s)};
      }
    }
  }
  return best;
}

void index_rows(KernelTable& t) {
  const auto before = [](const MeasuredGemm& a, const MeasuredGemm& b) { return key_of(a) < key_of(b); };
  if (!std::is_sorted(t.rows.begin(), t.rows.end(), before)) std::stable_sort(t.rows.begin(), t.rows.end(), before);
  t.index = RowIndex();
}

std::shared_ptr<const KernelTable> without_columns(const KernelTable& t, std::uint32_t n) {
  auto out = std::make_shared<KernelTable>(t);
  std::erase_if(out->rows, [n](const MeasuredGemm& g) { return g.n == n; });
  std::erase_if(out->near, [n](const NearGemm& g) { return g.n == n; });
  index_rows(*out);
  return out;
}

std::shared_ptr<const KernelTable> at_clock(const KernelTable& t, double ratio) {
  auto out = std::make_shared<KernelTable>(t);
  for (KernelModel& k : out->kernels) {
    for (Seconds* s : {&k.time.wave, &k.time.step, &k.accumulate}) *s = *s / ratio;
  }
  if (ratio > 1.0) out->dip.loss = Seconds();  // less power: the clock stays up
  for (Seconds* s : {&out->fused.time.wave, &out->fused.time.step}) *s = *s / ratio;
  for (MeasuredGemm& g : out->rows) {
    const KernelCase c = case_of(t, g);
    const double tiles = output_tiles(t.kernels[g.kernel], c) * g.splits;
    g.time *= kernel_time(*out, out->kernels[g.kernel], c, tiles, g.splits) /
              kernel_time(t, t.kernels[g.kernel], c, tiles, g.splits);
  }
  index_rows(*out);
  return out;
}

std::shared_ptr<const KernelTable> with_fused_parts(const KernelTable& t) {
  auto out = std::make_shared<KernelTable>(t);
  out->fused_parts = true;
  return out;
}

const MeasuredGemm* exact_row(const KernelTable& t, const KernelCase& c) {
  MeasuredGemm g;
  g.m = static_cast<std::uint32_t>(c.m), g.n = static_cast<std::uint32_t>(c.n), g.k = static_cast<std::uint32_t>(c.k);
  g.accumulate = c.accumulate;
  g.sms = c.sms == t.sms ? 0 : static_cast<std::uint32_t>(c.sms);
  const auto it = std::lower_bound(t.rows.begin(), t.rows.end(), g,
                                   [](const MeasuredGemm& a, const MeasuredGemm& b) { return key_of(a) < key_of(b); });
  return it != t.rows.end() && key_of(*it) == key_of(g) ? &*it : nullptr;
}

double near_rows(const KernelTable& t, const KernelCase& c, Choice choice) {
  const Place here = place_of(t, t.kernels[choice.kernel], c, choice.splits);
  std::array<std::pair<double, double>, kNear> best;  // squared distance, residual
  best.fill({1e300, 0});
  for (const PlacedRow& p : t.index.of(t, choice.kernel)) {
    if (p.accumulate != c.accumulate) continue;
    double d = 0;
    for (std::size_t i = 0; i < here.size(); ++i) d += (p.place[i] - here[i]) * (p.place[i] - here[i]);
    if (d >= best.back().first) continue;
    std::size_t at = kNear - 1;
    for (; at > 0 && best[at - 1].first > d; --at) best[at] = best[at - 1];
    best[at] = {d, p.residual};
  }
  double sum = 0, weight = kPrior;
  for (const auto& [d, residual] : best) {
    if (d >= 1e300) break;
    const double w = 1 / (d + 0.05);
    sum += w * residual;
    weight += w;
  }
  return 1 + sum / weight;
}

// CTAs of a cluster. Of 3,890 GEMMs whose launches we recorded (clusters of 2, 4 or 8; 108 to 132 SMs) this names 80 %.
std::uint32_t cluster_of(double tiles, double sms) {
  if (sms >= 128) return 2;
  if (tiles <= sms) return 8;
  return sms >= 120 ? 2 : 4;
}

GemmPlan plan_from_table(const GemmQuery& q, const KernelTable& t) {
  KernelCase c{double(q.shape.m), double(q.shape.n), double(q.shape.k), 0, 0, q.accumulate && q.effects.accumulate};
  c.least_bytes = 2 * (c.m * c.k + c.k * c.n + c.m * c.n);
  c.sms = q.sms == 0 ? t.sms : std::min(q.sms, t.sms);
  c.parts = q.parts;
  const bool plain = q.parts.size() < 2;
  const bool own = !plain && t.fused_parts && t.fused.rows > 0;
  const MeasuredGemm* exact = plain ? exact_row(t, c) : nullptr;
  const Choice choice = own ? Choice{} : exact != nullptr ? Choice{exact->kernel, exact->splits} : library_choice(t, c);
  const KernelModel& k = own ? t.fused : t.kernels[choice.kernel];
  const double tiles = output_tiles(k, c) * choice.splits;
  const double total = exact != nullptr
                           ? exact->time.si()
                           : kernel_time(t, k, c, tiles, choice.splits) * (own ? 1.0 : near_rows(t, c, choice));
  GemmPlan p;
  p.tile_m = k.rows;
  p.tile_n = k.cols;
  p.splits = choice.splits;
  p.tiles = static_cast<std::uint32_t>(tiles);
  p.persistent = q.parts.size() < 2;
  const auto sms = static_cast<std::uint32_t>(c.sms);
  if (plain) p.cluster = cluster_of(tiles, c.sms);
  p.workers = std::min(p.tiles, sms / p.cluster * p.cluster);
  // Workers that come late run alone, on about a quarter of the SMs.
  if (p.persistent) p.last_wave = 1 - t.fewer_sms * 0.75;
  p.total = Seconds(total);
  double extra = 0;
  if (choice.splits > 1) extra = t.reduction.si() + t.reduction_share * partial_bytes(c, choice.splits) / t.hbm.si();
  const double around = std::min(k.time.fixed.si() + extra, 0.6 * total);  // before the first and after the last tile
  p.first_tile = Seconds(std::min(0.5 * k.time.fixed.si(), around));
  p.finish = Seconds(around) - p.first_tile;
  p.tile_time = Seconds((total - around) / std::ceil(tiles / p.workers));
  return p;
}

}  // namespace overlap::cost

namespace overlap {

std::span<const PlacedRow> RowIndex::of(const KernelTable& t, std::uint32_t kernel) const {
  const std::lock_guard lock(guard_);
  if (by_kernel_.empty()) by_kernel_.resize(t.kernels.size());
  auto& placed = by_kernel_[kernel];
  if (placed) return *placed;
  placed.emplace();
  const auto mine = [kernel](const MeasuredGemm& g) { return g.kernel == kernel; };
  placed->reserve(static_cast<std::size_t>(std::count_if(t.rows.begin(), t.rows.end(), mine)));
  const KernelModel& k = t.kernels[kernel];
  for (const MeasuredGemm& g : t.rows) {
    if (!mine(g)) continue;
    const cost::KernelCase c = cost::case_of(t, g);
    const double time = cost::kernel_time(t, k, c, cost::output_tiles(k, c) * g.splits, g.splits);
    placed->push_back({cost::place_of(t, k, c, g.splits), g.time.si() / time - 1, g.accumulate});
  }
  return *placed;
}

}  // namespace overlap
