// Static persistent kernels: worker i runs tiles i, i+W, ...; a cohort is a run of workers that march in step.
#include <algorithm>

#include "engine/run.hpp"

namespace overlap::engine {

// The cohort's workers turn to their next tiles.
void Run::go_on_static(std::uint32_t cohort) {
  std::vector<std::uint32_t> more{cohort};
  for (std::size_t n = 0; n < more.size(); ++n) place_static(more[n], more);
}

// Cuts the cohort to workers whose next tiles are of one part (the rest go to `more`), lets go those that are through,
// and runs it or parks it.
void Run::place_static(std::uint32_t index, std::vector<std::uint32_t>& more) {
  Kernel& k = kernels_[cohorts_[index].kernel];
  Cohort c = cohorts_[index];
  const std::uint32_t width = k.workers;
  const std::uint64_t first = c.worker + std::uint64_t{c.wave} * width;
  const std::uint32_t busy =
      first >= k.tiles ? 0 : static_cast<std::uint32_t>(std::min<std::uint64_t>(c.count, k.tiles - first));
  if (busy < c.count) {
    take_back(k, c.count - busy);
    if (busy == 0) {
      drop_cohort(index);
      return;
    }
    c.count = busy;
  }
  if (c.part_end == 0) {
    c.part = k.first_part;
    c.part_end = part_tiles(k.op)[0];
  }
  while (c.part_end <= first) c.part_end += part_tiles(k.op)[++c.part - k.first_part];
  if (first + c.count > c.part_end) {
    const auto here = static_cast<std::uint32_t>(c.part_end - first);
    const std::uint32_t rest = new_cohort(cohorts_[index].kernel);
    cohorts_[rest].count = c.count - here;
    cohorts_[rest].worker = c.worker + here;
    cohorts_[rest].wave = c.wave;
    more.push_back(rest);
    c.count = here;
  }
  cohorts_[index].count = c.count;
  cohorts_[index].part = c.part;
  cohorts_[index].part_end = c.part_end;
  if (is_ready(c.part)) run_static(index);  // else it stays parked
}

void Run::run_static(std::uint32_t index) {
  Cohort& c = cohorts_[index];
  const Kernel& k = kernels_[c.kernel];
  const TileDemand& d = tile_demand(k.op);
  const std::uint64_t last = c.worker + c.count - 1 + std::uint64_t{c.wave} * k.workers;
  c.waves = static_cast<std::uint32_t>((c.part_end - 1 - last) / k.workers) + 1;
  const std::uint32_t full = k.tiles / d.workers;  // waves before a partly filled one
  const bool partial = c.wave >= full;
  if (!partial) c.waves = std::min(c.waves, full - c.wave);
  start_wave(index, partial ? d.last_wave : 1.0);
}

void Run::unpark(std::uint32_t kernel, std::uint32_t part) {
  std::uint32_t next = kNone;
  for (std::uint32_t c = kernels_[kernel].cohorts; c != kNone; c = next) {
    next = cohorts_[c].next;
    if (cohorts_[c].state == CohortState::parked && cohorts_[c].part == part) run_static(c);
  }
}

}  // namespace overlap::engine
