#include "overlap/report.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/hand.hpp"
#include "catch.hpp"
#include "overlap/error.hpp"
#include "report/table.hpp"

using namespace overlap;
using nlohmann::json;

namespace {

std::shared_ptr<const FinishedRun> finished(hand::Hand h) {
  auto run = std::make_shared<FinishedRun>();
  run->graph = std::move(h.graph);
  run->demands = std::move(h.demands);
  run->resources = std::move(h.resources);
  run->timeline = std::move(h.timeline);
  return run;
}

ScheduleReport schedule(const std::string& name, double stretch) {
  hand::Hand h = hand::gather_then_gemm();
  ScheduleReport s;
  s.label = name;
  s.schedule = name;
  s.params = "d=2 mover=dma";
  s.phases = phases(h.view());
  s.phases.exposed += h.timeline.makespan * (stretch - 1.0);
  s.makespan = h.timeline.makespan * stretch;
  s.bounds = lower_bounds(h.view());
  s.path = critical_path(h.view());
  s.links = link_uses(h.view());
  s.cross.closed_form = Seconds(1.5e-3);
  s.cross.formula = "Tcomp + Tcomm";
  s.cross.assumes = "ranks in step";
  s.cross.effects = {{"link latency", s.makespan - Seconds(1e-6), Seconds(1.5e-3)},
                     {"launch costs", s.makespan - Seconds(2e-5), Seconds(1.5e-3)}};
  s.extra_memory = Bytes(2097152);
  s.communication = Seconds(1e-3);
  s.bandwidth = collective_bandwidth(CollectiveKind::all_gather, 2, Bytes(2e6), s.communication);
  s.speedup = 1.0;
  s.run = finished(std::move(h));
  return s;
}

RunReport sample() {
  RunReport r;
  r.config = "toy";
  r.machine = "2 x toy on pair";
  r.models = "ideal compute, max-min fluid network";
  WorkloadReport w;
  w.name = "layer \"one\"";
  w.pattern = "ag+gemm";
  w.layer = "2000 tokens, 1000 -> 200, TP 2";
  w.per_gpu = "GEMM 2000 x 100 x 1000";
  w.schedules = {schedule("fast", 1.0), schedule("serial", 1.25)};
  ScheduleReport refused;
  refused.label = refused.schedule = "torus, only";
  refused.refusal = "needs a torus, \"really\"";
  w.schedules.push_back(refused);
  w.sensitivities = {{"clock", 0.004}, {"memory size", 0.0}};
  r.workloads = {w};
  return r;
}

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("The JSON report parses and holds the phases that sum to the makespan") {
  const json j = json::parse(report_json(sample()));
  const json& s = j["workloads"][0]["schedules"];
  REQUIRE(s.size() == 3);
  CHECK(s[0]["rank"] == 1);
  CHECK(s[0]["makespan_us"].get<double>() == Approx(1540.0));
  double sum = 0.0;
  for (const auto& [key, value] : s[0]["phases_us"].items()) sum += value.get<double>();
  CHECK(sum == Approx(1540.0));
  CHECK(s[0]["effects_off"][1]["change_us"].get<double>() == Approx(20.0));
  CHECK(s[0]["critical_path"].size() == 5);
  CHECK(s[0]["links"][0]["bytes"].get<double>() == 1e6);
  CHECK(s[2]["refusal"] == "needs a torus, \"really\"");
  CHECK(j["workloads"][0]["sensitivities"][0]["relative_effect_of_1_percent"] == 0.004);
}

TEST_CASE("CSV: every row has the columns of the head, and every number's column ends in its unit") {
  std::istringstream in(report_csv(sample()));
  std::string line;
  std::vector<std::size_t> commas;
  while (std::getline(in, line)) {
    bool quoted = false;
    commas.push_back(0);
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) ++commas.back();
    }
  }
  REQUIRE(commas.size() == 4);
  CHECK(std::all_of(commas.begin(), commas.end(), [&](std::size_t n) { return n == commas[0]; }));
  CHECK(report_csv(sample()).find("\"layer \"\"one\"\"\",ag+gemm,1,fast") != std::string::npos);
}

TEST_CASE("The text report ranks, says why, draws and cross-checks; colours only when asked for") {
  const std::string text = report_text(sample(), {.colour = false, .explain = true, .width = 100});
  CHECK(text.find('\033') == std::string::npos);
  CHECK(report_text(sample(), {.colour = true, .explain = false, .width = 100}).find("\033[32m") != std::string::npos);
  CHECK(text.find("fast wins.") != std::string::npos);
  CHECK(text.find("385.0 us ahead of serial: exposed communication -385.0 us") != std::string::npos);
  CHECK(text.find("launch costs: 20.0 of 40.0 us") != std::string::npos);
  CHECK(text.find("-  torus, only: needs a torus") != std::string::npos);
  CHECK(text.find("No effect on the winner: memory size") != std::string::npos);
  CHECK(text.find("max-min fair among the flows of this direction") != std::string::npos);
  CHECK(text == report_text(sample(), {.colour = false, .explain = true, .width = 100}));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK((line.empty() || line.back() != ' '));
}

TEST_CASE("The drawn timeline shows each lane to scale") {
  const hand::Hand h = hand::gather_then_gemm();
  const std::string text = timeline_text(h.view(), DeviceId(0U), 77, false);
  // 1540 us on 77 columns: 20 us a column; the GEMM runs from 1016 to 1536 us.
  CHECK(text == "  gemms |" + std::string(51, ' ') + std::string(26, '#') + "|\n         0" + std::string(69, ' ') +
                    "1.54 ms\n");
}

TEST_CASE("The trace parses: a track a lane, durations that fit, counters that return to zero") {
  hand::Hand h = hand::gather_then_gemm();
  h.timeline.rates = {{Seconds(6e-6), OpId(0U), Bandwidth(1e9)}};
  const auto run = finished(std::move(h));
  const std::string text = trace_json({{"toy, fast", run.get()}});
  const json j = json::parse(text);
  CHECK(text == trace_json({{"toy, fast", run.get()}}));
  std::size_t slices = 0;
  std::vector<double> counter;
  for (const json& e : j["traceEvents"]) {
    if (e["ph"] == "X") {
      ++slices;
      CHECK(e["ts"].get<double>() + e["dur"].get<double>() <= 1540.0);
    }
    if (e["ph"] == "C") counter.push_back(e["args"]["GB/s"].get<double>());
  }
  CHECK(slices == 2);
  REQUIRE(counter.size() == 2);
  CHECK(counter[0] == 1.0);
  CHECK(counter[1] == 0.0);
}

TEST_CASE("The SVG has a panel a run and one box an op, and escapes names") {
  const auto run = finished(hand::gather_then_gemm());
  const std::string svg = timeline_svg("a < b", {{"one & two", run.get()}, {"serial", run.get()}});
  CHECK(svg.find("a &lt; b") != std::string::npos);
  CHECK(svg.find("one &amp; two") != std::string::npos);
  CHECK(count(svg, "<title>gemm") == 2);
  CHECK(count(svg, "<svg") == count(svg, "</svg>"));
}

TEST_CASE("Files appear whole or not at all") {
  const std::string folder = std::filesystem::temp_directory_path() / "overlapsim_report_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  write_file(folder + "/out.json", "one");
  write_file(folder + "/out.json", "two");
  std::ifstream in(folder + "/out.json");
  std::string text;
  in >> text;
  CHECK(text == "two");
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  CHECK_THROWS_AS(write_file(folder, "x"), InputError);
  CHECK_THROWS_AS(write_file(folder + "/missing/out.json", "x"), InputError);
  std::filesystem::remove_all(folder);
}

TEST_CASE("The reason lists the phases that differ most, largest first") {
  Phases a;
  Phases b;
  b.exposed = Seconds(100e-6);
  a.launch = Seconds(7e-6);
  a.decomposition = Seconds(0.1e-6);  // under a percent of all: left out
  CHECK(difference_by_phase(a, b) == "exposed communication -100.0 us, launch +7.0 us");
  CHECK(difference_by_phase(a, a) == "no phase differs");
}
