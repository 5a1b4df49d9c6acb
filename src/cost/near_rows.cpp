#include "cost/near_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cost/rough_log.hpp"

namespace overlap::cost {
namespace {

using Place = std::array<double, 8>;
constexpr std::size_t kNear = 8;   // rows that count
constexpr double kPrior = 2.0;     // weight of the model against them
constexpr double kTooNear = 0.05;  // squared distance within which rows count alike

Place place_of(GemmShape s, double tile_rows, double tile_cols, double splits, double sms) {
  const double tiles = std::ceil(s.m / tile_rows) * std::ceil(s.n / tile_cols) * splits;
  const double waves = std::ceil(tiles / sms);
  return {1.2 * rough_log(s.m), 0.9 * rough_log(s.n), 0.9 * rough_log(s.k), 4 * tiles / (sms * waves),
          rough_log(waves),     rough_log(splits),    rough_log(tile_rows), rough_log(tile_cols)};
}

}  // namespace

void place_near(KernelTable& t) {
  for (NearGemm& g : t.near) g.place = place_of({g.m, g.n, g.k}, g.tile_rows, g.tile_cols, g.splits, t.sms);
  std::stable_sort(t.near.begin(), t.near.end(), [](const NearGemm& a, const NearGemm& b) {
    return std::tuple(a.m, a.n, a.k) < std::tuple(b.m, b.n, b.k);
  });
}

double near_factor(const KernelTable& t, GemmShape shape, const GemmPlan& plan) {
  const Place here = place_of(shape, plan.tile_m, plan.tile_n, plan.splits, t.sms);
  std::array<std::pair<double, double>, kNear> best;  // squared distance, ratio - 1
  best.fill({1e300, 0});
  // Rows are sorted by m, hence by the first number of a place: away from the middle the distance only grows.
  const auto middle = std::lower_bound(t.near.begin(), t.near.end(), shape.m,
                                       [](const NearGemm& g, std::uint32_t m) { return g.m < m; });
  const auto consider = [&](const NearGemm& g) {
    double d = (g.place[0] - here[0]) * (g.place[0] - here[0]);
    if (d >= best.back().first) return false;
    for (std::size_t i = 1; i < here.size(); ++i) d += (g.place[i] - here[i]) * (g.place[i] - here[i]);
    if (d >= best.back().first) return true;
    std::size_t at = kNear - 1;
    for (; at > 0 && best[at - 1].first > d; --at) best[at] = best[at - 1];
    best[at] = {d, g.ratio - 1};
    return true;
  };
  auto up = middle;
  auto down = middle;
  for (bool more = true; more;) {
    const bool above = up != t.near.end() && consider(*up++);
    const bool below = down != t.near.begin() && consider(*--down);
    if (!above) up = t.near.end();
    if (!below) down = t.near.begin();
    more = above || below;
  }
  // A measured GEMM itself counts for more than all of its neighbours.
  double sum = 0, weight = kPrior;
  for (const auto& [d, ratio] : best) {
    if (d >= 1e300) break;
    const double w = d == 0 ? 40 / kTooNear : 1 / (d + kTooNear);
    sum += w * ratio;
    weight += w;
  }
  return 1 + sum / weight;
}

void correct(GemmPlan& plan, const GemmQuery& q, const KernelTable& t) {
  const double factor = near_factor(t, q.shape, plan);
  plan.total *= factor;
  plan.tile_time *= factor;
  plan.first_tile *= factor;
  plan.finish *= factor;
}

}  // namespace overlap::cost
