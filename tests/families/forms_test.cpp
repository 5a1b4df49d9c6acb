// Closed forms of schedules that need more than one kind of link or a tank, by simulation under ideal compute.
#include <fmt/format.h>

#include "boxes.hpp"
#include "catch.hpp"
#include "overlap/cost.hpp"

using namespace overlap;
using namespace families;

namespace {

std::vector<Device> devices(std::uint32_t count, double flops) {
  Device d;
  d.name = "plain";
  d.sms = 1U << 20;
  d.clock = Frequency(1e12);
  d.hbm = Bandwidth(1e30);
  d.copy_engines = 1U << 10;
  for (auto& peak : d.peak) peak = FlopRate(flops);
  return std::vector<Device>(count, d);
}

// Groups of `size`, a full mesh inside each, and a link of `cross` GB/s from each rank to its partner in the next
// group.
Box boxes(std::uint32_t groups, std::uint32_t size, double inside, double cross, double flops) {
  TopologyBuilder t("boxes");
  std::vector<NodeId> gpus;
  for (std::uint32_t g = 0; g < groups * size; ++g) {
    gpus.push_back(t.node(
        {.name = "gpu" + std::to_string(g), .kind = NodeKind::gpu, .transit = true, .injection = {}, .ejection = {}}));
    t.device(gpus[g], g / size);
  }
  const auto link = [&](std::uint32_t a, std::uint32_t b, LinkKind kind, double gb) {
    t.link(gpus[a], gpus[b], kind, Bandwidth(gb * 1e9), 1.0, Seconds());
  };
  for (std::uint32_t g = 0; g < groups; ++g) {
    for (std::uint32_t i = 0; i < size; ++i) {
      for (std::uint32_t j = i + 1; j < size; ++j) link(g * size + i, g * size + j, LinkKind::nvlink, inside);
    }
  }
  for (std::uint32_t g = 0; g < groups; ++g) {
    for (std::uint32_t h = g + 1; h < groups; ++h) {
      for (std::uint32_t i = 0; i < size; ++i) link(g * size + i, h * size + i, LinkKind::infiniband, cross);
    }
  }
  return {std::move(t).finish("boxes"), devices(groups * size, flops)};
}

struct Compared {
  double simulated;
  ClosedForm form;
};
Compared compare(const char* schedule, const Box& box, const Workload& w, const Given& given) {
  const ScheduleInfo& info = find_schedule(schedule);
  const Params params = complete_params(info, given);
  const ScheduleContext context{w, box.topology, box.devices, params};
  REQUIRE_FALSE(info.refuses(context));
  PieceTimes times;
  times.gemm = [&](GemmShape s, bool) { return ideal_gemm_time(box.devices[0], s, w.operand); };
  times.transfer = [&](DeviceId a, DeviceId b, Bytes n) { return n / box.topology.route_bandwidth(a, b); };
  const auto form = info.closed_form(context, times);
  REQUIRE(form);
  const OpGraph graph = build_layer(info, context);
  const Priced p = price(graph, {box.topology, box.devices, {}}, bare());
  return {simulate(graph, p.demands, p.resources, {}).makespan.si(), *form};
}

}  // namespace

TEST_CASE("hierarchical equals its clocks where rings and crossing share no link") {
  for (const std::uint32_t groups : {2U, 3U}) {
    for (const double cross : {0.5, 2.0, 9.0}) {
      for (const double flops : {1e11, 6e11, 1e20}) {
        const Box box = boxes(groups, 4, 4, cross, flops);
        for (const Pattern p : {Pattern::ag_gemm, Pattern::gemm_rs, Pattern::gemm_ar}) {
          for (const std::int64_t chunks : {1, 2, 4}) {
            for (const std::int64_t rings : {1, 2}) {
              const Workload w = layer(p, groups * 4 * 16, 256, 256, groups * 4);
              const Compared c = compare("hierarchical", box, w, {{"chunks", chunks}, {"rings", rings}});
              INFO(fmt::format("{} groups {} cross {} flops {} chunks {} rings {}", to_text(p), groups, cross, flops,
                               chunks, rings));
              CHECK(c.form.exact);
              CHECK(c.simulated == Approx(c.form.makespan.si()).epsilon(1e-9));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("on the NUMA box crossing and ring share ports: the form says so, and is right where the crossing decides") {
  Box box = numa_box(16, 4, 1);
  box.devices = devices(8, 1e30);
  const Workload w = layer(Pattern::ag_gemm, 4096, 1024, 64, 8);
  const Compared c = compare("hierarchical", box, w, {{"chunks", std::int64_t{1}}});
  CHECK_FALSE(c.form.exact);
  CHECK(c.simulated == Approx(c.form.makespan.si()).epsilon(1e-9));
}

TEST_CASE("x_stage equals the burst-gap model step by step where the drain is the bottleneck") {
  int full = 0;
  for (const double buffer : {1e3, 40e3, 64e3, 200e3, 1e9}) {
    for (const double flops : {1e12, 2e13, 6e13, 1e15}) {
      for (const std::int64_t l1 : {0, 2})
        for (const char* order : {"burst", "reshape"}) {
          for (const char* coupling : {"piggyback", "coupled"}) {
            Box box = mesh(4);
            box.devices = devices(4, flops);
            for (Device& d : box.devices) {
              d.remote_stores.drain = Bandwidth(20e9);
              d.remote_stores.buffer = Bytes(buffer);
              d.remote_stores.issue = Bandwidth(300e9);
            }
            const Workload w = layer(Pattern::gemm_rs, 2048, 4096, 1024, 4);
            const Compared c = compare(
                "x_stage", box, w, {{"order", std::string(order)}, {"coupling", std::string(coupling)}, {"l1", l1}});
            INFO(fmt::format("buffer {} flops {} {} {} l1 {}", buffer, flops, order, coupling, l1));
            CHECK(c.form.exact);
            CHECK(c.simulated == Approx(c.form.makespan.si()).epsilon(1e-9));
            ++full;
          }
        }
    }
  }
  CHECK(full == 160);
}
