// All commands, one line each, in the order of --help.
#include "cli/commands.hpp"

namespace overlap::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"topo", "Look at a machine: its links, routes and cuts", topo_command},
      {"list", "List schedules, topologies, devices, workloads or models", list_command},
  };
  return table;
}

}  // namespace overlap::cli
