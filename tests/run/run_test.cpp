// The whole of `run` on the bundled experiments: what must hold of every schedule, whatever the machine.
#include "overlap/run.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/ranking.hpp"
#include "catch.hpp"
#include "overlap/error.hpp"
#include "paths.hpp"

using namespace overlap;
using nlohmann::json;

namespace {

std::vector<std::string> experiments() {
  std::vector<std::string> out;
  for (const auto& e : std::filesystem::directory_iterator(source_dir() + "/configs")) {
    if (e.path().extension() == ".json") out.push_back(e.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Output {
  int code = 0;
  std::string text;
};
// Runs the program; standard error is mixed in.
Output program(const std::string& arguments) {
  Output out;
  std::FILE* pipe = ::popen((binary_path() + " " + arguments + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    out.text.append(buffer.data(), n);
  out.code = WEXITSTATUS(::pclose(pipe));
  return out;
}
std::string config(const std::string& name) {
  return source_dir() + "/configs/" + name + ".json";
}
std::string scratch(const std::string& name) {
  return (std::filesystem::temp_directory_path() / ("overlapsim_run_test_" + name)).string();
}
std::string read(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("Every bundled experiment: phases and path sum to the makespan, no bound is broken, bytes add up") {
  for (const std::string& file : experiments()) {
    INFO(file);
    const Experiment e = load_experiment(file);
    const RunReport r = run_experiment(e, {});
    for (const WorkloadReport& w : r.workloads) {
      INFO(w.name);
      bool any = false;
      for (const ScheduleReport& s : w.schedules) {
        INFO(s.label << ": " << s.refusal);
        for (const std::string& c : s.checks) FAIL_CHECK(c);
        if (!s.refusal.empty()) continue;
        any = true;
        CHECK(s.phases.total().si() == Approx(s.makespan.si()).epsilon(1e-9));
        CHECK(s.path.back().end.si() == Approx(s.makespan.si()).epsilon(1e-12));
        for (const Bound& b : s.bounds) CHECK(b.time.si() <= s.makespan.si() * (1 + 1e-9));
        for (const LinkUse& l : s.links) CHECK(l.utilisation <= 1 + 1e-9);
        for (const PhaseName& p : phase_names()) {
          if (p.member != &Phases::decomposition && p.member != &Phases::contention) {
            CHECK((s.phases.*p.member).si() >= -1e-9 * s.makespan.si());
          }
        }
      }
      CHECK(any);
      for (std::size_t i = 1; i < w.schedules.size() && w.schedules[i].refusal.empty(); ++i) {
        CHECK(w.schedules[i - 1].makespan <= w.schedules[i].makespan * (1.0 + kLevel));  // level ones keep their order
      }
    }
  }
}

TEST_CASE("Same input, same bytes: text, JSON, CSV and trace, whatever the number of threads did") {
  const Experiment e = load_experiment(config("default"));
  const RunReport a = run_experiment(e, {});
  const RunReport b = run_experiment(e, {});
  CHECK(report_text(a, {}) == report_text(b, {}));
  CHECK(report_json(a) == report_json(b));
  CHECK(report_csv(a) == report_csv(b));
}

TEST_CASE("A straggler shifts the end by its delay") {
  Experiment e = load_experiment(config("ideal"));
  const Seconds delay(250e-6);
  const RunReport on_time = run_experiment(e, {});
  e.start_delay.assign(e.devices.size(), Seconds{});
  e.start_delay[0] = delay;
  const RunReport late = run_experiment(e, {});
  const auto serial = [](const RunReport& r) {
    for (const ScheduleReport& s : r.workloads[0].schedules) {
      if (s.schedule == "serial") return s.makespan;
    }
    return Seconds{};
  };
  CHECK((serial(late) - serial(on_time)).si() == Approx(delay.si()).epsilon(1e-9));
}

TEST_CASE("Sensitivities of an ideal serial run are those of Tcomp + Tcomm; what cannot matter has none") {
  Experiment e = load_experiment(config("ideal"));
  e.cost.effects = {};
  e.cost.effects.launch = e.cost.effects.latency = e.cost.effects.hbm = false;
  const Workload& w = e.workloads[0];
  const ScheduleInfo& serial = find_schedule("serial");
  const ScheduleRequest request{&serial, complete_params(serial, {{"mover", ParamValue(std::string("dma"))}})};
  const ScheduleContext context{w, e.topology, e.devices, request.params};
  const Machine machine{e.topology, e.devices, e.background};
  const FinishedRun run = run_layer(*request.info, context, machine, e.cost, e.simulation);
  const double total = run.timeline.makespan.si();
  const double compute = phases(run.view()).computing().si();
  double rate = 0.0;
  double peak = 0.0;
  bool memory = false;
  for (const Sensitivity& s : sensitivities(e, w, request)) {
    if (s.input.find("peak") != std::string::npos) peak = s.effect;
    if (s.input.find(" rate") != std::string::npos && s.input.find("peak") == std::string::npos && s.effect < rate) {
      rate = s.effect;
    }
    if (s.input.find("memory size") != std::string::npos) {
      memory = true;
      CHECK(s.effect == 0.0);
    }
  }
  CHECK(memory);
  CHECK(peak == Approx(-(compute / total) * 0.01 / 1.01).epsilon(1e-6));
  CHECK(rate == Approx(-((total - compute) / total) * 0.01 / 1.01).epsilon(1e-6));
}

TEST_CASE("run: the report, its formats, and files that appear whole") {
  const Output text = program("run " + config("default"));
  CHECK(text.code == 0);
  CHECK(text.text.find(" wins.") != std::string::npos);
  CHECK(text.text.find("Cross-check") != std::string::npos);
  CHECK(text.text == program("run " + config("default")).text);

  const std::string trace = scratch("trace.json");
  const std::string svg = scratch("picture.svg");
  const Output out = program("run " + config("default") + " --format json --trace " + trace + " --svg " + svg);
  CHECK(out.code == 0);
  const json report = json::parse(out.text);
  CHECK(report["workloads"].size() == 2);
  std::size_t counters = 0;
  const json events = json::parse(read(trace));
  for (const json& event : events["traceEvents"]) counters += event["ph"] == "C" ? 1 : 0;
  CHECK(counters > 0);
  CHECK(read(svg).find("</svg>") != std::string::npos);
  std::filesystem::remove(trace);
  std::filesystem::remove(svg);
  CHECK(program("run " + config("default") + " --format csv").text.find("makespan_us") != std::string::npos);
}

TEST_CASE("run --explain: effects, links, path, inputs with and without effect") {
  const Output out = program("run " + config("h200x2") + " --explain --schedule interdecom");
  CHECK(out.code == 0);
  for (const char* what : {"Phases, on the GPU", "Critical path of", "max-min fair", "No effect on the winner",
                           "memory size", "= makespan", "busbw GB/s"}) {
    INFO(what);
    CHECK(out.text.find(what) != std::string::npos);
  }
}

TEST_CASE("run --check passes on the bundled experiments") {
  for (const char* name : {"default", "mixed-and-late", "tpu-ring"}) {
    const Output out = program("run " + config(name) + " --check");
    INFO(out.text);
    CHECK(out.code == 0);
    CHECK(out.text.find("Checks passed") != std::string::npos);
  }
}

TEST_CASE("Bad input: one message, exit 2, nothing half-written") {
  const Output missing = program("run nowhere.json");
  CHECK(missing.code == 2);
  const std::string file = scratch("never.json");
  CHECK(program("run nowhere.json --trace " + file).code == 2);
  CHECK_FALSE(std::filesystem::exists(file));
  const Output schedule = program("run " + config("default") + " --schedule interdecmo");
  CHECK(schedule.code == 2);
  CHECK(schedule.text.find("interdecom") != std::string::npos);
  const Output folder = program("run " + config("default") + " --trace /nowhere/at/all.json");
  CHECK(folder.code == 2);
  CHECK(folder.text.find("/nowhere/at/all.json") != std::string::npos);
  CHECK(folder.text.find(" wins.") == std::string::npos);
}

TEST_CASE("A seed decides races and is the same every time") {
  const std::string command = "run " + config("default") + " --format csv --seed 7";
  CHECK(program(command).text == program(command).text);
}
