// usage: bench_whole CASE [N]: a whole prediction, CPU time by stage: graph built, priced, simulated, summarised
// (phases, bounds, critical path, links, memory: what a row of `run` holds).
//   layer N      ring all-gather beside a fused GEMM whose parts wait for the shards, N devices (1024: 1.05 M
//   transfers) torus        2,048 chips, 8 x 16 x 16: one bidirectional looped-einsum layer on every ring of 16,
//   nothing folded allreduce N  ring all-reduce of N ranks in 4 chunks (1024: 8.4 M messages), built, priced and
//   simulated curve [N]    `layer` at 1e3 .. N ops (default 1e7): nanoseconds an op, and that over log2 of the ops
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "meter.hpp"
#include "overlap/analysis.hpp"
#include "overlap/config.hpp"
#include "overlap/cost.hpp"
#include "overlap/replicate.hpp"
#include "overlap/schedule.hpp"

namespace {

using namespace overlap;

class Stages {
 public:
  void end(const char* name) {
    const double now = bench::cpu_seconds();
    text_ += fmt::format(" {}={:.4f}", name, now - last_);
    last_ = now;
  }
  [[nodiscard]] double total() const { return last_ - first_; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  double first_ = bench::cpu_seconds();
  double last_ = first_;
  std::string text_;
};

Topology torus(std::vector<std::uint32_t> extents) {
  TopologyBuilder b("torus");
  std::uint32_t chips = 1;
  for (const std::uint32_t e : extents) chips *= e;
  for (std::uint32_t i = 0; i < chips; ++i) {
    Node n;
    n.name = fmt::format("chip{}", i);
    n.kind = NodeKind::tpu;
    n.transit = true;
    b.device(b.node(n));
  }
  std::uint32_t stride = 1;
  for (const std::uint32_t e : extents) {
    for (std::uint32_t i = 0; i < chips; ++i) {
      const std::uint32_t at = i / stride % e;
      if (at + 1 == e && e <= 2) continue;
      const std::uint32_t next = at + 1 < e ? i + stride : i - at * stride;
      b.link(NodeId(i), NodeId(next), LinkKind::ici, Bandwidth(45e9), 1.0, Seconds(1e-6));
    }
    stride *= e;
  }
  b.routing(RoutingPolicy::dimension_order, std::move(extents));
  return std::move(b).finish("bench");
}

// Equal shards of 64 tokens a rank; a part of the fused GEMM is one tile or a few.
Workload layer_of(std::uint32_t ranks) {
  Workload w;
  w.name = "layer";
  w.pattern = Pattern::ag_gemm;
  w.tokens = 128 * ranks;
  w.in = 4096;
  w.out = 256 * ranks;
  w.tp = ranks;
  return w;
}

// Everything that a row of `run` says, from one finished run.
double summarise(const RunView& view) {
  double sum = phases(view).total().si();
  for (const Bound& b : lower_bounds(view)) sum += b.time.si();
  sum += static_cast<double>(critical_path(view).size());
  for (const LinkUse& u : link_uses(view)) sum += u.busy.si();
  for (const Bytes b : peak_scratch(view)) sum += b.si();
  return sum + communication_time(view).si();
}

struct Size {
  std::size_t ops = 0;
  double seconds = 0;
};

void report(const char* what, std::uint32_t n, const OpGraph& graph, const Timeline& t, const Stages& s, double empty) {
  fmt::print("{} n={} ops={} parts={} events={}{} total={:.4f} rss_mb={:.0f} makespan={:.12g}\n", what, n,
             graph.ops().size(), graph.parts().size(), t.events, s.text(), s.total(),
             bench::status_kb("VmHWM") / 1024 - empty, t.makespan.si());
}

Size price_and_run(const char* what, std::uint32_t n, const OpGraph& graph, const Topology& topology,
                   std::span<const Device> devices, Stages& stages, double empty, bool summary) {
  const Machine machine{topology, devices};
  const Priced priced = price(graph, machine, {});
  stages.end("price");
  const Timeline timeline = simulate(graph, priced.demands, priced.resources, {});
  stages.end("simulate");
  if (summary) {
    const double sum = summarise({graph, priced.demands, priced.resources, timeline, devices});
    if (!std::isfinite(sum)) std::abort();
    stages.end("summarise");
  }
  report(what, n, graph, timeline, stages, empty);
  return {graph.ops().size(), stages.total()};
}

Size layer(std::uint32_t n, const Device& device, double empty) {
  const Topology topology = torus({n});
  const std::vector<Device> devices(n, device);
  const Workload w = layer_of(n);
  const ScheduleInfo& info = find_schedule("intrafusion");
  const Params params = complete_params(info, {});
  Stages stages;
  const OpGraph graph = build_layer(info, {w, topology, devices, params});
  stages.end("build");
  return price_and_run("layer", n, graph, topology, devices, stages, empty, true);
}

Size whole_torus(const Device& device, double empty) {
  constexpr std::uint32_t kX = 8, kY = 16, kZ = 16;
  Stages stages;
  const Topology topology = torus({kX, kY, kZ});
  const Topology ring = torus({kY});
  stages.end("topology");
  const std::vector<Device> devices(std::size_t{kX} * kY * kZ, device);
  std::vector<std::vector<DeviceId>> groups;
  for (std::uint32_t z = 0; z < kZ; ++z)
    for (std::uint32_t x = 0; x < kX; ++x) {
      groups.emplace_back();
      for (std::uint32_t y = 0; y < kY; ++y) groups.back().emplace_back((z * kY + y) * kX + x);
    }
  Workload w = layer_of(kY);
  w.tokens = 8192;
  w.in = 8192;
  w.out = 8192 * 4;
  const ScheduleInfo& info = find_schedule("looped_einsum");
  const Params params = complete_params(info, {{"direction", std::string("bi")}});
  const OpGraph graph = replicate(build_layer(info, {w, ring, devices, params}), groups, kX * kY * kZ);
  stages.end("build");
  return price_and_run("torus", kX * kY * kZ, graph, topology, devices, stages, empty, true);
}

// Step s of chunk c: a rank sends what it got in step s - 1, added up in the first half.
OpGraph all_reduce(std::uint32_t ranks, std::uint32_t chunks) {
  constexpr std::uint32_t kRows = 64;
  GraphBuilder b(ranks);
  std::vector<BufferId> held;
  std::vector<LaneId> lanes;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    held.push_back(b.buffer(DeviceId(r), ranks * chunks * kRows, 1024, DType::bf16, BufferRole::scratch, "sum"));
    for (std::uint32_t c = 0; c < chunks; ++c) lanes.push_back(b.lane(DeviceId(r), 1 + c, "comm"));
  }
  const Label label = b.label("chunk");
  const std::size_t messages = std::size_t{2} * (ranks - 1) * ranks * chunks;
  b.reserve({.ops = messages, .slices = 2 * messages, .deps = messages});
  std::vector<OpId> got(std::size_t{ranks} * chunks), sent(std::size_t{ranks} * chunks);
  for (std::uint32_t s = 0; s + 2 < 2 * ranks; ++s) {
    Transfer t;
    t.mover = Mover::sm;
    t.ctas = 1;
    t.accumulate = s + 1 < ranks;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const std::uint32_t next = r + 1 == ranks ? 0 : r + 1;
      for (std::uint32_t c = 0; c < chunks; ++c) {
        const std::uint32_t piece = (r + 2 * ranks - s) % ranks * chunks + c;
        const Dep dep{got[r * chunks + c], {}};
        const Slice from = b.rows(held[r], piece * kRows, kRows);
        const Slice to = b.rows(held[next], piece * kRows, kRows);
        sent[next * chunks + c] = b.transfer(lanes[r * chunks + c], t, {&from, 1}, {&to, 1},
                                             {.deps = {&dep, s > 0 ? 1U : 0U}, .label = label});
      }
    }
    got.swap(sent);
  }
  return std::move(b).finish();
}

Size whole_all_reduce(std::uint32_t ranks, const Device& device, double empty) {
  const Topology topology = torus({ranks});
  const std::vector<Device> devices(ranks, device);
  Stages stages;
  const OpGraph graph = all_reduce(ranks, 4);
  stages.end("build");
  return price_and_run("allreduce", ranks, graph, topology, devices, stages, empty, false);
}

void curve(double most, const Device& device, double empty) {
  for (double wanted = 1e3; wanted <= most * 1.01; wanted *= 10) {
    const auto n = static_cast<std::uint32_t>(std::lround(std::sqrt(wanted)));
    // Small ones again and again for a fifth of a second, the best counts.
    double best = 1e300;
    Size size;
    const double begin = bench::cpu_seconds();
    do {
      size = layer(n, device, empty);
      best = std::min(best, size.seconds);
    } while (bench::cpu_seconds() - begin < 0.2);
    const double ops = static_cast<double>(size.ops);
    fmt::print("curve ops={} seconds={:.6f} ns/op={:.1f} ns/op/log2={:.2f}\n", size.ops, best, 1e9 * best / ops,
               1e9 * best / ops / std::log2(ops));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string_view what = argv[1];
  const double number = argc > 2 ? std::strtod(argv[2], nullptr) : 0;
  const Device device = load_device(what == "allreduce" ? "h200" : "tpu_v4");
  const double empty = bench::status_kb("VmHWM") / 1024;
  if (what == "layer")
    layer(number > 0 ? static_cast<std::uint32_t>(number) : 1024, device, empty);
  else if (what == "torus")
    whole_torus(device, empty);
  else if (what == "allreduce")
    whole_all_reduce(number > 0 ? static_cast<std::uint32_t>(number) : 1024, device, empty);
  else if (what == "curve")
    curve(number > 0 ? number : 1e7, device, empty);
  else
    return 2;
  return 0;
}
