// Every schedule of the table, on as many GPUs as there are, against Y = X W in float64.
#include <fmt/format.h>

#include "fixture.hpp"
#include "overlap/schedule.hpp"

using namespace gpu_test;

namespace {

Topology small_mesh(std::uint32_t devices) {
  TopologyBuilder b("mesh");
  std::vector<NodeId> nodes;
  for (std::uint32_t d = 0; d < devices; ++d) {
    Node n;
    n.name = fmt::format("gpu{}", d);
    nodes.push_back(b.node(n));
    b.device(nodes.back());
  }
  for (std::uint32_t i = 0; i < devices; ++i) {
    for (std::uint32_t j = i + 1; j < devices; ++j) {
      b.link(nodes[i], nodes[j], LinkKind::nvlink, Bandwidth(450e9), 0.88, Seconds(1e-6));
    }
  }
  return std::move(b).finish("test");
}

Device plain_device(std::uint32_t sms) {
  Device d;
  d.name = "test";
  d.sms = sms;
  d.clock = Frequency(1.5e9);
  d.peak.fill(FlopRate(1e14));
  d.hbm = Bandwidth(4e12);
  d.l2 = Bytes(5e7);
  d.memory = Bytes(1e11);
  d.copy_engines = 4;
  return d;
}

// Ways to run Gemms with parts and remote stores.
struct Way {
  const char* name;
  bool fused;
  bool stream_memory;
  bool epilogue;
};
constexpr Way kWays[] = {{"tile kernel", true, true, false},
                         {"tile kernel that stores remotely", true, true, true},
                         {"stream memory operations", false, true, false},
                         {"events", false, false, false}};

void check_schedule(GpuSession& s, const ScheduleInfo& info, const Workload& w, const Params& params,
                    std::uint32_t gpus, const Way& way) {
  const Topology topology = small_mesh(w.tp);
  const std::vector<Device> devices(w.tp, plain_device(s.host().gpus[0].sms));
  const ScheduleContext context{w, topology, devices, params};
  CAPTURE(info.name, params.to_text(), to_text(w.pattern), w.tp, gpus, way.name);
  if (info.refuses != nullptr && info.refuses(context)) return;
  const OpGraph graph = build_layer(info, context);
  PlanOptions options = plan_options(s);
  options.fused_kernel = way.fused;
  options.stream_memory = way.stream_memory;
  options.epilogue_stores = way.epilogue;
  try {
    const LaunchPlan plan = plan_launch(graph, DeviceMap::spread(w.tp, gpus), options);
    const auto program = s.load(graph, plan);
    for (const std::uint64_t seed : {11U, 12U}) {
      program->fill(seed);
      if (seed == 11) program->warm();
      program->run(Seconds(0.0));
      CHECK(program->error() < kBf16);
    }
  } catch (const InputError& e) {
    WARN(info.name << " (" << params.to_text() << ", " << w.tp << " on " << gpus << "): " << e.what());
  } catch (const CheckError& e) {
    WARN(info.name << " (" << params.to_text() << ", " << w.tp << " on " << gpus << "): " << e.what());
  }
}

// The default and every value of every parameter that `run --best` would try or that has choices, one at a time.
std::vector<Params> variants(const ScheduleInfo& info) {
  std::vector<Params> out{complete_params(info, {})};
  for (const ParamInfo& p : info.params) {
    std::vector<ParamValue> values = p.search;
    for (const std::string& c : p.choices) values.emplace_back(c);
    for (const ParamValue& v : values) out.push_back(complete_params(info, {{std::string(p.name), v}}));
  }
  return out;
}

void check_all(GpuSession& s, std::uint32_t devices, std::uint32_t gpus) {
  for (const ScheduleInfo& info : schedules()) {
    for (const Pattern pattern : info.patterns) {
      Workload w;
      w.name = "small";
      w.pattern = pattern;
      w.tokens = 512;
      w.in = 512;
      w.out = 1024;
      w.tp = devices;
      for (const Params& params : variants(info)) {
        for (const Way& way : kWays) {
          if (way.epilogue && info.name != std::string_view("x_stage")) continue;
          check_schedule(s, info, w, params, gpus, way);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("every schedule computes the right result on two GPUs") {
  const auto s = open(2);
  if (s != nullptr) check_all(*s, 2, 2);
}

TEST_CASE("every schedule computes the right result with two and four devices on one GPU") {
  const auto s = open(1);
  if (s == nullptr) return;
  check_all(*s, 2, 1);
  check_all(*s, 4, 1);
}
