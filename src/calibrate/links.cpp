// Rates between devices: what each kind of link of the base topology carries.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibrate/calibrate.hpp"
#include "calibrate/text.hpp"
#include "config/values.hpp"
#include "overlap/error.hpp"
#include "topology/generator.hpp"

namespace overlap::calibrate {
namespace {

using Class = std::pair<LinkKind, double>;  // kind and wire rate: links that are alike

struct Measured {
  std::vector<double> share;  // of the wire rate
  Place at;
};

std::set<Class> classes_of(const Topology& t, DeviceId a, DeviceId b) {
  std::set<Class> out;
  for (const LinkId l : t.route(a, b)) out.insert({t.links()[l.index()].kind, t.links()[l.index()].wire.si()});
  return out;
}

config::Value override_of(const Topology& t, const Link& l, double efficiency, const std::string& source,
                          bool one_way) {
  config::Value v;
  config::set_member(v, "from", config::text_value(t.nodes()[l.from.index()].name));
  config::set_member(v, "to", config::text_value(t.nodes()[l.to.index()].name));
  config::set_member(v, "efficiency", config::number_value(efficiency));
  if (one_way) {
    config::Value yes;
    yes.kind = config::Value::Kind::boolean;
    yes.boolean = true;
    config::set_member(v, "one_way", yes);
  }
  config::set_member(v, "source", config::text_value(source));
  return v;
}

double rounded(double v) {
  return std::stod(fmt::format("{:.4f}", v));
}

// What is lost when both directions of every link run. `pairs` are rates of one direction alone.
void fit_both_ways(Fit& fit, const Inputs& in, const std::vector<PairRate>& pairs, config::Value& topology) {
  std::vector<double> one, both;
  for (const PairRate& p : pairs) one.push_back(p.rate.si());
  for (const PairRate& p : in.pairs) {
    if (p.both_ways && !p.by_sms) both.push_back(p.rate.si());
  }
  if (both.empty()) return;
  const double share = std::min(1.0, median_of(both) / median_of(one));
  fit.notes.push_back(fmt::format("with both directions busy a direction carries {:.1f} GB/s", median_of(both) / 1e9));
  if (share < 0.5 || topology.find("link") == nullptr) return;
  config::set_member(topology, "link/both_ways", config::number_value(rounded(share)));
}

}  // namespace

void fit_links(Report& report, const Topology& base, config::Value& value) {
  constexpr double kAlike = 0.05;  // pairs of one kind of link within this are one rate
  Inputs& in = report.inputs;
  std::vector<PairRate> pairs;
  for (const PairRate& p : in.pairs) {
    if (p.both_ways || p.by_sms) continue;
    if (p.every_pair) {
      for (std::uint32_t a = 0; a < base.device_count(); ++a) {
        for (std::uint32_t b = 0; b < base.device_count(); ++b) {
          if (a != b) pairs.push_back({a, b, p.rate, false, false, false, p.at});
        }
      }
      continue;
    }
    if (std::max(p.from, p.to) >= base.device_count()) {
      throw InputError(in.where(p.at), fmt::format("a rate between devices {} and {}, but topology {} has {} devices",
                                                   p.from, p.to, base.name(), base.device_count()));
    }
    pairs.push_back(p);
  }
  if (pairs.empty()) {
    if (!in.pairs.empty())
      report.notes.emplace_back("rates between devices were not used: none is of copies in one direction");
    return;
  }
  Fit fit{"links", {}, {}, {}, {}};
  // Pairs whose route has one kind of link tell that kind; then those with one more.
  std::stable_sort(pairs.begin(), pairs.end(), [&](const PairRate& a, const PairRate& b) {
    const auto n = [&](const PairRate& p) { return classes_of(base, DeviceId(p.from), DeviceId(p.to)).size(); };
    return n(a) < n(b);
  });
  std::map<Class, Measured> found;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> by_pair;
  std::vector<double> before, after;
  std::size_t width = 0;
  std::map<Class, Measured> known;
  for (const PairRate& p : pairs) {
    const std::set<Class> route = classes_of(base, DeviceId(p.from), DeviceId(p.to));
    if (route.size() != width) known = found;
    width = route.size();
    const Class* mine = nullptr;
    for (const Class& c : route) {
      if (!known.contains(c) && (mine == nullptr || c.second < mine->second)) mine = &c;
    }
    for (const Class& c : route) {
      if (!known.empty() && mine == nullptr) mine = &c;
    }
    if (p.rate.si() > 1.02 * mine->second) {
      in.reject(p.at, fmt::format("{:.1f} GB/s from {} to {}, more than the {:.1f} of the link", p.rate.si() / 1e9,
                                  p.from, p.to, mine->second / 1e9));
      continue;
    }
    found[*mine].share.push_back(std::min(1.0, p.rate.si() / mine->second));
    by_pair[{p.from, p.to}].push_back(p.rate.si());
    before.push_back(base.route_bandwidth(DeviceId(p.from), DeviceId(p.to)) / p.rate - 1);
  }
  config::Value overrides;
  overrides.kind = config::Value::Kind::array;
  if (const config::Value* old = value.find("overrides"); old != nullptr) overrides = *old;
  for (const auto& [c, m] : found) {
    const double share = median_of(m.share);
    std::vector<double> off;
    off.reserve(m.share.size());
    for (const double s : m.share) off.push_back(std::abs(s / share - 1));
    const auto n = static_cast<std::uint32_t>(m.share.size());
    const double sigma = std::max(1.4826 * median_of(off) * 1.2533 / std::sqrt(n), 0.0005) * share;
    double old = 0;
    for (const Link& l : base.links()) {
      if (Class{l.kind, l.wire.si()} == c) old = l.efficiency;
    }
    fit.coefficients.push_back({fmt::format("efficiency of {} links of {:.4g} GB/s", to_text(c.first), c.second / 1e9),
                                share, sigma, "", "rates of pairs", n, old});
    const std::string source = fmt::format("calibrated: {:.1f} GB/s, median of {} measured pairs, +- {:.2f} %",
                                           share * c.second / 1e9, n, 100 * sigma / share);
    const bool alike = quantile_of(off, 0.95) <= kAlike;
    std::set<Class> all;
    for (const Link& l : base.links()) all.insert({l.kind, l.wire.si()});
    const config::Value* link = value.find("link");
    if (alike && link != nullptr && all.size() == 1) {
      config::set_member(value, "link/efficiency", config::number_value(rounded(share)));
      config::set_member(value, "link/source", config::text_value(source));
      continue;
    }
    for (const Link& l : base.links()) {
      if (Class{l.kind, l.wire.si()} != c) continue;
      double mine = share;
      // A direct link between two devices has rates of its own.
      const auto rank = [&](NodeId node) {
        const auto it = std::find(base.devices().begin(), base.devices().end(), node);
        return static_cast<std::uint32_t>(it - base.devices().begin());
      };
      const auto it = by_pair.find({rank(l.from), rank(l.to)});
      if (!alike && it != by_pair.end()) mine = std::min(1.0, median_of(it->second) / c.second);
      overrides.items.push_back(override_of(base, l, rounded(mine), source, true));
    }
    if (!alike)
      fit.notes.push_back("pairs of one kind of link differ by more than 5 %: each direct link has its own rate");
  }
  if (!overrides.items.empty()) config::set_member(value, "overrides", overrides);
  const std::string file = report.topology_base;
  const Topology fitted = read_topology(config::Cursor(value, file, ""), base.name());
  for (const PairRate& p : pairs) {
    if (by_pair.contains({p.from, p.to})) {
      after.push_back(fitted.route_bandwidth(DeviceId(p.from), DeviceId(p.to)) / p.rate - 1);
    }
  }
  fit.before = errors_of(before);
  fit.after = errors_of(after);
  fit_both_ways(fit, in, pairs, value);
  report.fits.push_back(std::move(fit));
}

}  // namespace overlap::calibrate
