// Reports of a run: text, JSON, CSV, Perfetto trace, SVG. Plain data in, text out; sees analysis and nothing above it.
// Every time, rate and size is printed with its unit or under a name that ends in it (makespan_us, bytes,
// bus_gb_per_s).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "overlap/analysis.hpp"

namespace overlap {

// A finished run, kept whole for pictures.
struct FinishedRun {
  OpGraph graph;
  Demands demands;
  Resources resources;
  Timeline timeline;
  [[nodiscard]] RunView view() const { return {graph, demands, resources, timeline, {}, {}, {}}; }
};

// The run and what it is held against (the closed form; without one the lower bound), one effect taken out of both.
struct EffectOff {
  std::string name;  // "link latency"
  Seconds makespan;
  Seconds reference;
};

// What a run is held against.
struct CrossCheck {
  std::optional<Seconds> closed_form;  // with the model's own lone piece times
  std::string formula;
  std::string assumes;
  std::vector<EffectOff>
      effects;  // in the order of Effects; those that this machine or graph does not have are left out
};

// FiCCO's split of lost time (arXiv 2512.10236), one side: the op in one piece, the pieces that it was cut in, and
// these beside the other side.
struct SideLoss {
  Seconds whole;    // in one piece, alone on the machine
  Seconds pieces;   // all pieces, still without the other side
  Seconds running;  // time in which they ran in the schedule
  // Decomposition and contention inefficiency: at least 1 where something is lost, below 1 where something is gained.
  [[nodiscard]] double dil() const { return pieces / whole; }
  [[nodiscard]] double cil() const { return running / pieces; }
};
struct Losses {
  SideLoss gemm;           // of the GPU that ends last
  SideLoss communication;  // whole: the collective by the same mover, all pairs at once or round the ring
};

struct ScheduleReport {
  std::string label;     // "interdecom d=4"
  std::string schedule;  // name in the table
  std::string params;    // all of them: "d=4 mover=dma"
  std::string refusal;   // why it cannot run here; then nothing below is set
  Seconds makespan;
  double speedup = 0.0;     // serial over this; 0 without a serial run
  double efficiency = 0.0;  // overlap_efficiency(); 0 without a serial run
  Phases phases;
  std::vector<Bound> bounds;
  CrossCheck cross;
  std::vector<PathStep> path;
  std::vector<LinkUse> links;
  std::optional<Losses> losses;  // only with --explain
  Bytes extra_memory;            // scratch, the device with the most
  Seconds communication;
  CollectiveBandwidth bandwidth;    // of the workload's collective over that time
  std::vector<std::string> checks;  // failures of --check, and bytes that do not add up; empty = none
  std::shared_ptr<const FinishedRun> run;
};

// Change of the winner's makespan when one numeric input is 1 % larger.
struct Sensitivity {
  std::string input;    // "gpu h100: clock"
  double effect = 0.0;  // relative change of the makespan; 0 = none
};

struct WorkloadReport {
  std::string name;
  std::string pattern;
  std::string layer;                      // "8192 tokens, 8192 -> 28672, TP 8"
  std::string per_gpu;                    // "GEMM 8192 x 3584 x 8192 bf16, all-gather of 128.0 MiB"
  std::vector<ScheduleReport> schedules;  // fastest first, then those that refuse
  // The larger of GEMM and collective, each whole and alone: what overlap without any loss would reach. Of the fastest
  // serial run; 0 without one.
  Seconds ideal_overlap;
  double ideal_speedup = 0.0;              // serial over that
  std::vector<Sensitivity> sensitivities;  // of the winner; only with --explain
  bool checked = false;                    // --check ran
};

struct RunReport {
  std::string config;              // as given
  std::string machine;             // "8 x h100 on h100x8"
  std::string models;              // "tile compute, fluid network"
  std::vector<std::string> notes;  // "a6000 is an estimate", remainder pieces ...
  std::vector<WorkloadReport> workloads;
};

// What the winner gains and pays against `other`, by phase: "exposed communication -331.0 us, decomposition (DIL) +12.4
// us".
[[nodiscard]] std::string difference_by_phase(const Phases& winner, const Phases& other);
// Closed form; without one the strongest lower bound.
[[nodiscard]] Seconds reference_of(const ScheduleReport& s);
// The effect without which the run is nearest to its reference; nullptr when none brings it nearer.
[[nodiscard]] const EffectOff* explaining_effect(const ScheduleReport& s);

struct TextStyle {
  bool colour = false;
  bool explain = false;
  std::size_t width = 110;
};
[[nodiscard]] std::string report_text(const RunReport& report, const TextStyle& style);
[[nodiscard]] std::string report_json(const RunReport& report);
[[nodiscard]] std::string report_csv(const RunReport& report);

// Lanes of one device over time, one row each; '#' '=' compute, '>' '-' communication, '+' local, '.' admitted and
// waiting.
[[nodiscard]] std::string timeline_text(const RunView& run, DeviceId device, std::size_t width, bool colour);

struct TracedRun {
  std::string name;  // "serial of mlp-up"
  const FinishedRun* run = nullptr;
};
// Chrome trace (Perfetto opens it): a process a device, a track a lane, counters of link rates where recorded.
[[nodiscard]] std::string trace_json(const std::vector<TracedRun>& runs);
// The device that ends last of each run, one under the other on one time axis.
[[nodiscard]] std::string timeline_svg(std::string_view title, const std::vector<TracedRun>& runs);

// Writes to a temporary beside `file` and renames it. Throws InputError naming the file when it cannot.
void write_file(const std::string& file, std::string_view text);

}  // namespace overlap
