#include <algorithm>
#include <array>
#include <filesystem>

#include "config/paths.hpp"
#include "config/reader.hpp"
#include "overlap/error.hpp"
#include "validate/report.hpp"

namespace overlap::validation {
namespace {

using config::Cursor;
using config::Object;

constexpr std::string_view kBudgetKeys[] = {"$schema", "name", "summary", "data", "device", "topology", "thresholds"};
constexpr std::string_view kThresholdKeys[] = {"group", "measure", "max", "min"};

struct Measure {
  std::string_view name;
  double (*of)(const Accuracy&);
};
constexpr std::array kMeasures = {
    Measure{"bias_pct", [](const Accuracy& a) { return a.bias_pct; }},
    Measure{"median_ape_pct", [](const Accuracy& a) { return a.median_ape_pct; }},
    Measure{"p90_ape_pct", [](const Accuracy& a) { return a.p90_ape_pct; }},
    Measure{"inside_pct", [](const Accuracy& a) { return a.inside_pct; }},
    Measure{"covered_pct", [](const Accuracy& a) { return a.covered_pct; }},
};
struct PickMeasure {
  std::string_view name;
  double (*of)(const Picks&);
};
constexpr std::array kPicks = {
    PickMeasure{"top1", [](const Picks& p) { return p.top1; }},
    PickMeasure{"within_1pct", [](const Picks& p) { return p.within_1pct; }},
    PickMeasure{"regret_mean_pct", [](const Picks& p) { return p.regret_mean_pct; }},
    PickMeasure{"regret_max_pct", [](const Picks& p) { return p.regret_max_pct; }},
    PickMeasure{"tau", [](const Picks& p) { return p.tau; }},
    PickMeasure{"best_d", [](const Picks& p) { return p.best_d; }},
    PickMeasure{"best_d_regret_pct", [](const Picks& p) { return p.best_d_regret_pct; }},
};

Threshold read_threshold(const Cursor& at) {
  const Object o(at, {"threshold", kThresholdKeys});
  Threshold t;
  t.group = o.at("group").text();
  std::vector<std::string_view> names;
  const auto collect = [&](const auto& table) {
    names.reserve(table.size());
    for (const auto& m : table) names.push_back(m.name);
  };
  t.group == "picks" ? collect(kPicks) : collect(kMeasures);
  t.measure = names[o.at("measure").choice(names)];
  if (o.has("max") == o.has("min")) o.fail("one of 'max' and 'min' is needed");
  t.at_least = o.has("min");
  t.limit = o.at(t.at_least ? "min" : "max").ratio(-1e9, 1e9);
  return t;
}

}  // namespace

Budget load_budget(const std::string& path) {
  const std::string file = config::resolve(path, "", "configs/budgets");
  const config::Document doc(file);
  const Object o(doc.root(), {"budget", kBudgetKeys});
  Budget b;
  b.name = o.at("name").text();
  for (const Cursor& c : o.at("data").items()) {
    // A folder beside the budget file, or a file looked up like any other.
    const std::filesystem::path beside = std::filesystem::path(file).parent_path() / c.text();
    std::error_code none;
    const bool folder = std::filesystem::is_directory(beside, none);
    b.data.push_back(folder ? beside.lexically_normal().string() : config::resolve(c.text(), file, "tests/data"));
  }
  b.device = config::resolve(o.at("device").text(), file, "configs/devices");
  b.topology = config::resolve(o.at("topology").text(), file, "topologies");
  for (const Cursor& c : o.at("thresholds").items()) b.thresholds.push_back(read_threshold(c));
  return b;
}

void check(std::vector<Threshold>& thresholds, const Validation& v) {
  for (Threshold& t : thresholds) {
    if (t.group == "picks") {
      for (const auto& m : kPicks) {
        if (m.name == t.measure) t.value = m.of(v.picks);
      }
      t.found = v.picks.shapes > 0;
    } else {
      const auto it =
          std::find_if(v.groups.begin(), v.groups.end(), [&](const Accuracy& a) { return a.name == t.group; });
      const Accuracy* a = t.group == "overall" ? &v.overall : it != v.groups.end() ? &*it : nullptr;
      t.found = a != nullptr;
      for (const auto& m : kMeasures) {
        if (a != nullptr && m.name == t.measure) t.value = m.of(*a);
      }
    }
    t.passed = t.found && (t.at_least ? t.value >= t.limit : t.value <= t.limit);
  }
}

}  // namespace overlap::validation
