// One declaration a command; each is defined in the file of its name.
#pragma once

#include "cli/options.hpp"

namespace overlap::cli {

Action run_command(Options& o);
Action sweep_command(Options& o);
Action merge_command(Options& o);
Action report_command(Options& o);
Action select_command(Options& o);
Action topo_command(Options& o);
Action list_command(Options& o);
Action measure_command(Options& o);
Action validate_command(Options& o);
Action calibrate_command(Options& o);

}  // namespace overlap::cli
