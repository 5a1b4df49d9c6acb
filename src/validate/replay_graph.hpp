// Small graphs of measured schedules on two devices: what the measuring program enqueued, op by op.
#pragma once

#include "overlap/graph_builder.hpp"
#include "overlap/validate.hpp"

namespace overlap::validation {

// Throws InputError for a schedule that it does not know, naming the nearest.
OpGraph graph_of(const Record& r, const Topology& topology, std::span<const Device> devices);
// Of a record that names a schedule of this project and its parameters.
OpGraph layer_graph(const Record& r, const Topology& topology, std::span<const Device> devices);

}  // namespace overlap::validation
