#include "sweep/rows.hpp"

#include "sweep/axis_text.hpp"
#include "text/quote.hpp"

namespace overlap::sweep {
namespace {

void append_csv(const SweepRow& row, std::string& out) {
  out += std::to_string(row.cell);
  const auto add = [&](const std::string& text) {
    out += ',';
    out += csv_field(text);
  };
  for (const std::string& a : row.axes) add(plain_text(a));
  add(row.machine);
  add(row.workload.name);
  add(std::string(to_text(row.workload.pattern)));
  add(std::to_string(row.workload.tokens));
  add(std::to_string(row.workload.in));
  add(std::to_string(row.workload.out));
  add(std::to_string(row.workload.tp));
  add(row.family);
  add(row.schedule);
  add(row.refusal);
  for (const std::optional<double>& m : row.metrics) {
    out += ',';
    if (m) out += json_number(*m);
  }
  out += '\n';
}

void append_json(const Study& study, const std::vector<std::string>& axes, const SweepRow& row, std::string& out) {
  out += "{\"cell\":" + std::to_string(row.cell);
  const auto add = [&](const std::string& key, const std::string& json) { out += "," + json_string(key) + ":" + json; };
  for (std::size_t i = 0; i < axes.size(); ++i) add("axis." + axes[i], row.axes[i]);
  add("machine", json_string(row.machine));
  add("workload", json_string(row.workload.name));
  add("pattern", json_string(to_text(row.workload.pattern)));
  add("tokens", std::to_string(row.workload.tokens));
  add("in", std::to_string(row.workload.in));
  add("out", std::to_string(row.workload.out));
  add("tp", std::to_string(row.workload.tp));
  add("family", json_string(row.family));
  add("schedule", json_string(row.schedule));
  add("refusal", row.refusal.empty() ? "null" : json_string(row.refusal));
  for (std::size_t i = 0; i < study.metrics.size(); ++i) {
    add(study.metrics[i], row.metrics[i] ? json_number(*row.metrics[i]) : "null");
  }
  out += "}\n";
}

}  // namespace

std::string csv_header(const Study& study, const StudyPlan& plan) {
  std::string out = "cell";
  for (const std::string& a : plan.axis_names()) out += "," + csv_field("axis." + a);
  out += ",machine,workload,pattern,tokens,in,out,tp,family,schedule,refusal";
  for (const std::string& m : study.metrics) out += "," + m;
  return out + "\n";
}

CellBlock cell_block(const Study& study, const StudyPlan& plan, std::uint64_t cell) {
  CellBlock block;
  block.cell = cell;
  const std::vector<std::string> axes = plan.axis_names();
  for (const SweepRow& row : evaluate_cell(study, plan, cell)) {
    append_csv(row, block.csv);
    append_json(study, axes, row, block.jsonl);
    ++block.rows;
  }
  return block;
}

std::uint32_t rows_of_cell(const StudyPlan& plan, std::uint64_t cell) {
  const Experiment e = plan.experiment(cell);
  return static_cast<std::uint32_t>(e.workloads.size() * e.schedules.size());
}

}  // namespace overlap::sweep
