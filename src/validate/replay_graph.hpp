// Small graphs of measured schedules on two devices: what the measuring program enqueued, op by op.
#pragma once

#include "overlap/graph_builder.hpp"
#include "overlap/validate.hpp"

namespace overlap::validation {

// GEMMs of a contention record that are replayed; its time is their mean.
inline constexpr std::uint32_t kContendedGemms = 6;

// Throws InputError for a schedule that it does not know, naming the nearest.
OpGraph graph_of(const Record& r);

}  // namespace overlap::validation
