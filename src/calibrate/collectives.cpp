// Tables of library collectives: linear in bytes between knots, as the device file holds them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "calibrate/calibrate.hpp"
#include "calibrate/solver.hpp"
#include "calibrate/text.hpp"
#include "calibrate/write.hpp"
#include "config/values.hpp"

namespace overlap::calibrate {
namespace {

struct Key {
  std::string kind;
  std::uint32_t members = 0;
  std::uint32_t channels = 0;
  bool in_place = false;  // of an all_gather; of others both are one
  auto operator<=>(const Key&) const = default;
};
using Rows = std::vector<const TimedCollective*>;

constexpr std::size_t kSmoothed = 4;  // sizes on either side that a dense table is smoothed over to be scored
constexpr double kApart = 0.25;       // two rows of one size that differ by more cannot both be right

bool same_use(const CollectiveTable& a, const CollectiveTable& b) {
  return a.kind == b.kind && a.members == b.members && a.channels == b.channels && a.in_place == b.in_place;
}

double at_size(const CollectiveTable& t, double bytes) {
  std::size_t i = 1;
  while (i + 1 < t.knots.size() && t.knots[i].bytes.si() < bytes) ++i;
  const CollectiveKnot& a = t.knots[i - 1];
  const CollectiveKnot& b = t.knots[i];
  const double x = std::max(0.0, (bytes - a.bytes.si()) / (b.bytes.si() - a.bytes.si()));
  return a.time.si() + (b.time.si() - a.time.si()) * x;
}

// Times that do not fall: neighbours that do become one pool with the median of its rows (isotonic, least absolute).
struct Knot {
  double bytes = 0;
  std::vector<double> times;
};
std::vector<CollectiveKnot> monotone(const std::vector<Knot>& knots) {
  struct Pool {
    std::vector<double> times;
    double median = 0;
    std::size_t knots = 1;
  };
  std::vector<Pool> pools;
  for (const Knot& k : knots) {
    pools.push_back({k.times, median_of(k.times), 1});
    while (pools.size() > 1 && pools[pools.size() - 2].median > pools.back().median) {
      Pool& p = pools[pools.size() - 2];
      p.times.insert(p.times.end(), pools.back().times.begin(), pools.back().times.end());
      p.median = median_of(p.times);
      p.knots += pools.back().knots;
      pools.pop_back();
    }
  }
  std::vector<CollectiveKnot> out;
  for (const Pool& p : pools) {
    for (std::size_t k = 0; k < p.knots; ++k) out.push_back({Bytes(knots[out.size()].bytes), Seconds(p.median)});
  }
  return out;
}

// A knot a size; where sizes lie dense, one knot an octave: the median size with the median time.
std::vector<CollectiveKnot> knots_of(const Rows& rows) {
  std::map<int, std::map<double, std::vector<double>>> octaves;
  for (const TimedCollective* r : rows) {
    const int octave = static_cast<int>(std::lround(std::log2(r->bytes.si()) * 2));
    octaves[octave][r->bytes.si()].push_back(r->time.si());
  }
  // Of a dense table (a profiler's, with waiting for peers in its short rows) a few rows say little: more of them a
  // knot.
  constexpr std::size_t kDense = 40, kEnough = 25;
  std::size_t all = 0;
  for (const auto& [octave, sizes] : octaves) all += sizes.size();
  if (all > kDense) {
    for (auto it = octaves.begin(); it != octaves.end();) {
      const auto next = std::next(it);
      if (it->second.size() < kEnough && next != octaves.end()) {
        next->second.insert(it->second.begin(), it->second.end());
        it = octaves.erase(it);
      } else {
        it = next;
      }
    }
  }
  std::vector<Knot> knots;
  for (const auto& [octave, sizes] : octaves) {
    if (sizes.size() <= 2) {
      for (const auto& [bytes, times] : sizes) knots.push_back({bytes, times});
      continue;
    }
    std::vector<double> bytes, times;
    for (const auto& [size, list] : sizes) {
      bytes.push_back(size);
      times.push_back(median_of(list));
    }
    knots.push_back({std::round(median_of(bytes)), times});
  }
  return monotone(knots);
}

CollectiveTable table_of(const Key& key, const Rows& rows, std::uint32_t channels) {
  CollectiveTable t;
  t.kind = key.kind;
  t.members = key.members;
  t.channels = key.channels == 0 ? channels : key.channels;
  t.in_place = key.in_place;
  t.knots = knots_of(rows);
  return t;
}

std::string name_of(const Key& key) {
  return fmt::format("{} of {}{}", key.kind, key.members, key.in_place ? " in place" : "");
}

// Start and rate of rows of 1 MiB and more (of all, where fewer than three are), robust, in logarithms of time.
void add_line(Fit& fit, const Key& key, const Rows& all) {
  Rows rows;
  for (const TimedCollective* r : all) {
    if (r->bytes.si() >= 1048576) rows.push_back(r);
  }
  if (rows.size() < 3) rows = all;
  if (rows.size() < 3 || !solver_present()) return;
  LeastSquares p;
  p.residuals = rows.size();
  p.loss = 0.05;
  p.lower = {std::log(1e-8), std::log(1e5)};
  p.upper = {std::log(1.0), std::log(1e14)};
  const TimedCollective& last =
      **std::max_element(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->bytes < b->bytes; });
  const TimedCollective& first =
      **std::min_element(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->bytes < b->bytes; });
  p.start = {std::log(first.time.si() / 2), std::log(last.bytes.si() / last.time.si())};
  p.evaluate = [&](std::span<const double> x, std::span<double> r) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      r[i] = std::log((std::exp(x[0]) + rows[i]->bytes.si() / std::exp(x[1])) / rows[i]->time.si());
    }
  };
  const Solution s = solve(p);
  const std::string name = name_of(key);
  const auto n = static_cast<std::uint32_t>(rows.size());
  const double alpha = std::exp(s.p[0]) * 1e6, rate = std::exp(s.p[1]) / 1e9;
  fit.coefficients.push_back({name + ": start", alpha, alpha * s.sigma[0], "us", "rows of 1 MiB and more", n, 0});
  fit.coefficients.push_back({name + ": bytes over time", rate, rate * s.sigma[1], "GB/s", "the same", n, 0});
}

// Every size but the ends left out in turn.
void score(const Key& key, const Rows& rows, const Device& base, std::vector<double>& before,
           std::vector<double>& after) {
  const CollectiveTable* old = nullptr;
  for (const CollectiveTable& t : base.collectives) {
    const bool channels = key.channels == 0 ? t.channels == base.collective_channels : t.channels == key.channels;
    if (t.kind == key.kind && t.members == key.members && channels && t.knots.size() > 1) old = &t;
  }
  std::map<double, std::vector<double>> sizes;
  for (const TimedCollective* r : rows) sizes[r->bytes.si()].push_back(r->time.si());
  for (const auto& [bytes, times] : sizes) {
    const double measured = median_of(times);
    if (old != nullptr) before.push_back(at_size(*old, bytes) / measured - 1);
    if (sizes.size() < 4 || bytes == sizes.begin()->first || bytes == sizes.rbegin()->first) continue;
    Rows rest;
    for (const TimedCollective* r : rows) {
      if (r->bytes.si() != bytes) rest.push_back(r);
    }
    after.push_back(at_size(table_of(key, rest, 1), bytes) / measured - 1);
  }
}

// A table of few channels is often measured at large sizes only. Below its first row it follows the table that the
// device had, in proportion; without one, the table of the default channels, and what few channels add there is in
// proportion to the bytes (measured with 8 and 16 channels from 4 MB on).
void begin_small(CollectiveTable& t, const Device& base) {
  const CollectiveKnot first = t.knots.front();
  CollectiveTable like = t;
  const auto find = [&](std::uint32_t channels) {
    like.channels = channels;
    return std::find_if(base.collectives.begin(), base.collectives.end(), [&](const CollectiveTable& o) {
      return same_use(o, like) && o.knots.size() > 1 && o.knots.front().bytes < first.bytes;
    });
  };
  const auto none = base.collectives.end();
  const auto own = find(t.channels);
  const auto shape = own != none ? own : find(base.collective_channels);
  if (shape == none) return;
  const double there = at_size(*shape, first.bytes.si());
  const double factor = own != none ? first.time.si() / there : 1;
  const double each = own != none ? 0 : (first.time.si() - there) / first.bytes.si();
  std::vector<CollectiveKnot> small;
  for (const CollectiveKnot& k : shape->knots) {
    if (k.bytes * 2.0 > first.bytes) break;
    small.push_back({k.bytes, std::min(k.time * factor + Seconds(each * k.bytes.si()), first.time)});
  }
  t.knots.insert(t.knots.begin(), small.begin(), small.end());
}

// Rows of one size that contradict each other: the one nearer to the line through the neighbours stays.
std::map<Key, Rows> consistent(Inputs& in) {
  std::map<Key, std::map<double, Rows>> all;
  for (const TimedCollective& t : in.collectives)
    all[{t.kind, t.members, t.channels, t.in_place && t.kind == "all_gather"}][t.bytes.si()].push_back(&t);
  std::map<Key, Rows> out;
  for (auto& [key, sizes] : all) {
    for (auto it = sizes.begin(); it != sizes.end(); ++it) {
      Rows& rows = it->second;
      const auto [low, high] =
          std::minmax_element(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->time < b->time; });
      double expected = median_of({(*low)->time.si(), (*high)->time.si()});
      if ((*high)->time.si() > (1 + kApart) * (*low)->time.si() && sizes.size() > 2) {
        // Bytes over time of the sizes on either side, by their faster row.
        std::vector<double> near;
        const auto add = [&](const Rows& r) {
          double least = 1e300;
          for (const TimedCollective* t : r) least = std::min(least, t->time.si() / t->bytes.si());
          near.push_back(least * it->first);
        };
        if (it != sizes.begin()) add(std::prev(it)->second);
        if (std::next(it) != sizes.end()) add(std::next(it)->second);
        expected = median_of(near);
        const auto off = [&](const TimedCollective* t) { return std::abs(std::log(t->time.si() / expected)); };
        const TimedCollective* best =
            *std::min_element(rows.begin(), rows.end(), [&](const auto* a, const auto* b) { return off(a) < off(b); });
        std::erase_if(rows, [&](const TimedCollective* t) {
          const double apart = t->time.si() / best->time.si() - 1;
          if (std::abs(apart) <= kApart) return false;
          in.reject(t->at, fmt::format("{:+.0f} % off the other row of {:.0f} bytes, which its neighbours agree with",
                                       100 * apart, it->first));
          return true;
        });
      }
      out[key].insert(out[key].end(), rows.begin(), rows.end());
    }
  }
  return out;
}

}  // namespace

void fit_collectives(Report& report, Device& device) {
  if (report.inputs.collectives.empty()) return;
  Fit fit{"collectives", {}, {}, {}, {}};
  std::vector<double> before, after;
  const Device base = device;
  for (const auto& [key, rows] : consistent(report.inputs)) {
    CollectiveTable t = table_of(key, rows, device.collective_channels);
    if (t.knots.size() < 2) {
      fit.notes.push_back(fmt::format("{} of {}: one size is no table; left as it was", t.kind, t.members));
      continue;
    }
    add_line(fit, key, rows);
    begin_small(t, base);
    score(key, rows, base, before, after);
    fit.notes.push_back(fmt::format("{} of {}, {} SMs: {} knots from {} rows, {:.4g} to {:.4g} bytes", t.kind,
                                    t.members, t.channels, t.knots.size(), rows.size(), t.knots.front().bytes.si(),
                                    t.knots.back().bytes.si()));
    std::erase_if(device.collectives, [&](const CollectiveTable& o) { return same_use(o, t); });
    device.collectives.push_back(t);
  }
  fit.before = errors_of(before);
  fit.after = errors_of(after);
  if (!after.empty()) fit.notes.push_back("fitted: the error at each size when that size is left out");
  report.fits.push_back(std::move(fit));
}

double collective_time(const CollectiveTable& t, Bytes bytes) {
  return at_size(t, bytes.si());
}

void cross_validate_collectives(Report& report) {
  const std::map<Key, Rows> all = consistent(report.inputs);
  for (const auto& [key, rows] : all) {
    std::map<double, std::vector<double>> sizes;
    for (const TimedCollective* r : rows) sizes[r->bytes.si()].push_back(r->time.si());
    if (sizes.size() < 6) continue;
    std::vector<std::pair<double, double>> order;  // bytes, time
    order.reserve(sizes.size());
    for (const auto& [bytes, times] : sizes) order.emplace_back(bytes, median_of(times));
    std::vector<double> off, training;
    const CollectiveTable whole = table_of(key, rows, 1);
    double worst = 0, sum = 0;
    // Dense sizes: a size and its neighbours are smoothed together and left out together.
    const bool dense = order.size() > 40;
    const std::size_t reach = dense ? kSmoothed : 0;
    for (int power = 10; std::ldexp(1.0, power) <= order.back().first; ++power) {
      const double bytes = std::ldexp(1.0, power);
      std::size_t i = 0;
      for (std::size_t k = 0; k < order.size(); ++k) {
        if (std::abs(order[k].first - bytes) < std::abs(order[i].first - bytes)) i = k;
      }
      if (dense ? std::abs(std::log2(order[i].first / bytes)) > 0.5 : order[i].first != bytes) continue;
      const std::size_t first = i < reach ? 0 : i - reach;
      const std::size_t last = std::min(order.size() - 1, i + reach);
      std::vector<double> near;
      for (std::size_t k = first; k <= last; ++k) near.push_back(order[k].second);
      Rows rest;
      for (const TimedCollective* r : rows) {
        if (r->bytes.si() < order[first].first || r->bytes.si() > order[last].first) rest.push_back(r);
      }
      const double measured = median_of(near);
      training.push_back(at_size(whole, bytes) / measured - 1);
      off.push_back(at_size(table_of(key, rest, 1), bytes) / measured - 1);
      worst = std::max(worst, std::abs(off.back()));
      sum += std::abs(off.back());
    }
    if (off.size() < 3) continue;
    report.folds.push_back(
        {fmt::format("{} of {}, a size left out", key.kind, key.members), errors_of(training), errors_of(off)});
    report.notes.push_back(
        fmt::format("{} of {}: {} power-of-two sizes left out one by one: mean {:.1f} %, max {:.1f} %{}", key.kind,
                    key.members, off.size(), 100 * sum / static_cast<double>(off.size()), 100 * worst,
                    order.size() > 40 ? " (each the median of 9 neighbouring sizes)" : ""));
  }
}

void write_collectives(config::Value& value, const Report& report, const Device& device) {
  config::Value list;
  list.kind = config::Value::Kind::array;
  const config::Value* old = value.find("collectives");
  for (const CollectiveTable& t : device.collectives) {
    config::Value item;
    config::set_member(item, "kind", config::text_value(t.kind));
    config::set_member(item, "members", config::number_value(t.members));
    config::set_member(item, "channels", config::number_value(t.channels));
    if (t.in_place) config::set_member(item, "in_place", config::bool_value(true));
    config::Value knots;
    knots.kind = config::Value::Kind::array;
    for (const CollectiveKnot& k : t.knots) {
      config::Value knot;
      config::set_member(knot, "bytes", config::text_value(fmt::format("{:.0f} B", k.bytes.si())));
      config::set_member(knot, "time", config::text_value(quantity(k.time.si() * 1e6, "us")));
      knots.items.push_back(knot);
    }
    config::set_member(item, "knots", knots);
    std::string source = "calibrated from";
    for (const Source& s : report.inputs.sources) {
      if (s.rows > 0 &&
          (s.format == "nccl-tests" || s.format == "collective table" || s.format == "measured records")) {
        source += " " + std::filesystem::path(s.file).filename().string();
      }
    }
    config::set_member(item, "source", config::text_value(source));
    // A table that no row touched keeps its words.
    for (std::size_t i = 0; old != nullptr && i < old->items.size(); ++i) {
      const config::Value& o = old->items[i];
      const config::Value* k = o.find("kind");
      const config::Value* m = o.find("members");
      const config::Value* c = o.find("channels");
      const config::Value* p = o.find("in_place");
      const bool same = k != nullptr && m != nullptr && c != nullptr && k->string == t.kind &&
                        m->integer == t.members && c->integer == t.channels &&
                        (p != nullptr && p->boolean) == t.in_place;
      if (same && std::none_of(report.inputs.collectives.begin(), report.inputs.collectives.end(), [&](const auto& r) {
            return r.kind == t.kind && r.members == t.members && (r.in_place && r.kind == "all_gather") == t.in_place &&
                   (r.channels == t.channels || (r.channels == 0 && t.channels == device.collective_channels));
          })) {
        item = o;
      }
    }
    list.items.push_back(item);
  }
  config::set_member(value, "collectives", list);
}

}  // namespace overlap::calibrate
