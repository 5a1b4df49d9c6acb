#include "cuda/device/program.hpp"

#include <chrono>
#include <thread>

#include "overlap/error.hpp"

namespace overlap::gpu {
gpuEvent_t timing_event(std::uint32_t gpu) {
  check(gpuSetDevice(static_cast<int>(gpu)), "cudaSetDevice");
  gpuEvent_t e = nullptr;
  check(gpuEventCreateWithFlags(&e, gpuEventDefault), "cudaEventCreateWithFlags");
  return e;
}

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
void Program::join(gpuEvent_t end) {
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
  check(gpuEventRecord(end, machine_.stream(last)), "cudaEventRecord");
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
    join(end_);
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
