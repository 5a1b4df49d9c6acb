#include "cuda/device/program.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "overlap/error.hpp"

namespace overlap::gpu {
namespace {

constexpr std::size_t kClockWindow = 5;

gpuEvent_t timing_event(std::uint32_t gpu) {
  check(gpuSetDevice(static_cast<int>(gpu)), "cudaSetDevice");
  gpuEvent_t e = nullptr;
  check(gpuEventCreateWithFlags(&e, gpuEventDefault), "cudaEventCreateWithFlags");
  return e;
}

}  // namespace

Program::Program(Session& session, const OpGraph& graph, const LaunchPlan& plan) : machine_(session, graph, plan) {
  for (const PlannedOp& op : machine_.plan.order) {
    const ForOp name(machine_.graph.text(machine_.graph.op(op.op).label));
    work_.push_back(make_work(machine_, op));
  }
  first_lane_.assign(session.gpus(), LaneId());
  for (const PlannedStream& lane : machine_.plan.streams) {
    finished_.push_back(machine_.event(lane.gpu));
    if (machine_.used(lane.lane) && !first_lane_[lane.gpu].valid()) first_lane_[lane.gpu] = lane.lane;
  }
  for (std::uint32_t g = 0; g < session.gpus(); ++g) {
    released_.push_back(timing_event(g));
    stamps_.emplace_back(g, (graph.lanes().size() + 1) * sizeof(std::uint64_t));
  }
  end_ = timing_event(0);
}

Program::~Program() {
  for (std::uint32_t g = 0; g < released_.size(); ++g) (void)gpuEventDestroy(released_[g]);
  if (end_ != nullptr) (void)gpuEventDestroy(end_);
  for (const auto& step : timing_) {
    for (const Timing& t : step) {
      (void)gpuEventDestroy(t.begin);
      (void)gpuEventDestroy(t.end);
    }
  }
}

void Program::enqueue(bool timed) {
  if (++machine_.epoch >= Session::kNumbers) throw InputError("", "a loaded program runs at most 65535 times");
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const PlannedOp& op = machine_.plan.order[i];
    const ForOp name(machine_.graph.text(machine_.graph.op(op.op).label));
    for (std::size_t m = 0; m < op.members.size(); ++m) {
      machine_.use(op.members[m].lane);
      machine_.wait(op.members[m].lane, op.members[m].waits);
      if (timed) check(gpuEventRecord(timing_[i][m].begin, machine_.stream(op.members[m].lane)), "cudaEventRecord");
    }
    work_[i].launch();
    for (std::size_t m = 0; m < op.members.size(); ++m) {
      machine_.use(op.members[m].lane);
      if (timed) check(gpuEventRecord(timing_[i][m].end, machine_.stream(op.members[m].lane)), "cudaEventRecord");
      machine_.complete(op.members[m].lane, op.members[m].done);
    }
  }
}

void Program::warm() {
  enqueue(false);
  machine_.session.wait_for_all();
}

void Program::gate(std::uint32_t value) {
  for (const PlannedStream& lane : machine_.plan.streams) {
    if (!machine_.used(lane.lane)) continue;
    machine_.use(lane.lane);
    auto* stamp = reinterpret_cast<std::uint64_t*>(stamps_[lane.gpu].get()) + lane.lane.index();
    launch_gate(machine_.session.gate_flag(), value, stamp, machine_.stream(lane.lane));
    if (first_lane_[lane.gpu] == lane.lane) {
      check(gpuEventRecord(released_[lane.gpu], machine_.stream(lane.lane)), "cudaEventRecord");
    }
  }
}

// Joins every stream on the lane of GPU 0 that carries the release mark.
void Program::join() {
  const LaneId last = first_lane_[0];
  for (const PlannedStream& lane : machine_.plan.streams) {
    if (!machine_.used(lane.lane) || lane.lane == last) continue;
    machine_.use(lane.lane);
    check(gpuEventRecord(finished_[lane.lane.index()], machine_.stream(lane.lane)), "cudaEventRecord");
  }
  machine_.use(last);
  for (const PlannedStream& lane : machine_.plan.streams) {
    if (!machine_.used(lane.lane) || lane.lane == last) continue;
    check(gpuStreamWaitEvent(machine_.stream(last), finished_[lane.lane.index()], 0), "cudaStreamWaitEvent");
  }
  check(gpuEventRecord(end_, machine_.stream(last)), "cudaEventRecord");
}

Seconds Program::gated_run(Seconds idle, bool timed) {
  if (!first_lane_[0].valid()) throw InputError("", "the graph runs nothing on GPU 0, whose clock times the run");
  constexpr int kTries = 3;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    machine_.session.flush_caches();
    std::this_thread::sleep_for(std::chrono::duration<double>(idle.si()));
    const std::uint32_t value = machine_.session.next_gate();
    gate(value);
    enqueue(timed);
    join();
    machine_.session.open_gate(value);
    check(gpuStreamSynchronize(machine_.stream(first_lane_[0])), "cudaStreamSynchronize");
    std::uint64_t stamp = 0;
    check(gpuMemcpy(&stamp, stamps_[0].get() + first_lane_[0].index() * sizeof stamp, sizeof stamp, gpuMemcpyDefault),
          "cudaMemcpy");
    if (stamp == 0) continue;  // the gate gave up: some launch waited for the GPU, as a module load does
    if (timed) note_clocks();
    float ms = 0;
    check(gpuEventElapsedTime(&ms, released_[0], end_), "cudaEventElapsedTime");
    return Seconds(static_cast<double>(ms) * 1e-3);
  }
  fail("release of the streams", "a launch waited for the GPU in every try",
       "the graph launches more than the queues hold: choose fewer pieces");
}

Seconds Program::run(Seconds idle) {
  return gated_run(idle, false);
}

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

void Program::read_tiles(Timeline& timeline, const std::vector<Seconds>& shift) const {
  for (std::size_t i = 0; i < work_.size(); ++i) {
    if (work_[i].tiles == nullptr) continue;
    const OpId op = machine_.plan.order[i].op;
    const std::uint32_t gpu = work_[i].tiles->gpu();
    std::uint64_t release = 0;
    check(gpuMemcpy(&release, stamps_[gpu].get() + first_lane_[gpu].index() * sizeof release, sizeof release,
                    gpuMemcpyDefault),
          "cudaMemcpy");
    const auto ends = work_[i].tiles->part_ends();
    const std::uint32_t first = std::get<Gemm>(machine_.graph.op(op).work).parts.begin;
    for (std::size_t p = 0; p < ends.size(); ++p) {
      const auto ns = static_cast<double>(static_cast<std::int64_t>(ends[p] - release));
      timeline.part_ends[first + p] = Seconds(ns * 1e-9) + shift[gpu];
    }
  }
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
  read_tiles(out.timeline, shift);
  return out;
}

std::vector<GemmChoice> Program::gemms() const {
  std::vector<GemmChoice> out;
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const OpId op = machine_.plan.order[i].op;
    if (work_[i].choice.empty() || machine_.graph.device_of(machine_.graph.op(op)) != DeviceId(0U)) continue;
    const auto& gemm = std::get<Gemm>(machine_.graph.op(op).work);
    out.push_back({op, gemm.m, gemm.n, gemm.k, work_[i].choice, work_[i].launches});
  }
  return out;
}

}  // namespace overlap::gpu
