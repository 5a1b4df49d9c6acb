// From JSON files to an Experiment. Every reader is strict: unknown or duplicate keys, missing units, numbers out of
// range and missing files throw InputError with file, JSON pointer and remedy.
//
// A path in a file is looked up beside that file, then in the project's root (the folder above the program that has
// topologies/ and configs/), then in the current folder; a bare name ("h200") in the folder of its kind.
#pragma once

#include <string>
#include <vector>

#include "overlap/cost.hpp"
#include "overlap/device.hpp"
#include "overlap/engine.hpp"
#include "overlap/schedule.hpp"
#include "overlap/topology.hpp"
#include "overlap/workload.hpp"

namespace overlap {

// One schedule with its parameters complete. A list of values in the file gives one request a combination.
struct ScheduleRequest {
  const ScheduleInfo* info = nullptr;
  Params params;
};

struct Experiment {
  std::string name;
  std::string summary;
  std::string file;
  Topology topology;
  std::vector<Device> devices;  // by rank, as many as the topology has
  std::vector<Workload> workloads;
  std::vector<ScheduleRequest> schedules;
  CostOptions cost;
  SimOptions simulation;
  std::vector<Traffic> background;
  std::vector<Seconds> start_delay;  // by rank: a straggler begins that much later; empty = none does
};

Experiment load_experiment(const std::string& path);
// The same from text instead of a file; `name` stands in messages.
Experiment parse_experiment(const std::string& text, const std::string& name);

// load_topology() is in topology.hpp.
Device load_device(const std::string& path);

// A workload file: layers, each expanded over the lists that it or the file gives (tokens, tp, pattern).
struct WorkloadSet {
  std::string name;
  std::string summary;
  std::string source;
  std::vector<Workload> workloads;
  std::vector<std::string> topologies;  // files that the set is meant for; empty = any
};
WorkloadSet load_workloads(const std::string& path);

// The text of an experiment file as one value sets it, for what-if studies: `pointer` is a JSON pointer
// ("/workloads/0/tokens"), `value` JSON text. Throws InputError when the pointer leads nowhere or the value is no JSON.
std::string with_value(const std::string& text, const std::string& pointer, const std::string& value);

}  // namespace overlap
