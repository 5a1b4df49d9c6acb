// What a program's runs are read for: spans of ops and tiles on one clock, times under load.
#include <algorithm>
#include <chrono>

#include "cuda/device/program.hpp"
#include "overlap/error.hpp"

namespace overlap::gpu {
namespace {

constexpr std::size_t kClockWindow = 5;

}  // namespace

Seconds Program::since_release(gpuEvent_t event, std::uint32_t gpu) const {
  float ms = 0;
  check(gpuEventElapsedTime(&ms, released_[gpu], event), "cudaEventElapsedTime");
  return Seconds(static_cast<double>(ms) * 1e-3);
}

// Difference of each GPU's clock from GPU 0's at this run's release.
void Program::note_clocks() {
  auto& history = machine_.session.clock_offsets;
  std::vector<std::uint64_t> stamp(history.size(), 0);
  for (std::size_t g = 0; g < history.size(); ++g) {
    if (!first_lane_[g].valid()) continue;
    check(gpuMemcpy(&stamp[g], stamps_[g].get() + first_lane_[g].index() * sizeof stamp[g], sizeof stamp[g],
                    gpuMemcpyDefault),
          "cudaMemcpy");
    history[g].push_back(static_cast<double>(static_cast<std::int64_t>(stamp[g] - stamp[0])) * 1e-9);
    // The clocks drift by about a microsecond a second: only the latest differences count.
    if (history[g].size() > kClockWindow) history[g].erase(history[g].begin());
  }
}

// How much later than GPU 0 each GPU was released in the last run: its clock difference against the usual one.
std::vector<Seconds> Program::clock_shift(Seconds& error) {
  const auto& history = machine_.session.clock_offsets;
  std::vector<Seconds> shift(history.size());
  error = Seconds(0);
  for (std::size_t g = 1; g < history.size(); ++g) {
    if (!first_lane_[g].valid() || history[g].empty()) continue;
    std::vector<double> sorted = history[g];
    std::sort(sorted.begin(), sorted.end());
    shift[g] = Seconds(history[g].back() - sorted[sorted.size() / 2]);
    error = std::max(error, Seconds(std::max(sorted.back() - sorted.front(), 1e-6)));  // the clocks' own tick
  }
  return shift;
}

void Program::read_tiles(GpuSpans& out, const std::vector<Seconds>& shift) const {
  for (std::size_t i = 0; i < work_.size(); ++i) {
    if (work_[i].tiles == nullptr) continue;
    const OpId op = machine_.plan.order[i].op;
    const std::uint32_t gpu = work_[i].tiles->gpu();
    std::uint64_t release = 0;
    check(gpuMemcpy(&release, stamps_[gpu].get() + first_lane_[gpu].index() * sizeof release, sizeof release,
                    gpuMemcpyDefault),
          "cudaMemcpy");
    const auto since = [&](std::uint64_t clock) {
      const auto ns = static_cast<double>(static_cast<std::int64_t>(clock - release));
      return Seconds(ns * 1e-9) + shift[gpu];
    };
    const auto ends = work_[i].tiles->part_ends();
    const std::uint32_t first = std::get<Gemm>(machine_.graph.op(op).work).parts.begin;
    for (std::size_t p = 0; p < ends.size(); ++p) out.timeline.part_ends[first + p] = since(ends[p]);
    TileTimes tiles{op, work_[i].tiles->ctas(), work_[i].tiles->tile().rows, work_[i].tiles->tile().cols, {}};
    for (const std::uint64_t clock : work_[i].tiles->tile_ends()) tiles.ends.push_back(since(clock));
    out.tiles.push_back(std::move(tiles));
  }
}

GpuLoad Program::repeat(Seconds duration) {
  constexpr std::size_t kAhead = 3;  // runs in the queues behind the one under way
  const LaneId timer = first_lane_[0];
  if (!timer.valid()) throw InputError("", "the graph runs nothing on GPU 0, whose clock times the run");
  std::vector<gpuEvent_t> marks;  // marks[i]: run i begins where run i - 1 ends
  for (std::size_t i = 0; i < kAhead + 2; ++i) marks.push_back(timing_event(0));
  const auto mark = [&](std::size_t run) { return marks[run % marks.size()]; };
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto start = now();
  std::chrono::duration<double> waited(0);
  GpuLoad out;
  Seconds at;
  machine_.use(timer);
  check(gpuEventRecord(mark(0), machine_.stream(timer)), "cudaEventRecord");
  std::size_t launched = 0;
  std::size_t read = 0;
  while (true) {
    const bool more =
        std::chrono::duration<double>(now() - start).count() < duration.si() && machine_.epoch + 64 < Session::kNumbers;
    if (!more && read == launched) break;
    if (more) {
      for (const PlannedStream& lane : machine_.plan.streams) {
        if (!machine_.used(lane.lane) || lane.lane == timer) continue;
        machine_.use(lane.lane);
        check(gpuStreamWaitEvent(machine_.stream(lane.lane), mark(launched), 0), "cudaStreamWaitEvent");
      }
      enqueue(false);
      join(mark(++launched));
      if (launched - read <= kAhead) continue;
    }
    const auto before = now();
    check(gpuEventSynchronize(mark(read + 1)), "cudaEventSynchronize");
    waited += now() - before;
    float ms = 0;
    check(gpuEventElapsedTime(&ms, mark(read), mark(read + 1)), "cudaEventElapsedTime");
    ++read;
    out.times.emplace_back(static_cast<double>(ms) * 1e-3);
    at = at + out.times.back();
    out.ends.push_back(at);
  }
  out.host_waits = waited / (now() - start);
  for (const gpuEvent_t e : marks) (void)gpuEventDestroy(e);
  return out;
}

GpuSpans Program::spans(Seconds idle) {
  if (timing_.empty()) {
    for (const PlannedOp& op : machine_.plan.order) {
      timing_.emplace_back();
      for (const PlannedMember& m : op.members) {
        const std::uint32_t gpu = machine_.gpu(m.lane);
        timing_.back().push_back({timing_event(gpu), timing_event(gpu)});
      }
    }
  }
  GpuSpans out;
  for (std::size_t i = 1; i < kClockWindow; ++i) gated_run(Seconds(0), true);  // for the clocks
  out.timeline.makespan = gated_run(idle, true);
  const std::vector<Seconds> shift = clock_shift(out.clock_error);
  out.timeline.ops.resize(machine_.graph.ops().size());
  out.timeline.part_ends.resize(machine_.graph.parts().size());
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const PlannedOp& op = machine_.plan.order[i];
    OpTimes& t = out.timeline.ops[op.op.index()];
    for (std::size_t m = 0; m < op.members.size(); ++m) {
      const std::uint32_t gpu = machine_.gpu(op.members[m].lane);
      const Seconds begin = since_release(timing_[i][m].begin, gpu) + shift[gpu];
      const Seconds end = since_release(timing_[i][m].end, gpu) + shift[gpu];
      t.admitted = m == 0 ? begin : std::min(t.admitted, begin);
      t.begin = m == 0 ? begin : std::max(t.begin, begin);
      t.end = m == 0 ? end : std::max(t.end, end);
      if (op.members.size() > 1) {
        out.timeline.members.push_back({op.op, machine_.graph.lane(op.members[m].lane).device, begin, begin});
      }
    }
    t.ready = t.begin;
    if (const auto* gemm = std::get_if<Gemm>(&machine_.graph.op(op.op).work)) {
      for (std::uint32_t p = gemm->parts.begin; p < gemm->parts.end; ++p) out.timeline.part_ends[p] = t.end;
    }
  }
  std::stable_sort(out.timeline.members.begin(), out.timeline.members.end(),
                   [](const MemberTimes& a, const MemberTimes& b) { return a.op < b.op; });
  read_tiles(out, shift);
  return out;
}

}  // namespace overlap::gpu
