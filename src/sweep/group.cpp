#include "sweep/group.hpp"

#include <algorithm>

#include "analysis/ranking.hpp"
#include "config/reader.hpp"
#include "overlap/error.hpp"
#include "sweep/axis_text.hpp"

namespace overlap::sweep {
namespace {

std::optional<double> number(const config::Value& v) {
  if (v.kind == config::Value::Kind::integer || v.kind == config::Value::Kind::real) return v.real;
  return std::nullopt;
}

bool same_group(const SweepRow& a, const SweepRow& b) {
  const auto key = [](const SweepRow& r) {
    return std::tie(r.cell, r.workload.name, r.workload.pattern, r.workload.tokens, r.workload.in, r.workload.out,
                    r.workload.tp);
  };
  return key(a) == key(b);
}

Pattern pattern_of(const std::string& text) {
  for (const Pattern p :
       {Pattern::ag_gemm, Pattern::gemm_rs, Pattern::gemm_ar, Pattern::a2a_gemm, Pattern::bulk, Pattern::agk_gemm}) {
    if (to_text(p) == text) return p;
  }
  throw InputError("", "unknown pattern '" + text + "'");
}

}  // namespace

std::optional<double> Group::metric(const Study& study, std::size_t row, std::string_view name) const {
  const auto it = std::find(study.metrics.begin(), study.metrics.end(), name);
  if (it == study.metrics.end()) return std::nullopt;
  return rows[row].metrics[static_cast<std::size_t>(it - study.metrics.begin())];
}

std::vector<std::size_t> Group::ranking(const Study& study) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (metric(study, i, "makespan_us")) order.push_back(i);
  }
  return in_places(
      order, places_by_time(order.size(), [&](std::size_t i) { return *metric(study, order[i], "makespan_us"); }));
}

std::optional<std::size_t> Group::best_of(const Study& study, std::string_view family) const {
  for (const std::size_t i : ranking(study)) {
    if (rows[i].family == family) return i;
  }
  return std::nullopt;
}

GroupReader::GroupReader(const Study& study, const StudyPlan& plan, const std::string& folder)
    : study_(&study), axes_(plan.axis_names()), path_(folder + "/rows.jsonl"), in_(path_) {
  if (!in_) throw InputError(path_, "cannot read; run the study first: overlapsim sweep STUDY.json --out FOLDER");
}

std::optional<SweepRow> GroupReader::read_row() {
  std::string text;
  if (!std::getline(in_, text)) return std::nullopt;
  ++line_;
  const std::string place = path_ + ":" + std::to_string(line_);
  const config::Value v = config::parse_text(text, place);
  const auto at = [&](const std::string& key) -> const config::Value& {
    const config::Value* found = v.find(key);
    if (found == nullptr) throw InputError(place, "is no row of this study: '" + key + "' is missing");
    return *found;
  };
  SweepRow row;
  row.cell = static_cast<std::uint64_t>(at("cell").integer);
  for (const std::string& a : axes_) row.axes.push_back(config::json_text(at("axis." + a)));
  row.machine = at("machine").string;
  row.workload.name = at("workload").string;
  row.workload.pattern = pattern_of(at("pattern").string);
  row.workload.tokens = static_cast<std::uint32_t>(at("tokens").integer);
  row.workload.in = static_cast<std::uint32_t>(at("in").integer);
  row.workload.out = static_cast<std::uint32_t>(at("out").integer);
  row.workload.tp = static_cast<std::uint32_t>(at("tp").integer);
  row.family = at("family").string;
  row.schedule = at("schedule").string;
  row.refusal = at("refusal").string;
  for (const std::string& m : study_->metrics) row.metrics.push_back(number(at(m)));
  return row;
}

bool GroupReader::next(Group& group) {
  group.rows.clear();
  group.first_row = row_;
  if (!ahead_) ahead_ = read_row();
  while (ahead_ && (group.rows.empty() || same_group(group.rows.front(), *ahead_))) {
    group.rows.push_back(std::move(*ahead_));
    ++row_;
    ahead_ = read_row();
  }
  return !group.rows.empty();
}

}  // namespace overlap::sweep
