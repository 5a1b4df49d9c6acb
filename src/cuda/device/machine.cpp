#include <algorithm>

#include "cuda/device/program.hpp"
#include "overlap/error.hpp"

namespace overlap::gpu {

Machine::Machine(Session& s, const OpGraph& g, const LaunchPlan& p) : session(s), graph(g), plan(p) {
  if (plan.map.gpus() > session.gpus()) throw InputError("", "the plan uses more GPUs than the session opened");
  for (std::uint32_t i = 0; i < session.gpus(); ++i) {
    arenas_.emplace_back(i, i < plan.arenas.size() ? std::max<std::uint64_t>(plan.arenas[i], 256) : 256);
    flags_.emplace_back(i, std::max(1U, plan.flags) * sizeof(std::uint32_t));
    check(gpuMemset(flags_[i].get(), 0, flags_[i].bytes()), "cudaMemset");
  }
  used_.assign(graph.lanes().size(), false);
  std::vector<bool> calls_library(graph.lanes().size(), false);
  for (const PlannedOp& op : plan.order) {
    for (const PlannedMember& m : op.members) {
      used_[m.lane.index()] = true;
      if (op.how == Execution::library_collective) calls_library[m.lane.index()] = true;
    }
  }
  std::vector<std::uint32_t> count(session.gpus(), 0);
  for (const PlannedStream& lane : plan.streams) {
    const std::uint32_t ordinal = count[lane.gpu]++;
    const bool raise = session.options().collective_priority && calls_library[lane.lane.index()];
    ordinals_.push_back(ordinal);
    streams_.push_back(session.stream(lane.gpu, lane.priority + (raise ? 100 : 0), ordinal));
  }
  events_.assign(plan.events, nullptr);
  const auto make = [&](const Completion& done, LaneId lane) {
    if (done.event != kNoSignal) events_[done.event] = event(gpu(lane));
  };
  for (const PlannedOp& op : plan.order) {
    for (const PlannedMember& m : op.members) make(m.done, m.lane);
    if (const auto* gemm = std::get_if<Gemm>(&graph.op(op.op).work)) {
      for (std::uint32_t part = gemm->parts.begin; part < gemm->parts.end; ++part) {
        make(plan.parts[part].done, op.members[0].lane);
      }
    }
  }
}

Machine::~Machine() {
  for (const gpuEvent_t e : owned_) (void)gpuEventDestroy(e);
}

char* Machine::address(const Slice& s) const {
  const Buffer& b = graph.buffer(s.buffer);
  const auto size = static_cast<std::uint64_t>(size_of(b.dtype).si());
  return address(s.buffer, (std::uint64_t{s.row} * b.cols + s.col) * size);
}

std::uint32_t* Machine::flags(std::uint32_t gpu) const {
  return reinterpret_cast<std::uint32_t*>(flags_[gpu].get());
}

gpuEvent_t Machine::event(std::uint32_t gpu) {
  check(gpuSetDevice(static_cast<int>(gpu)), "cudaSetDevice");
  gpuEvent_t e = nullptr;
  check(gpuEventCreateWithFlags(&e, gpuEventDisableTiming), "cudaEventCreateWithFlags");
  owned_.push_back(e);
  return e;
}

void Machine::wait(LaneId lane, const std::vector<Signal>& signals) const {
  for (const Signal& s : signals) {
    if (s.kind == Signal::Kind::event) {
      check(gpuStreamWaitEvent(stream(lane), events_[s.index], 0), "cudaStreamWaitEvent");
    } else {
      const auto at = reinterpret_cast<CUdeviceptr>(flags(gpu(lane)) + s.index);
      check(driver().wait_value(stream(lane), at, epoch, CU_STREAM_WAIT_VALUE_GEQ), "cuStreamWaitValue32");
    }
  }
}

// A stream writes flags of its own GPU; those of another it copies there, which takes no SM either.
void Machine::raise(LaneId lane, std::uint32_t to, std::uint32_t flag) const {
  std::uint32_t* at = flags(to) + flag;
  if (to == gpu(lane)) {
    const auto address = reinterpret_cast<CUdeviceptr>(at);
    check(driver().write_value(stream(lane), address, epoch, CU_STREAM_WRITE_VALUE_DEFAULT), "cuStreamWriteValue32");
    return;
  }
  const std::uint32_t* number = session.numbers(gpu(lane)) + epoch;
  check(gpuMemcpyPeerAsync(at, static_cast<int>(to), number, static_cast<int>(gpu(lane)), sizeof(std::uint32_t),
                           stream(lane)),
        "cudaMemcpyPeerAsync");
}

void Machine::complete(LaneId lane, const Completion& done) const {
  if (done.event != kNoSignal) check(gpuEventRecord(events_[done.event], stream(lane)), "cudaEventRecord");
  if (done.flag == kNoSignal) return;
  for (std::uint32_t g = 0; g < session.gpus(); ++g) {
    if ((done.flag_gpus >> g & 1U) == 0) continue;
    raise(lane, g, done.flag);
  }
}

}  // namespace overlap::gpu
