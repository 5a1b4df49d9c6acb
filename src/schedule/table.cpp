// All schedules, one line each, in the order in which reports list them.
#include <fmt/format.h>

#include "overlap/error.hpp"
#include "overlap/schedule.hpp"

// NAME stands for `ScheduleInfo NAME_schedule()` of the file NAME.cpp.
// clang-format off
#define OVERLAP_SCHEDULES(NAME) \
  NAME(serial) \
  NAME(interdecom) \
  NAME(intrafusion) \
  NAME(ficco) \
  NAME(shard_p2p) \
  NAME(commfuse) \
  NAME(looped) \
  NAME(hierarchical) \
  NAME(collectives) \
  NAME(flux) \
  NAME(tile_signal) \
  NAME(async_tp) \
  NAME(domino) \
  NAME(wave_groups) \
  NAME(x_stage) \
  NAME(bulk) \
  NAME(compressed) \
  NAME(distributed_gemm) \
  /* one line a schedule */
// clang-format on

namespace overlap {

#define OVERLAP_DECLARE(name) ScheduleInfo name##_schedule();
OVERLAP_SCHEDULES(OVERLAP_DECLARE)
#undef OVERLAP_DECLARE

std::span<const ScheduleInfo> schedules() {
#define OVERLAP_CALL(name) name##_schedule(),
  static const std::vector<ScheduleInfo> table = {OVERLAP_SCHEDULES(OVERLAP_CALL)};
#undef OVERLAP_CALL
  return table;
}

const ScheduleInfo& find_schedule(std::string_view name) {
  std::vector<std::string> names;
  for (const ScheduleInfo& s : schedules()) {
    if (s.name == name) return s;
    names.emplace_back(s.name);
  }
  const std::string near = nearest_name(name, names);
  std::string known;
  for (const std::string& n : names) known += (known.empty() ? "" : ", ") + n;
  throw InputError("", fmt::format("no schedule '{}'{}; known: {}", name,
                                   near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near), known));
}

}  // namespace overlap
