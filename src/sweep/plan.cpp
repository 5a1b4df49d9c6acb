// Enumerates the cells of a study: mixed radix over the axis groups, the last group fastest, sample points slowest.
#include <algorithm>
#include <cstdint>

#include "config/experiment.hpp"
#include "overlap/error.hpp"
#include "overlap/sweep.hpp"
#include "sweep/axis_text.hpp"
#include "sweep/memo.hpp"
#include "text/quote.hpp"

namespace overlap {
namespace {

constexpr std::uint64_t kMostCells = std::uint64_t{1} << 40U;

struct Random {  // splitmix64: the same numbers on every machine
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  double unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }
};

// One stratum a point and axis, strata shuffled independently for each axis (McKay, Beckman, Conover 1979).
std::vector<std::vector<std::string>> latin_hypercube(const Study& s) {
  std::vector<std::vector<std::string>> points(s.sample_points);
  Random random{s.sample_seed};
  for (const AxisGroup& g : s.groups) {
    const Axis& a = g.axes.front();
    if (!a.sampled) continue;
    std::vector<std::uint32_t> strata(s.sample_points);
    for (std::uint32_t i = 0; i < s.sample_points; ++i) strata[i] = i;
    for (std::uint32_t i = s.sample_points; i > 1; --i) std::swap(strata[i - 1], strata[random.next() % i]);
    for (std::uint32_t i = 0; i < s.sample_points; ++i) {
      double v = a.low + (a.high - a.low) * (strata[i] + random.unit()) / s.sample_points;
      if (a.whole) v = static_cast<double>(static_cast<std::int64_t>(v + 0.5));
      const std::string number = json_number(v);
      points[i].push_back(a.unit.empty() ? number : json_string(number + " " + a.unit));
    }
  }
  return points;
}

bool compare(const std::string& left, const std::string& relation, const std::string& right) {
  const auto l = sweep::number_of(left);
  const auto r = sweep::number_of(right);
  const int order = l && r ? (*l < *r ? -1 : *l > *r ? 1 : 0) : left.compare(right);
  if (relation == "<") return order < 0;
  if (relation == "<=") return order <= 0;
  if (relation == ">") return order > 0;
  if (relation == ">=") return order >= 0;
  return relation == "==" ? order == 0 : order != 0;
}

std::size_t radix(const AxisGroup& g) {
  return g.axes.front().sampled ? 1 : g.size();
}

}  // namespace

StudyPlan::StudyPlan(const Study& study)
    : study_(&study),
      base_(std::make_shared<const config::Value>(config::parse_text(study.experiment_text, study.experiment_name))),
      memo_(std::make_shared<SweepMemo>()) {
  samples_ = latin_hypercube(study);
  std::uint64_t total = samples_.empty() ? 1 : samples_.size();
  for (const AxisGroup& g : study.groups) {
    total *= radix(g);
    if (total > kMostCells) throw InputError(study.file + ":/axes", "more than 2^40 cells");
  }
  cells_ = total;
  if (study.filters.empty()) return;
  filtered_ = true;
  for (std::uint64_t raw = 0; raw < total; ++raw) {
    if (kept(raw_values(raw))) kept_.push_back(raw);
  }
  cells_ = kept_.size();
  if (cells_ == 0) throw InputError(study.file + ":/filters", "the filters leave no cell");
}

std::vector<std::string> StudyPlan::axis_names() const {
  std::vector<std::string> names;
  for (const AxisGroup& g : study_->groups) {
    for (const Axis& a : g.axes) names.push_back(a.name);
  }
  return names;
}

std::vector<std::string> StudyPlan::raw_values(std::uint64_t raw) const {
  std::vector<std::size_t> digits(study_->groups.size());
  for (std::size_t g = digits.size(); g-- > 0;) {
    digits[g] = raw % radix(study_->groups[g]);
    raw /= radix(study_->groups[g]);
  }
  std::vector<std::string> values;
  std::size_t sampled = 0;
  for (std::size_t g = 0; g < digits.size(); ++g) {
    for (const Axis& a : study_->groups[g].axes) {
      values.push_back(a.sampled ? samples_[raw][sampled++] : a.values[digits[g]]);
    }
  }
  return values;
}

bool StudyPlan::kept(const std::vector<std::string>& values) const {
  const std::vector<std::string> names = axis_names();
  const auto value_of = [&](const std::string& name) -> const std::string* {
    const auto it = std::find(names.begin(), names.end(), name);
    return it == names.end() ? nullptr : &values[static_cast<std::size_t>(it - names.begin())];
  };
  return std::all_of(study_->filters.begin(), study_->filters.end(), [&](const Filter& f) {
    const std::string* right = value_of(f.right);
    return compare(*value_of(f.left), f.relation, right != nullptr ? *right : f.right);
  });
}

std::vector<std::string> StudyPlan::values(std::uint64_t cell) const {
  return raw_values(filtered_ ? kept_[cell] : cell);
}

config::Value StudyPlan::experiment_value(std::uint64_t cell) const {
  config::Value out = *base_;
  const std::vector<std::string> v = values(cell);
  std::size_t i = 0;
  for (const AxisGroup& g : study_->groups) {
    for (const Axis& a : g.axes) {
      config::set_at(out, a.pointer, config::parse_text(v[i++], "the value of " + a.pointer));
    }
  }
  return out;
}

std::string StudyPlan::experiment_text(std::uint64_t cell) const {
  return config::json_text(experiment_value(cell), 2) + "\n";
}

Experiment StudyPlan::experiment(std::uint64_t cell) const {
  return config::experiment_of(experiment_value(cell), study_->experiment_name);
}

}  // namespace overlap
