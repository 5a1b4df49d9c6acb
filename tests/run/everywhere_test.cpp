// Every schedule on every bundled topology for three shapes: what every run must satisfy, whatever the machine.
#include <algorithm>
#include <filesystem>
#include <set>

#include "catch.hpp"
#include "cli/parallel.hpp"
#include "overlap/error.hpp"
#include "overlap/run.hpp"
#include "paths.hpp"

using namespace overlap;

namespace {

struct Shape {
  std::uint32_t tokens;
  std::uint32_t in;
  std::uint32_t out;
};
constexpr Shape kShapes[] = {{4096, 4096, 8192}, {1000, 1024, 1536}, {256, 8192, 1024}};
constexpr Pattern kPatterns[] = {Pattern::ag_gemm,  Pattern::gemm_rs, Pattern::gemm_ar,
                                 Pattern::a2a_gemm, Pattern::bulk,    Pattern::agk_gemm};

struct Case {
  const Topology* topology;
  std::vector<Device> devices;
  Workload workload;
};

// Problems of all schedules on one case; the number of runs is added to `runs`.
std::vector<std::string> problems(const Case& c, std::size_t& runs) {
  std::vector<std::string> out;
  const Machine machine{*c.topology, c.devices};
  std::vector<CutLimit> cuts;
  for (const Cut& cut : c.topology->cuts()) {
    CutLimit limit{cut.name, std::vector<bool>(c.workload.tp, false), cut.left_to_right, cut.right_to_left};
    for (const DeviceId d : cut.left) {
      if (d.index() < c.workload.tp) limit.left[d.index()] = true;
    }
    if (std::count(limit.left.begin(), limit.left.end(), true) > 0) cuts.push_back(std::move(limit));
  }
  for (const ScheduleInfo& info : schedules()) {
    const Params params = complete_params(info, {});
    const ScheduleContext context{c.workload, *c.topology, c.devices, params};
    if (info.refuses(context)) continue;
    const FinishedRun run = run_layer(info, context, machine, {}, {});
    const RunView view{run.graph, run.demands, run.resources, run.timeline, c.devices, cuts};
    ScheduleReport s;
    s.makespan = run.timeline.makespan;
    s.phases = phases(view);
    s.bounds = lower_bounds(view);
    s.path = critical_path(view);
    for (const std::string& p : check_run(s, view)) {
      out.push_back(std::string(info.name) + " on " + c.topology->name() + ", " + c.workload.name + ": " + p);
    }
    ++runs;
  }
  return out;
}

}  // namespace

TEST_CASE("No schedule beats a bound on any bundled topology; phases, path and bytes add up") {
  std::vector<Topology> topologies;
  std::set<std::filesystem::path> files;
  for (const auto& e : std::filesystem::directory_iterator(source_dir() + "/topologies")) files.insert(e.path());
  for (const auto& f : files) topologies.push_back(load_topology(f.string()));
  const Device device = load_device(source_dir() + "/configs/devices/h100.json");
  std::vector<Case> cases;
  for (const Topology& t : topologies) {
    for (const Pattern p : kPatterns) {
      for (const Shape& s : kShapes) {
        Case c{&t, std::vector<Device>(t.device_count(), device), {}};
        c.workload.name = std::string(to_text(p)) + " " + std::to_string(s.tokens);
        c.workload.pattern = p;
        c.workload.tokens = s.tokens;
        c.workload.in = s.in;
        c.workload.out = s.out;
        c.workload.tp = std::min(8U, t.device_count());
        cases.push_back(std::move(c));
      }
    }
  }
  std::vector<std::vector<std::string>> found(cases.size());
  std::vector<std::size_t> runs(cases.size());
  for_each_index(cases.size(), [&](std::size_t i) { found[i] = problems(cases[i], runs[i]); });
  for (const auto& f : found) {
    for (const std::string& p : f) FAIL_CHECK(p);
  }
  std::size_t all = 0;
  for (const std::size_t r : runs) all += r;
  CHECK(all > 3 * topologies.size() * 8);
}
