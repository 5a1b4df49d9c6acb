// Graphs, demands and timelines made by hand: two devices, a link each way, a copy engine lane and a GEMM lane a
// device.
#pragma once

#include <array>
#include <vector>

#include "overlap/analysis.hpp"
#include "overlap/graph_builder.hpp"

namespace hand {
using namespace overlap;

struct Hand {
  OpGraph graph;
  Demands demands;
  Resources resources;
  Timeline timeline;
  std::vector<Device> devices;
  std::vector<CutLimit> cuts;
  std::vector<Seconds> undivided;
  [[nodiscard]] RunView view() const { return {graph, demands, resources, timeline, devices, cuts, undivided}; }
};

inline Demand flow(Demands& d, Bytes work, ResourceId r, Seconds latency) {
  Demand out;
  out.kind = DemandKind::fluid;
  out.latency = latency;
  out.work = work;
  out.uses.begin = static_cast<std::uint32_t>(d.uses.size());
  d.uses.push_back({r, 1.0});
  out.uses.end = static_cast<std::uint32_t>(d.uses.size());
  return out;
}
inline Demand fixed(Seconds time) {
  Demand out;
  out.latency = time;
  return out;
}

// Device 1 sends its shard (1000 x 1000 bytes over 1 GB/s: 1 ms) to device 0, which then multiplies 2000 x 100 x 1000
// (0.4 GFLOP at 1 TFLOP/s: 0.4 ms; the model says 0.5 ms). Launch of the GEMM costs 10 us, the copy starts after 5 us.
inline Hand gather_then_gemm() {
  Hand h;
  GraphBuilder b(2);
  const BufferId x0 = b.buffer(DeviceId(0U), 2000, 1000, DType::u8, BufferRole::scratch, "x all");
  const BufferId x1 = b.buffer(DeviceId(1U), 1000, 1000, DType::u8, BufferRole::input, "x shard");
  const BufferId w = b.buffer(DeviceId(0U), 1000, 100, DType::u8, BufferRole::weight, "w");
  const BufferId y = b.buffer(DeviceId(0U), 2000, 100, DType::u8, BufferRole::output, "y");
  const LaneId copies = b.lane(DeviceId(1U), 1, "copies");
  const LaneId gemms = b.lane(DeviceId(0U), 0, "gemms");
  const OpId copy = b.transfer(copies, {}, std::array{b.all(x1)}, std::array{b.rows(x0, 1000, 1000)},
                               {.deps = {}, .label = b.label("push {} to {}", 1, 0)});
  const std::array deps{Dep{copy, {}}};
  Gemm g;
  g.m = 2000;
  g.n = 100;
  g.k = 1000;
  g.dtype = DType::u8;
  b.gemm(gemms, g, std::array{b.all(x0)}, std::array{b.all(w)}, std::array{b.all(y)},
         {.deps = deps, .label = b.label("gemm")});
  h.graph = std::move(b).finish();
  h.resources.fluids = {{"1>0", ResourceKind::link, Bandwidth(1e9)}, {"0>1", ResourceKind::link, Bandwidth(1e9)}};
  h.demands.ops = {flow(h.demands, Bytes(1e6), ResourceId(0U), Seconds(1e-6)), fixed(Seconds(5e-4))};
  Device d;
  d.name = "toy";
  d.peak[static_cast<std::size_t>(DType::u8)] = FlopRate(1e12);
  h.devices = {d, d};
  h.undivided = {Seconds(5e-4), Seconds(5e-4)};
  h.cuts = {{"around gpu 0", {true, false}, Bandwidth(1e9), Bandwidth(0.5e9)}};
  h.timeline.ops = {{Seconds(5e-6), Seconds(5e-6), Seconds(1.006e-3), Seconds(5e-6)},
                    {Seconds(1.016e-3), Seconds(1.016e-3), Seconds(1.536e-3), Seconds(1.016e-3)}};
  h.timeline.part_ends = {Seconds(1.536e-3)};
  h.timeline.makespan = Seconds(1.540e-3);
  return h;
}

}  // namespace hand
