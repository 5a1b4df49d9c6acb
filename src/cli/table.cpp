// All commands, one line each, in the order of --help.
#include "cli/commands.hpp"

namespace overlap::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"run", "Rank the schedules of an experiment, with the reason and a timeline", run_command},
      {"sweep", "Run a what-if study: an experiment over axes of its inputs", sweep_command},
      {"merge", "Join the shards of a study", merge_command},
      {"report", "Make one HTML page of a finished study", report_command},
      {"select", "What the closed-form selectors would pick, and why", select_command},
      {"topo", "Look at a machine: its links, routes and cuts", topo_command},
      {"validate", "Score predictions against measured records; exit code for CI", validate_command},
      {"calibrate", "Fit a device and a topology to measurements, with uncertainty", calibrate_command},
      {"list", "List schedules, topologies, devices, workloads or models", list_command},
      {"measure", "Run schedules on this machine's GPUs and record what they take", measure_command},
  };
  return table;
}

}  // namespace overlap::cli
