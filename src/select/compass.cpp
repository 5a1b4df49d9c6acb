// Compass (Xiang et al., arXiv 2609.10549), Algorithm 1: predict decomposition at its best degree and fusion, take the
// smaller. The formulas are those that follow from the paper's prose.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "overlap/error.hpp"
#include "overlap/select.hpp"

namespace overlap {
namespace {

constexpr std::string_view kSource =
    "Compass, arXiv 2609.10549, Algorithm 1; FasterMoE as its overhead-agnostic baseline";

void check(Seconds comp, Seconds comm, const CompassCalibration& c) {
  if (!(comp.si() > 0 && comm.si() > 0 && std::isfinite(comp.si()) && std::isfinite(comm.si()))) {
    throw InputError("", fmt::format("compute time {} s and communication time {} s must be positive and finite",
                                     comp.si(), comm.si()));
  }
  if (!(c.alpha > 0 && std::isfinite(c.alpha) && std::isfinite(c.beta))) {
    throw InputError("", fmt::format("alpha {} must be positive and beta {} finite", c.alpha, c.beta));
  }
}

std::vector<std::pair<std::string, std::string>> inputs_of(const CompassInputs& in, bool overheads) {
  const double lambda = std::max(in.comp.si(), in.comm.si()) / std::min(in.comp.si(), in.comm.si());
  std::vector<std::pair<std::string, std::string>> out{{"T_comp", to_text(in.comp)},
                                                       {"T_comm", to_text(in.comm)},
                                                       {"lambda", fmt::format("{:.4g}", lambda)},
                                                       {"devices", std::to_string(in.devices)}};
  if (overheads) {
    out.emplace_back("alpha", fmt::format("{:.4g}", in.calibration.alpha));
    out.emplace_back("beta", fmt::format("{:.4g}", in.calibration.beta));
    out.emplace_back("t_sync", to_text(in.calibration.fusion_sync));
    out.emplace_back("t_0", to_text(in.calibration.fusion_fixed));
  }
  return out;
}

std::string decomp_name(std::uint32_t degree) {
  return degree == 1 ? "serial" : fmt::format("interdecom d={}", degree);
}

}  // namespace

Seconds compass_decomp(Seconds comp, Seconds comm, double d, const CompassCalibration& c) {
  return std::max(comp, comm) * ((d - 1) / d * (c.alpha * d + c.beta)) + (comp + comm) / d;
}

Seconds compass_fusion(Seconds comp, Seconds comm, std::uint32_t chunks, const CompassCalibration& c) {
  const double n = chunks;
  return std::max(comp, comm) * ((n - 1) / n) + comp / n + c.fusion_sync * n + c.fusion_fixed;
}

double compass_degree(Seconds comp, Seconds comm, const CompassCalibration& c) {
  check(comp, comm, c);
  const double room = (comp + comm) / std::max(comp, comm) - c.beta;
  return room > c.alpha ? std::sqrt(room / c.alpha) : 1.0;
}

std::uint32_t compass_pick_degree(Seconds comp, Seconds comm, const CompassCalibration& c, std::uint32_t limit,
                                  std::span<const std::uint32_t> allowed) {
  const double exact = compass_degree(comp, comm, c);
  std::vector<std::uint32_t> candidates(allowed.begin(), allowed.end());
  if (candidates.empty()) {
    const double low = std::min(std::floor(exact), static_cast<double>(limit));
    candidates = {1, static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low) + 1};
  }
  std::uint32_t best = 1;
  Seconds best_time = compass_decomp(comp, comm, 1, c);
  for (const std::uint32_t d : candidates) {
    if (d < 1 || d > limit) continue;
    const Seconds t = compass_decomp(comp, comm, d, c);
    if (t < best_time) {
      best = d;
      best_time = t;
    }
  }
  return best;
}

CompassCalibration calibrate_compass(std::span<const CompassSample> samples) {
  // T - S/d = alpha X (d-1) + beta X (d-1)/d, each row divided by T: relative least squares, two unknowns.
  double aa = 0, ab = 0, bb = 0, ay = 0, by = 0;
  std::uint32_t first = 0;
  bool two = false;
  for (const CompassSample& s : samples) {
    if (s.degree < 2) continue;
    if (first == 0) first = s.degree;
    two = two || s.degree != first;
    const double d = s.degree;
    const double x = std::max(s.comp, s.comm) / s.time;
    const double u = x * (d - 1);
    const double v = x * (d - 1) / d;
    const double y = 1.0 - ((s.comp + s.comm) / s.time) / d;
    aa += u * u;
    ab += u * v;
    bb += v * v;
    ay += u * y;
    by += v * y;
  }
  if (!two) throw InputError("", "alpha and beta need samples at two different degrees above 1");
  const double det = aa * bb - ab * ab;
  CompassCalibration c;
  c.alpha = (ay * bb - by * ab) / det;
  c.beta = (aa * by - ab * ay) / det;
  return c;
}

Choice select_compass(const CompassInputs& in) {
  const double exact = compass_degree(in.comp, in.comm, in.calibration);
  const std::uint32_t d = compass_pick_degree(in.comp, in.comm, in.calibration, in.max_degree, in.allowed);
  const Seconds decomp = compass_decomp(in.comp, in.comm, d, in.calibration);
  const Seconds fusion = compass_fusion(in.comp, in.comm, in.devices, in.calibration);
  const bool fuse = fusion < decomp;
  Choice c;
  c.selector = "compass";
  c.source = kSource;
  c.inputs = inputs_of(in, true);
  c.inputs.emplace_back("d*", fmt::format("{:.4g}", exact));
  c.pick = fuse ? "intrafusion" : decomp_name(d);
  c.branch =
      fuse ? "fusion is predicted faster" : (d == 1 ? "one piece: sequential" : "decomposition is predicted faster");
  c.decision = {"T_fusion", fmt::format("T_decomp({})", d), fusion.si(), decomp.si(), "s", fuse ? "<" : ">="};
  if (!fuse) c.degree = d;
  c.predicted = fuse ? fusion : decomp;
  c.notes = {
      "formulas follow from the paper's prose; the fusion overhead n t_sync + t_0 is ours, its own is not published"};
  return c;
}

Choice select_agnostic(const CompassInputs& in) {
  if (!(in.comp.si() > 0 && in.comm.si() > 0)) throw InputError("", "times must be positive");
  std::uint32_t d = in.max_degree;
  if (!in.allowed.empty()) {
    d = 1;
    for (const std::uint32_t a : in.allowed) {
      if (a <= in.max_degree) d = std::max(d, a);
    }
  }
  const Seconds x = std::max(in.comp, in.comm);
  const Seconds at_d = x + std::min(in.comp, in.comm) / static_cast<double>(d);
  const Seconds at_one = in.comp + in.comm;
  Choice c;
  c.selector = "agnostic";
  c.source = kSource;
  c.inputs = inputs_of(in, false);
  c.inputs.emplace_back("max_degree", std::to_string(in.max_degree));
  c.pick = decomp_name(d);
  c.branch = "the most pieces allowed: without overheads more is never worse";
  c.decision = {fmt::format("T({})", d), "T(1)", at_d.si(), at_one.si(), "s", d > 1 ? "<" : "<="};
  c.degree = d;
  c.predicted = at_d;
  c.notes = {"negative control: it knows neither launch costs nor smaller GEMMs' inefficiency"};
  return c;
}

}  // namespace overlap
