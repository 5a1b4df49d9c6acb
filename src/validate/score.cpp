// Errors by group, and how well the best schedule of a shape is picked.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cost/kernel_model.hpp"
#include "overlap/validate.hpp"
#include "validate/report.hpp"
#include "validate/statistics.hpp"

namespace overlap {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}
bool is_schedule(const Record& r) {
  return !r.fused && (r.kind == "ag_gemm" || r.kind == "gemm_rs");
}

// Groups of several schedules that the targets are stated for.
struct Pool {
  std::string_view name;
  bool (*holds)(const Record&);
};
constexpr Pool kPools[] = {
    {"all schedules", is_schedule},
    {"schedules without NCCL", [](const Record& r) { return is_schedule(r) && !has(r.schedule, "nccl"); }},
    {"schedules with NCCL", [](const Record& r) { return is_schedule(r) && has(r.schedule, "nccl"); }},
    {"serial and alone",
     [](const Record& r) { return is_schedule(r) && (has(r.schedule, "serial_") || has(r.schedule, "_only")); }},
    {"interdecom_nccl, d > 1",
     [](const Record& r) { return is_schedule(r) && r.schedule == "interdecom_nccl" && r.d > 1; }},
    {"interdecom_env, overlapped", [](const Record& r) { return r.kind == "interdecom_env" && r.d > 1; }},
    {"fused in our own tile kernel", [](const Record& r) { return r.fused; }},
};

Accuracy accuracy(std::string name, const std::vector<std::size_t>& rows, const std::vector<Record>& records,
                  const std::vector<Prediction>& predictions) {
  std::vector<double> error, size;
  double inside = 0, covered = 0;
  for (const std::size_t i : rows) {
    const Seconds p = predictions[i].median;
    const double e = 100 * (p / records[i].median - 1);
    error.push_back(e);
    size.push_back(std::abs(e));
    if (p >= records[i].min && p <= records[i].max) inside += 1;
    if (records[i].median >= predictions[i].min && records[i].median <= predictions[i].max) covered += 1;
  }
  const double n = std::max<double>(1, static_cast<double>(rows.size()));
  Accuracy a;
  a.name = std::move(name);
  a.n = static_cast<std::uint32_t>(rows.size());
  a.bias_pct = quantile_of(error, 0.5);
  a.median_ape_pct = quantile_of(size, 0.5);
  a.p90_ape_pct = quantile_of(size, 0.9);
  a.inside_pct = 100 * inside / n;
  a.covered_pct = 100 * covered / n;
  return a;
}

// Kendall's tau-b of two sets of times.
double kendall(const std::vector<double>& a, const std::vector<double>& b) {
  double same = 0, tie_a = 0, tie_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      const double x = a[i] - a[j], y = b[i] - b[j];
      if (x == 0) ++tie_a;
      if (y == 0) ++tie_b;
      if (x != 0 && y != 0) same += (x > 0) == (y > 0) ? 1 : -1;
    }
  }
  const double pairs = 0.5 * static_cast<double>(a.size()) * (static_cast<double>(a.size()) - 1);
  const double scale = std::sqrt((pairs - tie_a) * (pairs - tie_b));
  return scale > 0 ? same / scale : 1.0;
}

std::size_t least(const std::vector<double>& v) {
  return static_cast<std::size_t>(std::min_element(v.begin(), v.end()) - v.begin());
}

// Records that are whole schedules, not parts of one.
bool competes(const Record& r) {
  return is_schedule(r) && !has(r.schedule, "_only");
}

Picks picks_of(const std::vector<Record>& records, const std::vector<Prediction>& predictions) {
  std::map<std::string, std::vector<std::size_t>> shapes, families;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!competes(records[i])) continue;
    shapes[records[i].contest()].push_back(i);
    if (!has(records[i].schedule, "nccl") && !has(records[i].schedule, "serial")) {
      families[records[i].contest() + " " + records[i].schedule].push_back(i);
    }
  }
  const auto times = [&](const std::vector<std::size_t>& rows) {
    std::pair<std::vector<double>, std::vector<double>> t;
    for (const std::size_t i : rows) {
      t.first.push_back(records[i].median.si());
      t.second.push_back(predictions[i].median.si());
    }
    return t;
  };
  Picks p;
  std::vector<double> taus, regrets;
  for (const auto& [name, rows] : shapes) {
    if (rows.size() < 2) continue;
    const auto [measured, predicted] = times(rows);
    const std::size_t pick = least(predicted), best = least(measured);
    const double regret = 100 * (measured[pick] / measured[best] - 1);
    regrets.push_back(regret);
    p.top1 += pick == best ? 1 : 0;
    p.within_1pct += regret <= 1.0 ? 1 : 0;
    taus.push_back(kendall(measured, predicted));
  }
  p.shapes = static_cast<std::uint32_t>(regrets.size());
  if (p.shapes > 0) {
    p.top1 *= 100.0 / p.shapes;
    p.within_1pct *= 100.0 / p.shapes;
    for (const double r : regrets) {
      p.regret_mean_pct += r / p.shapes;
      p.regret_max_pct = std::max(p.regret_max_pct, r);
    }
    p.tau = quantile_of(taus, 0.5);
  }
  double families_n = 0;
  for (const auto& [name, rows] : families) {
    if (rows.size() < 2) continue;
    const auto [measured, predicted] = times(rows);
    const double regret = 100 * (measured[least(predicted)] / measured[least(measured)] - 1);
    p.best_d += regret <= 0.3 ? 1 : 0;
    p.best_d_regret_pct += regret;
    families_n += 1;
  }
  if (families_n > 0) {
    p.best_d *= 100 / families_n;
    p.best_d_regret_pct /= families_n;
  }
  return p;
}

// The device as a record's file and the cross-validation see it; kernel tables are made once each.
class Variants {
 public:
  Variants(const Device& device, bool unseen) : device_(device), unseen_(unseen) {}
  const Device& of(const Record& r) {
    const std::uint32_t n = unseen_ ? r.shape.n : 0;
    if (!device_.gemm.kernels || (n == 0 && r.method.clock_ratio == 1.0 && !r.fused)) return device_;
    auto [it, fresh] = made_.try_emplace({r.method.clock_ratio, n, r.fused}, device_);
    auto& kernels = it->second.gemm.kernels;
    if (fresh && r.fused) kernels = cost::with_fused_parts(*kernels);
    if (fresh && r.method.clock_ratio != 1.0) kernels = cost::at_clock(*kernels, r.method.clock_ratio);
    if (fresh && n > 0) kernels = cost::without_columns(*kernels, n);
    return it->second;
  }

 private:
  const Device& device_;
  bool unseen_;
  std::map<std::tuple<double, std::uint32_t, bool>, Device> made_;
};

}  // namespace

Validation validate(const RecordSet& set, const Device& device, const Topology& topology,
                    const ReplayOptions& options) {
  std::vector<Prediction> predictions;
  predictions.reserve(set.records.size());
  Variants variants(device, options.unseen);
  for (const Record& r : set.records) predictions.push_back(predict(r, variants.of(r), topology, options));
  Validation v = score(set, std::move(predictions));
  v.sustained = validation::sustained_of(set, device, topology, options);
  return v;
}

Validation score(const RecordSet& set, std::vector<Prediction> predictions) {
  Validation v;
  v.predictions = std::move(predictions);
  std::vector<std::size_t> all;
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < set.records.size(); ++i) {
    all.push_back(i);
    groups[set.records[i].group()].push_back(i);
  }
  v.overall = accuracy("overall", all, set.records, v.predictions);
  for (const auto& [name, rows] : groups) v.groups.push_back(accuracy(name, rows, set.records, v.predictions));
  for (const Pool& pool : kPools) {
    std::vector<std::size_t> rows;
    for (const std::size_t i : all) {
      if (pool.holds(set.records[i])) rows.push_back(i);
    }
    if (!rows.empty()) v.groups.push_back(accuracy(std::string(pool.name), rows, set.records, v.predictions));
  }
  v.picks = picks_of(set.records, v.predictions);
  v.environments = validation::environments_of(set, v.predictions);
  v.compass = validation::compass_of(set, v.predictions);
  return v;
}

}  // namespace overlap
