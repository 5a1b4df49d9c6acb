// run CONFIG: the experiment's schedules ranked, with the reason and a picture.
#include "overlap/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "cli/best.hpp"
#include "cli/commands.hpp"
#include "overlap/error.hpp"

namespace overlap::cli {
namespace {

struct RunArgs {
  std::string config;
  Format format = Format::text;
  std::string trace;
  std::string svg;
  std::string schedule;
  std::int64_t seed = -1;
  bool explain = false;
  bool check = false;
  bool best = false;
  BestArgs search;
};

// A line on a terminal's standard error once a run takes over a second.
class ProgressBar {
 public:
  void operator()(std::size_t done, std::size_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (now - start_ < std::chrono::seconds(1) || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    shown_ = true;
    const std::size_t filled = 40 * done / total;
    fmt::print(stderr, "\r[{}{}] {} of {} runs", std::string(filled, '#'), std::string(40 - filled, ' '), done, total);
    std::fflush(stderr);
  }
  void clear() const {
    if (shown_) fmt::print(stderr, "\r{}\r", std::string(70, ' '));
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_;
  bool shown_ = false;
};

// Runs to draw: of each workload the winner, or the schedule that was asked for.
std::vector<const ScheduleReport*> chosen(const RunReport& report, const std::string& schedule) {
  std::vector<const ScheduleReport*> out;
  for (const WorkloadReport& w : report.workloads) {
    for (const ScheduleReport& s : w.schedules) {
      if (!s.run || (!schedule.empty() && s.schedule != schedule)) continue;
      out.push_back(&s);
      break;
    }
  }
  return out;
}

// The same runs again, with the rates of all flows recorded.
void write_trace(const RunArgs& args, const Experiment& experiment, const RunReport& report) {
  std::vector<FinishedRun> runs;
  std::vector<TracedRun> traced;
  SimOptions recording = experiment.simulation;
  recording.record_rates = true;
  for (const ScheduleReport* s : chosen(report, args.schedule)) {
    runs.push_back(*s->run);
    runs.back().timeline = simulate(s->run->graph, s->run->demands, s->run->resources, recording);
  }
  std::size_t i = 0;
  for (const WorkloadReport& w : report.workloads) {
    for (const ScheduleReport* s : chosen(report, args.schedule)) {
      if (s >= w.schedules.data() && s < w.schedules.data() + w.schedules.size()) {
        traced.push_back({w.name + ", " + s->label, &runs[i++]});
      }
    }
  }
  write_file(args.trace, trace_json(traced));
}

void write_svg(const RunArgs& args, const RunReport& report) {
  constexpr std::size_t kMostPanels = 4;
  const WorkloadReport& w = report.workloads.front();
  std::vector<TracedRun> runs;
  const ScheduleReport* serial = nullptr;
  for (const ScheduleReport& s : w.schedules) {
    if (!s.run) continue;
    if (s.schedule == "serial") {
      serial = serial == nullptr ? &s : serial;
    } else if (runs.size() < kMostPanels - 1) {
      runs.push_back({s.label, s.run.get()});
    }
  }
  if (serial != nullptr) runs.push_back({serial->label, serial->run.get()});
  if (runs.empty()) throw CheckError("no schedule ran: there is no timeline to draw");
  write_file(args.svg, timeline_svg(w.name + " (" + w.pattern + ") on " + report.machine, runs));
}

bool failed(const RunReport& report) {
  for (const WorkloadReport& w : report.workloads) {
    for (const ScheduleReport& s : w.schedules) {
      if (!s.checks.empty()) return true;
    }
  }
  return false;
}

int run(const RunArgs& args) {
  Experiment experiment = load_experiment(args.config);
  if (args.seed >= 0) experiment.simulation.seed = static_cast<std::uint64_t>(args.seed);
  if (args.best) {
    BestArgs search = args.search;
    search.schedule = args.schedule;
    search.format = args.format;
    return show_best(experiment, search);
  }
  RunOptions options;
  options.explain = args.explain;
  options.check = args.check;
  options.schedule = args.schedule;
  // The plain report names the effect that explains most, tables and JSON have all of them.
  if (!args.explain && args.format != Format::json) options.effects = EffectRuns::nearest;
  ProgressBar bar;
  if (isatty(STDERR_FILENO) != 0) options.progress = [&bar](std::size_t done, std::size_t total) { bar(done, total); };
  const RunReport report = run_experiment(experiment, options);
  bar.clear();
  // Files first: when one cannot be written, nothing is printed as if all were well.
  if (!args.trace.empty()) write_trace(args, experiment, report);
  if (!args.svg.empty()) write_svg(args, report);
  TextStyle style;
  style.colour = isatty(STDOUT_FILENO) != 0;
  style.explain = args.explain;
  const std::string text = args.format == Format::json  ? report_json(report)
                           : args.format == Format::csv ? report_csv(report)
                                                        : report_text(report, style);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return failed(report) ? 1 : 0;
}

}  // namespace

Action run_command(Options& o) {
  auto args = std::make_shared<RunArgs>();
  o.argument("CONFIG", args->config, "experiment file");
  o.format(args->format);
  o.option("--schedule", args->schedule, "NAME", "Only this schedule, beside serial");
  o.option("--seed", args->seed, "N", "Decides races that real machines leave open; 0 = program order");
  o.flag("--explain", args->explain, "Phases, effects, links, critical path, inputs that matter");
  o.flag("--check", args->check, "Check graphs: well-formed, no races, right result on a scaled-down twin");
  o.flag("--best", args->best, "Try every schedule over its settings; name the best, its gap to physics and the knobs");
  o.option("--memory", args->search.memory, "SIZE", "--best: most extra memory a device (\"2 GiB\")");
  o.option("--host-launch", args->search.host_launch, "TIME",
           "--best: what a launch takes the host thread (\"4 us\"; no CUDA graphs)");
  o.option("--trace", args->trace, "FILE", "Perfetto trace of the fastest schedule (or of --schedule)");
  o.option("--svg", args->svg, "FILE", "Picture of the fastest timelines and serial");
  o.footer(
      "Exit codes: 0 fine, 1 a check failed, 2 bad input. Example:\n  overlapsim run configs/default.json --explain");
  return [args] { return run(*args); };
}

}  // namespace overlap::cli
