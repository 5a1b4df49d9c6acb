// What `run --best` adds to `run`.
#pragma once

#include <string>

#include "cli/options.hpp"
#include "overlap/best.hpp"
#include "overlap/config.hpp"

namespace overlap::cli {

struct BestArgs {
  std::string schedule;     // only this one; empty = all
  std::string memory;       // most extra memory a device; empty = any
  std::string host_launch;  // of one launch; empty = none
  Format format = Format::text;
};
// Prints for each layer the ranking of all settings, bounds and knobs. Returns the exit code.
int show_best(const Experiment& experiment, const BestArgs& args);

}  // namespace overlap::cli
