// The order in which measured records are used: rates first, then costs by replay, then collectives with those costs.
#include "calibrate/calibrate.hpp"
#include "config/reader.hpp"
#include "topology/generator.hpp"

namespace overlap::calibrate {

Topology fit_records(Report& report, Device& device, const Topology& base, config::Value& topology_file,
                     const RecordSet& set) {
  std::uint32_t source = 0;
  for (std::uint32_t i = 0; i < report.inputs.sources.size(); ++i) {
    if (report.inputs.sources[i].format == "measured records") source = i;
  }
  add_rates(report, device, set, source);
  fit_links(report, base, topology_file);
  Topology topology = read_topology(config::Cursor(topology_file, report.topology_base, ""), base.name());
  fit_replay(report, device, topology, set);
  // Tables of collectives hang on the join, which the replay has found.
  for (TimedCollective& t : collectives_of(set, device, topology, report.inputs))
    report.inputs.collectives.push_back(t);
  fit_collectives(report, device);
  fit_race(report, device, topology, set);
  return topology;
}

}  // namespace overlap::calibrate
