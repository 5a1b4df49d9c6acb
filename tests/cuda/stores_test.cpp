// Remote stores out of the tile kernel, counted tokens, codecs.
#include <algorithm>

#include "catch.hpp"
#include "graphs.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "overlap/schedule.hpp"

using namespace graphs;

namespace {

const DeviceMap kTwo = DeviceMap::spread(2, 2);

OpGraph layer_graph(const char* schedule, Pattern pattern,
                    const std::vector<std::pair<std::string, ParamValue>>& given) {
  Workload w;
  w.name = "layer";
  w.pattern = pattern;
  w.tp = 2;
  w.tokens = w.in = 512;
  w.out = 1024;
  const Topology topology = load_topology("h200x2-nv18");
  const std::vector<Device> devices(2, load_device("h200"));
  const ScheduleInfo& info = find_schedule(schedule);
  return build_layer(info, {w, topology, devices, complete_params(info, given)});
}

std::size_t count(const LaunchPlan& plan, Execution how) {
  return static_cast<std::size_t>(
      std::count_if(plan.order.begin(), plan.order.end(), [&](const PlannedOp& p) { return p.how == how; }));
}

bool noted(const LaunchPlan& plan, std::string_view text) {
  return std::any_of(plan.notes.begin(), plan.notes.end(),
                     [&](const std::string& n) { return n.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("remote stores run as a copy kernel or, asked for, out of the tile kernel before them") {
  const OpGraph graph = layer_graph("x_stage", Pattern::gemm_rs, {});
  PlanOptions options;
  const LaunchPlan copies = plan_launch(graph, kTwo, options);
  CHECK(count(copies, Execution::sm_copy) == 8);  // four pieces of the other's rows on each device
  CHECK(noted(copies, "copy kernel"));
  options.epilogue_stores = true;
  const LaunchPlan stores = plan_launch(graph, kTwo, options);
  CHECK(count(stores, Execution::sm_copy) == 0);
  CHECK(count(stores, Execution::epilogue_store) == 8);
  CHECK(count(stores, Execution::fused_gemm) == 8);
  CHECK(noted(stores, "epilogue"));
  REQUIRE(stores.stores.size() == 8);
  for (const EpilogueStore& s : stores.stores) {
    CHECK(graph.buffer(s.to.buffer).device != graph.device_of(graph.op(s.gemm)));
    CHECK(graph.slices(graph.op(s.transfer).writes)[0] == s.to);
  }
}

TEST_CASE("a result that somebody else reads too is not stored remotely by the kernel") {
  Pair p;
  const OpId gemm = p.multiply(0, 0, kRows);
  const std::array c{p.g.rows(p.out[0], 0, kRows)};
  const BufferId land = p.g.buffer(DeviceId(1U), kRows, 128, DType::bf16, BufferRole::scratch, "land");
  const std::array to{p.g.all(land)};
  Transfer store;
  store.mover = Mover::remote_store;
  p.g.transfer(p.compute[0], store, c, to, {std::array{Dep{gemm, {}}}, p.g.label("store")});
  PlanOptions options;
  options.epilogue_stores = true;
  CHECK(plan_launch(p.g.graph(), kTwo, options).stores.size() == 1);
  const BufferId copy = p.g.buffer(DeviceId(0U), kRows, 128, DType::bf16, BufferRole::scratch, "copy");
  p.g.elementwise(p.comm[0], {}, c, std::array{p.g.all(copy)}, {std::array{Dep{gemm, {}}}, p.g.label("keep")});
  CHECK(plan_launch(p.g.graph(), kTwo, options).stores.empty());
}

TEST_CASE("tokens become dependencies: the third taker of two tokens waits for the first giver") {
  Pair p;
  std::vector<OpId> sends;
  const TokenId token = p.g.token(2);
  const std::array lanes{p.comm[0], p.compute[0], p.g.lane(DeviceId(0U), 2, "more"), p.g.lane(DeviceId(0U), 3, "last")};
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::array reads{p.g.rows(p.shard[0], i, 1)};
    const std::array writes{p.g.rows(p.full[1], i, 1)};
    sends.push_back(p.g.transfer(lanes[i], {}, reads, writes, {{}, p.g.label("send {}", i)}));
    p.g.use_token(sends.back(), token, 1, 1);
  }
  const LaunchPlan plan = plan_launch(p.g.graph(), kTwo, {});
  CHECK(step_of(plan, sends[1]).members[0].waits.empty());
  REQUIRE(step_of(plan, sends[2]).members[0].waits.size() == 1);
  CHECK(step_of(plan, sends[2]).members[0].waits[0].index == step_of(plan, sends[0]).members[0].done.event);
  CHECK(noted(plan, "in-flight"));
  const OpId greedy = p.g.transfer(p.comm[1], {}, std::array{p.g.rows(p.shard[1], 0, 1)},
                                   std::array{p.g.rows(p.full[0], 0, 1)}, {{}, p.g.label("greedy")});
  p.g.use_token(greedy, token, 3, 3);
  CHECK_THROWS_AS(plan_launch(p.g.graph(), kTwo, {}), InputError);
}

TEST_CASE("window-coded copies have kernels, the entropy code is refused by name") {
  const auto of = [](const char* codec, const char* split) {
    return layer_graph("compressed", Pattern::ag_gemm, {{"codec", std::string(codec)}, {"split", std::string(split)}});
  };
  CHECK_NOTHROW(plan_launch(of("window", "off"), kTwo, {}));
  CHECK_NOTHROW(plan_launch(of("window", "on"), kTwo, {}));
  CHECK_THROWS_WITH(plan_launch(of("entropy", "off"), kTwo, {}), contains_text("entropy code"));
}
