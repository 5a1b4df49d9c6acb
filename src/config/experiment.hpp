// Parts of the reader of experiments that have files of their own.
#pragma once

#include <vector>

#include "config/reader.hpp"
#include "overlap/config.hpp"

namespace overlap::config {

inline constexpr std::size_t kMostWorkloads = 100000;
inline constexpr std::size_t kMostRequests = 100000;

Pattern read_pattern(const Cursor& at);
// Appends the workloads of one layer; `outer` has what the whole file says.
void read_layer(const Cursor& at, const Object* outer, std::vector<Workload>& out);

std::vector<ScheduleRequest> read_schedules(const Cursor& at);
CostOptions read_cost(const Cursor& at);

// An experiment that is a JSON value already; `name` stands in messages.
Experiment experiment_of(Value root, const std::string& name);

}  // namespace overlap::config
