// Cohorts: tiles of one part that start together. One flow of the solver when they have HBM traffic, else one event.
// Whole waves run as one cohort, which is cut at the next tile boundary when somebody wants its SMs.
#include <cmath>

#include "engine/run.hpp"

namespace overlap::engine {
namespace {
constexpr double kBoundary = 1e-9;  // share of a tile: nearer than this is the boundary itself
}

std::uint32_t Run::new_cohort(std::uint32_t kernel) {
  std::uint32_t c = 0;
  if (free_cohorts_.empty()) {
    c = static_cast<std::uint32_t>(cohorts_.size());
    cohorts_.emplace_back();
  } else {
    c = free_cohorts_.back();
    free_cohorts_.pop_back();
  }
  const std::uint32_t generation = cohorts_[c].generation;
  cohorts_[c] = Cohort();
  cohorts_[c].generation = generation;
  cohorts_[c].kernel = kernel;
  cohorts_[c].next = kernels_[kernel].cohorts;
  if (cohorts_[c].next != kNone) cohorts_[cohorts_[c].next].previous = c;
  kernels_[kernel].cohorts = c;
  return c;
}

void Run::drop_cohort(std::uint32_t c) {
  Cohort& gone = cohorts_[c];
  set_state(gone, CohortState::parked);
  ++gone.generation;
  if (gone.flow.valid()) cancel_flow(gone.flow);
  gone.flow = FlowId();
  if (gone.previous != kNone) {
    cohorts_[gone.previous].next = gone.next;
  } else {
    kernels_[gone.kernel].cohorts = gone.next;
  }
  if (gone.next != kNone) cohorts_[gone.next].previous = gone.previous;
  free_cohorts_.push_back(c);
}

void Run::set_state(Cohort& c, CohortState state) {
  if (!power_.empty() && (c.state == CohortState::running) != (state == CohortState::running)) {
    load_power(c, state == CohortState::running ? 1.0 : -1.0);
  }
  if (!load_.empty() && (c.state == CohortState::running) != (state == CohortState::running)) {
    load_device(c, state == CohortState::running);
  }
  c.state = state;
}

// What a tile is worth as a flow: its traffic, or its time where a power cap may stretch it; 0 = runs by the clock.
double Run::tile_work(const Cohort& c) const {
  const Kernel& k = kernels_[c.kernel];
  const TileDemand& d = tile_demand(k.op);
  if (c.tile_time <= 0.0) return 0.0;
  if (d.tile_traffic.si() > 0.0 && !demand(k.op).uses.empty()) return d.tile_traffic.si();
  return power_.empty() ? 0.0 : c.tile_time;
}

double Run::cohort_cap(const Cohort& c) {
  const double cap = c.count * tile_work(c) / c.tile_time;
  return power_.empty() ? cap : cap / stretch_of(c.kernel);
}

// Starts the waves of a cohort; a tile takes `factor` tile times.
void Run::start_wave(std::uint32_t index, double factor) {
  Cohort& c = cohorts_[index];
  set_state(c, CohortState::running);
  c.started = now_;
  c.tile_time = tile_demand(kernels_[c.kernel].op).tile_time.si() * factor;
  const double work = tile_work(c);
  if (work > 0.0) {
    run_tiles(index, static_cast<double>(c.count) * c.waves * work);
  } else {
    push(now_ + c.waves * c.tile_time, EventKind::cohort, index, c.generation);
  }
}

// Starts the flow of a cohort with this much work left.
void Run::run_tiles(std::uint32_t index, double work) {
  const Cohort& c = cohorts_[index];
  const std::uint32_t i = kernels_[c.kernel].op;
  const TileDemand& d = tile_demand(i);
  const auto uses = d.tile_traffic.si() > 0.0 ? uses_of(demand(i)) : std::span<const Use>();
  const double share = demand(i).share * c.count / d.workers;
  const FlowId flow = start_flow(FlowKind::cohort, index, {uses, share, Bandwidth(cohort_cap(c)), Bytes(work)});
  cohorts_[index].flow = flow;
}

// Warm-up or waves of a cohort are over.
void Run::end_cohort(std::uint32_t index) {
  const std::uint32_t kernel = cohorts_[index].kernel;
  const std::uint32_t count = cohorts_[index].count;
  const bool warming = cohorts_[index].state == CohortState::warming;
  ++cohorts_[index].generation;
  set_state(cohorts_[index], CohortState::parked);
  if (warming) {
    kernels_[kernel].warming -= count;
    if (kernels_[kernel].persistent) {
      go_on_static(index);
      return;
    }
    if (cohorts_[index].own) {
      // Alone, or nearly, tiles are faster.
      const bool alone = kernels_[kernel].held <= 2 * count;
      start_wave(index, alone ? tile_demand(kernels_[kernel].op).last_wave : 1.0);
      return;
    }
    drop_cohort(index);
    kernels_[kernel].idle += count;
    mark_kernel(kernel);
    return;
  }
  const std::uint32_t waves = cohorts_[index].waves;
  if (!kernels_[kernel].persistent && !cohorts_[index].own) kernels_[kernel].future -= count * (waves - 1);
  credit(kernel, cohorts_[index].part, count * waves);
  if (kernels_[kernel].unfinished == 0) {
    kernel_done(kernel);
  } else if (kernels_[kernel].persistent) {
    cohorts_[index].wave += waves;
    go_on_static(index);
  } else {
    drop_cohort(index);
    take_back(kernels_[kernel], count);
  }
}

// Cuts cohorts of several waves down to the wave that runs now; its later tiles are up for grabs again.
void Run::split_waves(std::uint32_t kernel) {
  std::uint32_t next = kNone;
  for (std::uint32_t index = kernels_[kernel].cohorts; index != kNone; index = next) {
    next = cohorts_[index].next;
    if (cohorts_[index].state != CohortState::running || cohorts_[index].waves < 2 || cohorts_[index].own) continue;
    const double left = waves_left(cohorts_[index]);
    if (left > kBoundary) {
      split_cohort(index, left);
      continue;
    }
    if (cohorts_[index].flow.valid()) cancel_flow(cohorts_[index].flow);  // it ends at this date anyway
    cohorts_[index].flow = FlowId();
    end_cohort(index);
    if (kernels_[kernel].unfinished == 0) return;
  }
}

double Run::waves_left(const Cohort& c) {
  if (c.flow.valid()) {
    const double wave = c.count * tile_work(c);
    return solver_->remaining(c.flow).si() / wave;
  }
  return c.tile_time > 0.0 ? c.waves - (now_ - c.started) / c.tile_time : 0.0;
}

void Run::split_cohort(std::uint32_t index, double left) {
  const Cohort c = cohorts_[index];
  const auto later = static_cast<std::uint32_t>(std::ceil(left - kBoundary)) - 1;
  const bool boundary = left - later >= 1.0 - kBoundary && later + 1 < c.waves;
  const std::uint32_t given_up = boundary ? later + 1 : later;
  const std::uint32_t done = c.waves - later - 1;
  Kernel& k = kernels_[c.kernel];
  k.future -= c.count * (c.waves - 1);
  k.unstarted += c.count * given_up;
  plan_.parts[c.part].unstarted += c.count * given_up;
  if (given_up > 0) open_part(c.kernel, c.part);
  cohorts_[index].waves = 1;
  cohorts_[index].started = c.started + done * c.tile_time;
  credit(c.kernel, c.part, c.count * done);
  if (boundary) {
    drop_cohort(index);
    take_back(kernels_[c.kernel], c.count);
    return;
  }
  if (given_up == 0) return;  // in its last wave: the flow or event that runs is right
  ++cohorts_[index].generation;
  if (c.flow.valid()) {
    const double wave = c.count * tile_work(c);
    cancel_flow(c.flow);
    run_tiles(index, (left - later) * wave);
  } else {
    push(c.started + (done + 1) * c.tile_time, EventKind::cohort, index, cohorts_[index].generation);
  }
}

}  // namespace overlap::engine
