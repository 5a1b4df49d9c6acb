// A graph loaded on the GPUs of a session.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cuda/collective_pieces.hpp"
#include "cuda/device/session.hpp"
#include "cuda/device/tile_launch.hpp"

namespace overlap::gpu {

// What the steps of a program share: addresses, streams, events, flags.
class Machine {
 public:
  Machine(Session& session, const OpGraph& graph, const LaunchPlan& plan);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  [[nodiscard]] char* address(BufferId b, std::uint64_t offset = 0) const {
    const Allocation& a = plan.buffers[b.index()];
    return arenas_[a.gpu].get() + a.offset + offset;
  }
  [[nodiscard]] char* address(const Slice& s) const;
  [[nodiscard]] std::uint64_t pitch(const Slice& s) const { return graph.buffer(s.buffer).cols; }  // elements
  [[nodiscard]] gpuStream_t stream(LaneId lane) const { return streams_[lane.index()]; }
  [[nodiscard]] std::uint32_t gpu(LaneId lane) const { return plan.streams[lane.index()].gpu; }
  [[nodiscard]] std::uint32_t ordinal(LaneId lane) const { return ordinals_[lane.index()]; }
  [[nodiscard]] bool used(LaneId lane) const { return used_[lane.index()]; }
  [[nodiscard]] std::uint32_t* flags(std::uint32_t gpu) const;
  void wait(LaneId lane, const std::vector<Signal>& signals) const;
  void complete(LaneId lane, const Completion& done) const;
  void use(LaneId lane) const { check(gpuSetDevice(static_cast<int>(gpu(lane))), "cudaSetDevice"); }
  void raise(LaneId lane, std::uint32_t to, std::uint32_t flag) const;
  // An event without timing on the lane's GPU, owned here.
  gpuEvent_t event(std::uint32_t gpu);

  Session& session;
  OpGraph graph;
  LaunchPlan plan;
  std::uint32_t epoch = 0;

 private:
  std::vector<Memory> arenas_;
  std::vector<Memory> flags_;
  std::vector<gpuStream_t> streams_;     // by LaneId
  std::vector<std::uint32_t> ordinals_;  // by LaneId: place among the lanes of its GPU
  std::vector<bool> used_;               // by LaneId: some op runs there
  std::vector<gpuEvent_t> events_;       // by index of the plan
  std::vector<gpuEvent_t> owned_;
};

// What an op does between its waits and its completion. Made once, launched many times.
struct Work {
  std::function<void()> launch;
  std::string choice;  // algorithm, for Gemms
  std::uint32_t launches = 1;
  std::shared_ptr<TileLaunch> tiles;  // of a fused Gemm
};
Work make_work(Machine& machine, const PlannedOp& op);
Work make_collective(Machine& machine, const PlannedOp& op);
Work make_codec(Machine& machine, const PlannedOp& op);
// Pieces of work that ops and collectives share.
std::vector<DeviceSum> device_sums(const Machine& machine, const std::vector<cuda::SumPiece>& sums);
std::function<void()> copy_kernel(Machine& machine, LaneId lane, const std::vector<cuda::CopyPiece>& pieces,
                                  std::uint32_t ctas);
void engine_copies(const Machine& machine, LaneId lane, const std::vector<cuda::CopyPiece>& pieces);
// By GPU element type; throws InputError for types that kernels do not add or fill.
Element element_of(DType t);

gpuEvent_t timing_event(std::uint32_t gpu);

class Program : public GpuProgram {
 public:
  Program(Session& session, const OpGraph& graph, const LaunchPlan& plan);
  ~Program() override;
  void fill(std::uint64_t seed) override;
  void warm() override;
  Seconds run(Seconds idle) override;
  GpuSpans spans(Seconds idle) override;
  GpuLoad repeat(Seconds duration) override;
  double error() override;
  [[nodiscard]] std::vector<GemmChoice> gemms() const override;
  [[nodiscard]] std::vector<std::string> notes() const override { return machine_.plan.notes; }

 private:
  struct Timing {
    gpuEvent_t begin = nullptr;
    gpuEvent_t end = nullptr;
  };
  void enqueue(bool timed);
  void gate(std::uint32_t value);
  void join(gpuEvent_t end);
  Seconds gated_run(Seconds idle, bool timed);
  [[nodiscard]] Seconds since_release(gpuEvent_t event, std::uint32_t gpu) const;
  void read_tiles(GpuSpans& out, const std::vector<Seconds>& shift) const;
  void note_clocks();
  std::vector<Seconds> clock_shift(Seconds& error);

  Machine machine_;
  std::vector<Work> work_;                   // by step
  std::vector<std::vector<Timing>> timing_;  // by step, member; made on the first timed run
  std::vector<gpuEvent_t> released_;         // by GPU
  std::vector<gpuEvent_t> finished_;         // by LaneId
  gpuEvent_t end_ = nullptr;
  std::vector<Memory> stamps_;      // by GPU: one per lane
  std::vector<LaneId> first_lane_;  // by GPU: the lane that carries the release mark
  std::uint64_t seed_ = 1;
};

}  // namespace overlap::gpu
