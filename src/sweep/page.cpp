// Fills the report page with a study: columns, selectors, sensitivities, timelines.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "config/value.hpp"
#include "overlap/error.hpp"
#include "overlap/report.hpp"
#include "overlap/sweep.hpp"
#include "sweep/axis_text.hpp"
#include "sweep/cell.hpp"
#include "sweep/group.hpp"
#include "sweep/page_assets.hpp"
#include "sweep/selectors.hpp"
#include "sweep/tornado.hpp"
#include "text/json_writer.hpp"

namespace overlap {
namespace {

constexpr std::uint64_t kMostRows = 200000;  // a browser's table still scrolls

// A column of the page: numbers as they are, texts by a dictionary.
struct Column {
  std::string name;
  std::string unit;
  std::string role;
  bool numeric = true;
  std::vector<std::optional<double>> numbers;
  std::vector<std::uint32_t> codes;
  std::vector<std::string> dictionary;
  std::map<std::string, std::uint32_t> index;
  bool shown = true;

  void add(std::optional<double> v) { numbers.push_back(v); }
  void add(const std::string& text) {
    numeric = false;
    const auto [it, fresh] = index.try_emplace(text, static_cast<std::uint32_t>(dictionary.size()));
    if (fresh) dictionary.push_back(text);
    codes.push_back(it->second);
  }
};

std::string unit_of(const std::string& metric) {
  if (metric.ends_with("_us")) return "us";
  if (metric.ends_with("_pct")) return "%";
  if (metric.ends_with("_bytes")) return "B";
  return "";
}

class Columns {
 public:
  Columns(const Study& study, const StudyPlan& plan) {
    constexpr const char* kOfRow[] = {"machine", "workload", "pattern", "tokens", "in", "out", "tp"};
    for (const std::string& a : plan.axis_names()) {
      columns_.push_back({"axis." + a, "", "axis", true, {}, {}, {}, {}});
      // What a row says of itself anyway is not shown twice.
      columns_.back().shown = std::find(std::begin(kOfRow), std::end(kOfRow), a) == std::end(kOfRow);
    }
    for (const char* n : kOfRow) columns_.push_back({n, "", "axis", true, {}, {}, {}, {}});
    for (const char* n : {"family", "schedule"}) columns_.push_back({n, "", "schedule", false, {}, {}, {}, {}});
    for (const std::string& m : study.metrics) columns_.push_back({m, unit_of(m), "metric", true, {}, {}, {}, {}});
  }

  void add(const SweepRow& row) {
    std::size_t c = 0;
    for (const std::string& a : row.axes) {
      const std::string text = sweep::plain_text(a);
      if (a.front() == '"' || a.front() == '{' || a.front() == '[') {
        columns_[c++].add(text);
      } else {
        columns_[c++].add(sweep::number_of(a));
      }
    }
    columns_[c++].add(row.machine);
    columns_[c++].add(row.workload.name);
    columns_[c++].add(std::string(to_text(row.workload.pattern)));
    for (const std::uint32_t v : {row.workload.tokens, row.workload.in, row.workload.out, row.workload.tp}) {
      columns_[c++].add(std::optional<double>(v));
    }
    columns_[c++].add(row.family);
    columns_[c++].add(row.schedule);
    for (const std::optional<double>& m : row.metrics) columns_[c++].add(m);
    ++rows_;
  }

  [[nodiscard]] std::uint64_t rows() const { return rows_; }

  void write(JsonWriter& w) const {
    w.key("columns").begin_list();
    for (const Column& c : columns_) {
      if (!c.shown) continue;
      w.begin_object().field("name", c.name).field("unit", c.unit).field("role", c.role);
      w.field("type", c.numeric ? "number" : "text").key("values").begin_list();
      for (const std::optional<double>& v : c.numbers) v ? w.value(*v) : w.null();
      for (const std::uint32_t v : c.codes) w.value(std::uint64_t{v});
      w.end_list();
      if (!c.numeric) {
        w.key("dict").begin_list();
        for (const std::string& t : c.dictionary) w.value(t);
        w.end_list();
      }
      w.end_object();
    }
    w.end_list();
  }

 private:
  std::vector<Column> columns_;
  std::uint64_t rows_ = 0;
};

struct Case {
  std::string pick;
  std::string best;
  double regret_pct = 0.0;
};

// A row whose timeline the page keeps.
struct Kept {
  std::uint64_t row = 0;
  std::uint64_t cell = 0;
  std::size_t workload = 0;
  std::size_t request = 0;
  std::string title;
};

double seconds_to_us(Seconds t) {
  return t.si() * 1e6;
}

const char* kind_of(const Op& op) {
  constexpr const char* kKinds[] = {"gemm", "transfer", "collective", "elementwise"};
  return kKinds[op.work.index()];
}

void write_links(JsonWriter& w, const FinishedRun& run) {
  // Rates of flows to utilization of the resources they use, as steps in time.
  std::vector<double> rate(run.graph.ops().size(), 0.0);
  std::map<std::uint32_t, std::vector<std::pair<double, double>>> steps;
  std::vector<double> load(run.resources.fluids.size(), 0.0);
  const std::vector<RateSample>& samples = run.timeline.rates;
  for (std::size_t i = 0; i < samples.size();) {
    const Seconds at = samples[i].at;
    std::set<std::uint32_t> touched;
    for (; i < samples.size() && samples[i].at == at; ++i) {
      const Demand& d = run.demands.ops[samples[i].op.index()];
      for (std::uint32_t u = d.uses.begin; u < d.uses.end; ++u) {
        const Use& use = run.demands.uses[u];
        load[use.resource.index()] += use.weight * (samples[i].rate.si() - rate[samples[i].op.index()]);
        touched.insert(use.resource.v);
      }
      rate[samples[i].op.index()] = samples[i].rate.si();
    }
    for (const std::uint32_t r : touched) {
      const double share = load[r] / run.resources.fluids[r].capacity.si();
      steps[r].push_back({seconds_to_us(at), std::clamp(share, 0.0, 1.0)});
    }
  }
  w.key("links").begin_list();
  for (const auto& [resource, points] : steps) {
    if (run.resources.fluids[resource].kind == ResourceKind::hbm) continue;
    w.begin_object().field("name", run.resources.fluids[resource].name).key("at_us").begin_list();
    for (const auto& p : points) w.value(p.first);
    w.end_list().key("utilization").begin_list();
    for (const auto& p : points) w.value(p.second);
    w.end_list().end_object();
  }
  w.end_list();
}

void write_timeline(JsonWriter& w, const Kept& kept, const FinishedRun& run) {
  w.begin_object().field("row", kept.row).field("title", kept.title);
  w.field("makespan_us", seconds_to_us(run.timeline.makespan));
  w.key("lanes").begin_list();
  for (const Lane& lane : run.graph.lanes()) {
    w.begin_object().field("name",
                           "gpu " + std::to_string(lane.device.v) + " " + std::string(run.graph.text(lane.name)));
    w.end_object();
  }
  w.end_list().key("ops").begin_list();
  for (std::size_t i = 0; i < run.graph.ops().size(); ++i) {
    const Op& op = run.graph.ops()[i];
    const OpTimes& t = run.timeline.ops[i];
    for (const LaneId lane : run.graph.lane_refs(op.lanes)) {
      w.begin_object().field("lane", std::uint64_t{lane.v}).field("begin_us", seconds_to_us(t.admitted));
      w.field("end_us", seconds_to_us(t.end)).field("kind", kind_of(op)).field("label", run.graph.text(op.label));
      w.end_object();
    }
  }
  w.end_list();
  write_links(w, run);
  w.end_object();
}

// Everything of the rows that the page shows, in one pass.
struct Content {
  explicit Content(const Study& study, const StudyPlan& plan) : columns(study, plan) {}
  Columns columns;
  std::vector<std::vector<Case>> cases;  // by selector
  std::vector<Kept> kept;
  double tie_pct = 0.1;
};

void collect_cases(const Study& study, const Experiment& e, const sweep::Group& g, Content& c) {
  const std::vector<std::size_t> ranking = g.ranking(study);
  if (ranking.empty()) return;
  const double best = *g.metric(study, ranking.front(), "makespan_us");
  for (std::size_t s = 0; s < study.selectors.size(); ++s) {
    const auto pick = sweep::pick_of(study.selectors[s], study, e, g);
    if (!pick) continue;
    const double regret = 100 * (*g.metric(study, *pick, "makespan_us") / best - 1);
    const std::string& picked = g.rows[*pick].family;
    c.cases[s].push_back({picked, regret <= c.tie_pct ? picked : g.rows[ranking.front()].family, regret});
  }
}

void keep_timeline(const Study& study, const sweep::Group& g, std::size_t workload, Content& c) {
  const std::vector<std::size_t> ranking = g.ranking(study);
  if (ranking.empty()) return;
  const std::size_t best = ranking.front();
  const SweepRow& row = g.rows[best];
  std::string title = row.schedule + ", " + row.workload.name;
  for (const std::string& a : row.axes) title += ", " + sweep::plain_text(a);
  c.kept.push_back({g.first_row + best, row.cell, workload, best, title});
}

Content collect(const Study& study, const StudyPlan& plan, const std::string& out) {
  Content c(study, plan);
  c.cases.resize(study.selectors.size());
  sweep::GroupReader reader(study, plan, out);
  sweep::Group g;
  std::optional<Experiment> e;
  std::uint64_t cell = ~std::uint64_t{0};
  std::size_t workload = 0;
  while (reader.next(g) && c.columns.rows() < kMostRows) {
    if (g.rows.front().cell != cell) {
      cell = g.rows.front().cell;
      workload = 0;
      if (!e || !study.selectors.empty()) e.emplace(plan.experiment(cell));
      c.tie_pct = sweep::tie_margin_pct(*e);
    }
    for (const SweepRow& row : g.rows) c.columns.add(row);
    collect_cases(study, *e, g, c);
    keep_timeline(study, g, workload++, c);
  }
  return c;
}

void write_selectors(JsonWriter& w, const Study& study, const Content& c) {
  w.key("selectors").begin_list();
  for (std::size_t s = 0; s < study.selectors.size(); ++s) {
    const std::vector<Case>& cases = c.cases[s];
    if (cases.empty()) continue;
    double hits = 0;
    double sum = 0;
    double worst = 0;
    for (const Case& one : cases) {
      hits += one.regret_pct <= c.tie_pct ? 1 : 0;
      sum += one.regret_pct;
      worst = std::max(worst, one.regret_pct);
    }
    const auto n = static_cast<double>(cases.size());
    w.begin_object().field("name", study.selectors[s]).field("top1_pct", 100 * hits / n);
    w.field("regret_mean_pct", sum / n).field("regret_max_pct", worst).key("cases").begin_list();
    for (const Case& one : cases) {
      w.begin_object().field("pick", one.pick).field("best", one.best).field("regret_pct", one.regret_pct).end_object();
    }
    w.end_list().end_object();
  }
  w.end_list();
}

void write_timelines(JsonWriter& w, const Study& study, const StudyPlan& plan, const Content& c) {
  w.key("timelines").begin_list();
  const std::size_t count = std::min<std::size_t>(study.timelines, c.kept.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Kept& kept = c.kept[i * c.kept.size() / count];  // spread evenly over the study
    write_timeline(w, kept, *sweep::finished_run(plan.experiment(kept.cell), kept.workload, kept.request));
  }
  w.end_list();
}

std::string page_data(const Study& study, const std::string& out) {
  const StudyPlan plan(study);
  const Content c = collect(study, plan, out);
  JsonWriter w;
  w.begin_object().field("format", "overlapsim-report-1").field("title", study.name);
  w.field("program", std::string("overlapsim ") + OVERLAPSIM_VERSION).field("n", c.columns.rows());
  w.field("baseline", study.baseline).field("tie_pct", c.tie_pct);
  w.key("findings").begin_list();
  if (!study.summary.empty()) w.value(study.summary);
  for (const std::string& f : study.findings) w.value(f);
  w.end_list();
  c.columns.write(w);
  w.key("phases").begin_list();
  for (const char* p : {"floor_us", "kernel_us", "decomposition_us", "contention_us", "slot_wait_us", "launch_us",
                        "exposed_us", "local_us", "tail_us"}) {
    if (std::find(study.metrics.begin(), study.metrics.end(), p) != study.metrics.end()) w.value(p);
  }
  w.end_list();
  write_selectors(w, study, c);
  w.key("tornado").begin_list();
  for (const sweep::Swing& s : sweep::tornado(study, plan)) {
    w.begin_object().field("parameter", s.parameter).field("low_pct", s.low_pct).field("high_pct", s.high_pct);
    w.end_object();
  }
  w.end_list();
  write_timelines(w, study, plan, c);
  w.end_object();
  return std::move(w).take();
}

// Text that may stand inside <script>: JSON and JavaScript both read \u003c as '<'.
std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) c == '<' ? out += "\\u003c" : out += c;
  return out;
}

std::string filled(std::string page, const std::string& hole, std::string_view text) {
  const std::size_t at = page.find(hole);
  return page.replace(at, hole.size(), text);
}

}  // namespace

void write_study_page(const Study& study, const std::string& out, const std::string& file) {
  const std::string_view script = sweep::page_script();
  if (script.empty()) {
    throw InputError("", "this build has no report page: install npm and build again (scripts/run does both)");
  }
  std::string page = filled(std::string(sweep::page_template()), "@DATA@", escaped(page_data(study, out)));
  write_file(file, filled(std::move(page), "@SCRIPT@", script));
}

}  // namespace overlap
