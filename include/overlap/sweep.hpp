// What-if studies: a study file names an experiment, axes over its JSON pointers, and what to keep. A cell is one
// combination of axis values; its rows are the cell's workloads x schedules. Rows come in index order, whatever the
// number of threads or machines, so the output is the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "overlap/config.hpp"
#include "overlap/units.hpp"

namespace overlap {

namespace config {
struct Value;
}
class SweepMemo;

// Values along one JSON pointer of the experiment. A value is JSON text, so "\"20 GB/s\"" and "4096" both work.
struct Axis {
  std::string name;
  std::string pointer;
  std::vector<std::string> values;
  // Sampled instead: numbers with a common unit text ("GB/s"; "" = plain numbers) between low and high.
  bool sampled = false;
  bool whole = false;  // sampled values are rounded to integers
  double low = 0.0;
  double high = 0.0;
  std::string unit;
};

// Axes that advance together. A study is the product of its groups.
struct AxisGroup {
  std::vector<Axis> axes;
  [[nodiscard]] std::size_t size() const { return axes.front().values.size(); }
};

// Keeps the cells in which `left` (an axis) compares so with `right` (a JSON value or the name of another axis).
struct Filter {
  std::string left;
  std::string relation;  // "<", "<=", ">", ">=", "==", "!="
  std::string right;
};

// An input that is only known to lie between two values: each end is tried on a sample of cells.
struct Uncertain {
  std::string name;
  std::string pointer;
  std::string low;   // JSON text
  std::string high;  // JSON text
};

struct Study {
  std::string name;
  std::string summary;
  std::string source;
  std::string file;
  std::string text;             // the study as one JSON text, experiment included: a folder of rows keeps it
  std::string experiment_text;  // JSON of the base experiment
  std::string experiment_name;  // for messages
  std::vector<AxisGroup> groups;
  std::uint32_t sample_points = 0;  // Latin hypercube over the sampled axes; 0 = none is sampled
  std::uint64_t sample_seed = 0;
  std::vector<Filter> filters;
  std::string baseline;              // schedule family that speed-ups refer to
  std::vector<std::string> metrics;  // names of metric columns, in the order of metric_names()
  std::uint32_t seeds = 1;           // races: median over this many seeds, spread as p10 and p90
  std::vector<Uncertain> uncertain;
  std::uint32_t uncertain_cells = 16;  // cells that the sensitivity is taken over
  std::vector<std::string> selectors;
  std::uint32_t timelines = 8;        // experiments whose timeline the report keeps
  std::vector<std::string> findings;  // paragraphs for the report
};

Study load_study(const std::string& path);
// The study whose rows lie in `out` (or in shard folders below it).
Study study_of_folder(const std::string& out);
// All metric columns a study can keep.
const std::vector<std::string>& metric_names();

// The cells of a study, by index; nothing is stored per cell but the indices that filters keep.
class StudyPlan {
 public:
  explicit StudyPlan(const Study& study);
  [[nodiscard]] std::uint64_t cells() const { return cells_; }
  [[nodiscard]] std::vector<std::string> axis_names() const;
  // JSON text of each axis's value in the cell.
  [[nodiscard]] std::vector<std::string> values(std::uint64_t cell) const;
  // The cell's experiment as JSON text, and read.
  [[nodiscard]] std::string experiment_text(std::uint64_t cell) const;
  [[nodiscard]] Experiment experiment(std::uint64_t cell) const;
  [[nodiscard]] config::Value experiment_value(std::uint64_t cell) const;
  // Of all threads that evaluate this plan.
  [[nodiscard]] SweepMemo* memo() const { return memo_.get(); }

 private:
  [[nodiscard]] std::vector<std::string> raw_values(std::uint64_t raw) const;
  [[nodiscard]] bool kept(const std::vector<std::string>& values) const;

  const Study* study_;
  std::shared_ptr<const config::Value> base_;  // the study's experiment
  std::shared_ptr<SweepMemo> memo_;
  std::uint64_t cells_ = 0;
  bool filtered_ = false;
  std::vector<std::uint64_t> kept_;                // raw indices, only when filters drop some
  std::vector<std::vector<std::string>> samples_;  // [point][sampled axis]
};

struct SweepRow {
  std::uint64_t cell = 0;
  std::vector<std::string> axes;  // JSON text, by axis
  Workload workload;
  std::string machine;
  std::string family;                          // schedule name
  std::string schedule;                        // with parameters
  std::string refusal;                         // empty: it ran
  std::vector<std::optional<double>> metrics;  // by Study::metrics
};

struct SweepOptions {
  std::string out;            // folder
  std::uint32_t threads = 0;  // 0 = all cores
  bool resume = false;
  std::uint32_t shard = 1;  // 1-based
  std::uint32_t shards = 1;
  // Called from one thread as rows are written; may be empty.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  // Asked between cells; true stops cleanly after what is in flight.
  std::function<bool()> stop;
};

struct SweepOutcome {
  std::uint64_t cells = 0;
  std::uint64_t rows = 0;
  std::uint64_t resumed = 0;  // cells that were there already
  bool finished = false;
};

// All rows of one cell, in order.
std::vector<SweepRow> evaluate_cell(const Study& study, const StudyPlan& plan, std::uint64_t cell);

// Writes out/rows.csv, out/rows.jsonl (and out/study.json, out/summary.json when it finishes whole).
SweepOutcome run_sweep(const Study& study, const SweepOptions& options);
// Joins the shard folders below `out` into out/rows.*, and summarises. Throws InputError naming what is missing.
SweepOutcome merge_shards(const std::string& out);

// Winners, speed-ups over the baseline, regret of each selector, sensitivity to the uncertain inputs; JSON text.
std::string summarise(const Study& study, const std::string& out);
// One self-contained HTML page of a finished study.
void write_study_page(const Study& study, const std::string& out, const std::string& file);

}  // namespace overlap
