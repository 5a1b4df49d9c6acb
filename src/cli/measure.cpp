// measure CONFIG, measure --suite
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "measure/measure.hpp"
#include "overlap/error.hpp"

namespace overlap::cli {
namespace {

struct MeasureArgs {
  std::string config;
  bool suite = false;
  std::vector<std::string> sections;
  std::string topology = "h200x2-nv18";
  std::string device = "h200";
  std::string machine;
  std::int64_t gpus = 2;
  std::int64_t reps = 0;
  std::int64_t seed = 1;
  double idle_ms = -1;
  double limit_s = 0;
  std::string parts = "tile_kernel";
  bool epilogue = false;
  bool sustained = false;
  cuda::MeasureOptions options;
};

// Devices and topology outlive the jobs, which build their graphs late.
struct SuiteMachine {
  Topology topology;
  std::vector<Device> devices;
};

std::vector<cuda::Job> config_jobs(const Experiment& e) {
  std::vector<cuda::Job> jobs;
  for (const Workload& w : e.workloads) {
    for (const ScheduleRequest& s : e.schedules) {
      if (std::find(s.info->patterns.begin(), s.info->patterns.end(), w.pattern) == s.info->patterns.end()) continue;
      jobs.push_back(cuda::layer_job(w, *s.info, s.params, e.topology, e.devices));
    }
  }
  return jobs;
}

// Long enough for the power limit to have settled the clock; half of it is read.
constexpr double kSustainedSeconds = 1.5;

std::vector<cuda::Job> as_asked(std::vector<cuda::Job> jobs, const MeasureArgs& a) {
  for (cuda::Job& j : jobs) {
    if (a.parts != "tile_kernel") j.fused = false;
    if (a.parts == "events") j.stream_memory = false;
    if (a.epilogue) j.epilogue_stores = true;
    if (a.sustained && j.sustained.si() == 0) j = cuda::sustained(std::move(j), Seconds(kSustainedSeconds));
  }
  return jobs;
}

int finish(const cuda::MeasureResult& r, const std::string& out) {
  fmt::print("{} measured, {} failed, {} left out; records in {}\n", r.measured, r.failed, r.skipped, out);
  return r.failed > 0 ? 1 : 0;
}

int run(MeasureArgs& a) {
  if (a.suite != a.config.empty()) throw InputError("", "give either a CONFIG or --suite");
  if (a.gpus < 1 || a.gpus > 8) throw InputError("--gpus", fmt::format("{} GPUs: 1 to 8 of one host", a.gpus));
  if (a.reps < 0 || a.reps > 10000) throw InputError("--reps", "0 (each job's own) to 10000");
  a.options.gpus = static_cast<std::uint32_t>(a.gpus);
  a.options.reps = static_cast<std::uint32_t>(a.reps);
  a.options.seed = static_cast<std::uint64_t>(a.seed);
  a.options.idle_ms = a.idle_ms;
  a.options.limit_s = a.limit_s;
  if (a.parts != "tile_kernel" && a.parts != "stream_memory" && a.parts != "events") {
    throw InputError("--parts", fmt::format("'{}': tile_kernel, stream_memory or events", a.parts));
  }
  const auto say = [](const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  };
  if (a.suite) {
    if (a.options.gpus != 2) throw InputError("--gpus", "the suite is made for two GPUs");
    const SuiteMachine m{load_topology(a.topology), {2, load_device(a.device)}};
    return finish(cuda::measure(as_asked(cuda::suite(m.topology, m.devices, a.sections), a), a.options, a.machine, say),
                  a.options.out);
  }
  const Experiment e = load_experiment(a.config);
  return finish(cuda::measure(as_asked(config_jobs(e), a), a.options, a.machine, say), a.options.out);
}

}  // namespace

Action measure_command(Options& o) {
  const auto a = std::make_shared<MeasureArgs>();
  a->options.out = "measured.jsonl";
  o.argument("CONFIG", a->config, "Experiment whose schedules are run", false);
  o.flag("--suite", a->suite, "Instead: all that calibration needs, on two GPUs in less than eight minutes");
  o.option("--section", a->sections, "NAME", "Only this section of the suite; may be given several times");
  o.option("-o,--out", a->options.out, "FILE", "JSON Lines, one record a line, written as it goes");
  o.option("--gpus", a->gpus, "N", "GPUs to use; several devices of a graph may share one");
  o.option("--reps", a->reps, "N", "Runs of each record; 0 = as the record's kind has it");
  o.option("--idle-ms", a->idle_ms, "MS", "Idle gap before each run; below 0 = as the record's kind has it");
  o.flag("--sustained", a->sustained, "Each record back to back for 1.5 s: the clock of a GPU under load");
  o.option("--parts", a->parts, "HOW",
           "GEMMs with parts: one tile_kernel, or a library call a part over stream_memory operations or events");
  o.flag("--epilogue", a->epilogue,
         "Remote stores leave out of the tile kernel instead of a copy kernel behind the GEMM");
  o.flag("--resume", a->options.resume, "Leave out what the file holds already");
  o.option("--limit", a->limit_s, "S", "Start no further group after so many seconds");
  o.option("--seed", a->seed, "N", "Of the inputs and of the order of runs");
  o.option("--machine", a->machine, "TEXT", "Name of the machine, for the first record");
  o.option("--topology", a->topology, "FILE", "Of the suite's schedules");
  o.option("--device", a->device, "FILE", "Of the suite's schedules");
  o.footer(
      "Needs NVIDIA GPUs with peer access, cuBLASLt and NCCL. A record holds the median, every time, clocks, the\n"
      "library's algorithms, a span for each op and the error against float64. Exit code 2 when the GPUs cannot\n"
      "be used; what was measured by then is in the file.");
  return [a] { return run(*a); };
}

}  // namespace overlap::cli
