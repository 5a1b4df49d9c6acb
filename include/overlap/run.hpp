// The main job: an Experiment in, ranked schedules with their reasons out. Sits above everything; only commands use it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "overlap/config.hpp"
#include "overlap/cost.hpp"
#include "overlap/report.hpp"
#include "overlap/schedule.hpp"

namespace overlap {

// One layer under one schedule: build, price, simulate. Throws CheckError when the schedule refuses or cannot finish.
FinishedRun run_layer(const ScheduleInfo& info, const ScheduleContext& context, const Machine& machine,
                      const CostOptions& cost, const SimOptions& simulation, std::span<const Seconds> start_delay = {});

// Lone times for closed forms, from the same cost models as the simulation: GEMMs of the slowest rank, transfers over
// their route, the library's collective. All are free of launch and stream costs.
PieceTimes piece_times(const Workload& workload, const Machine& machine, const CostOptions& cost);

// What all schedules of one workload share.
struct LayerFacts {
  std::vector<CutLimit> cuts;
  std::vector<Seconds> undivided;  // by rank: lone time of its GEMM in one piece
  PieceTimes pieces;
  std::vector<PieceTimes> pieces_without;  // with one effect off, in the order of effect_names()
};
LayerFacts layer_facts(const Experiment& experiment, const Workload& workload, GemmPlans* plans = nullptr);

// Effects by name, in the order of the struct.
struct EffectName {
  std::string_view name;
  bool Effects::*member;
};
std::span<const EffectName> effect_names();

enum class EffectRuns : std::uint8_t {
  all,
  nearest,  // may leave out effects whose run is sure to end farther from its reference than another's: quicker, and
            // explaining_effect() is the same
};

// Makespan with one effect off at a time; effects whose absence changes neither prices nor closed form are left out.
// `run` is the run with all effects of `cost`, `closed_form` its closed form if it has one, `without` the layer's
// LayerFacts::pieces_without.
std::vector<EffectOff> effects_off(const ScheduleInfo& info, const ScheduleContext& context, const RunView& run,
                                   std::optional<Seconds> closed_form, std::span<const PieceTimes> without,
                                   const Machine& machine, const CostOptions& cost, const SimOptions& simulation,
                                   EffectRuns runs = EffectRuns::all);

// FiCCO's losses of a finished run: its graph again with GEMMs that take no time, and the collective in one piece.
Losses losses_of(const ScheduleContext& context, const RunView& run, const Phases& phases, const Machine& machine,
                 const CostOptions& cost, const SimOptions& simulation);

// Checks that need no times: well-formedness, races, and the reference run of the scaled-down twin under three seeds.
std::vector<std::string> check_layer(const ScheduleInfo& info, const ScheduleContext& context, const OpGraph& graph,
                                     std::span<const Seconds> start_delay = {});
// Checks that every run gets for free: bytes delivered, phases and path sum to the makespan, no bound above it.
std::vector<std::string> check_run(const ScheduleReport& s, const RunView& view);

// Change of the makespan of one schedule with each numeric input of devices, topology and layer 1 % larger.
std::vector<Sensitivity> sensitivities(const Experiment& experiment, const Workload& workload,
                                       const ScheduleRequest& request);

struct RunOptions {
  bool explain = false;
  bool check = false;
  EffectRuns effects = EffectRuns::all;
  std::string schedule;  // only this one, and serial to compare with; empty = all of the experiment
  std::function<void(std::size_t done, std::size_t total)> progress;  // called from any thread, one call at a time
};
RunReport run_experiment(const Experiment& experiment, const RunOptions& options);

}  // namespace overlap
