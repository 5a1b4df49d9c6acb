#include "catch.hpp"
#include "graphs.hpp"
#include "overlap/error.hpp"

using namespace graphs;

namespace {
const DeviceMap kTwo = DeviceMap::spread(2, 2);
const DeviceMap kOne = DeviceMap::spread(2, 1);
}  // namespace

TEST_CASE("lanes become streams of their device's GPU with their priority") {
  Pair p;
  p.push(0, 0, kRows);
  const LaunchPlan plan = plan_launch(p.g.graph(), kTwo, {});
  REQUIRE(plan.streams.size() == 4);
  CHECK(plan.streams[p.comm[1].index()].gpu == 1);
  CHECK(plan.streams[p.comm[1].index()].priority == 1);
  CHECK(plan.streams[p.compute[0].index()].priority == 0);
}

TEST_CASE("a dependency across lanes is one event, inside a lane nothing") {
  Pair p;
  const OpId push0 = p.push(0, 0, 128);
  const OpId push1 = p.push(0, 128, 128);
  const OpId gemm = p.multiply(1, 0, kRows, std::array{Dep{push0, {}}, Dep{push1, {}}});
  const OpId next = p.multiply(1, kRows, kRows, std::array{Dep{push1, {}}, Dep{gemm, {}}});
  const LaunchPlan plan = plan_launch(p.g.graph(), kTwo, {});
  const auto& waits = step_of(plan, gemm).members[0].waits;
  REQUIRE(waits.size() == 2);
  CHECK(waits[0] == Signal{Signal::Kind::event, step_of(plan, push0).members[0].done.event});
  CHECK(step_of(plan, next).members[0].waits.empty());  // implied by the wait before
  CHECK(step_of(plan, push1).members[0].waits.empty());
  CHECK(plan.events == 2);
  CHECK(plan.flags == 0);
}

TEST_CASE("a later wait that covers an earlier op makes one event of two") {
  Pair p;
  const OpId push0 = p.push(0, 0, 128);
  const OpId push1 = p.push(0, 128, 128);
  const OpId gemm = p.multiply(1, 0, kRows, std::array{Dep{push1, {}}, Dep{push0, {}}});
  const LaunchPlan plan = plan_launch(p.g.graph(), kTwo, {});
  CHECK(step_of(plan, gemm).members[0].waits.size() == 1);
}

TEST_CASE("launch order is topological and the same whatever the order of ids") {
  Pair p;
  const OpId later = p.g.upcoming(1);
  const OpId gemm = p.multiply(1, 0, 128, std::array{Dep{later, {}}});
  const OpId push = p.push(0, 0, 128);
  REQUIRE(push == later);
  const LaunchPlan plan = plan_launch(p.g.graph(), kTwo, {});
  CHECK(place_of(plan, push) < place_of(plan, gemm));
}

TEST_CASE("an op that waits for itself has no launch order") {
  Pair p;
  const OpId push = p.g.upcoming(1);
  const OpId gemm = p.multiply(0, 0, kRows, std::array{Dep{push, {}}});
  p.push(0, 0, kRows, std::array{Dep{gemm, {}}});
  CHECK_THROWS_AS(plan_launch(p.g.graph(), kTwo, {}), CheckError);
}

TEST_CASE("a member of a collective waits for what ran on its own device") {
  Pair p;
  const OpId g0 = p.multiply(0, 0, kRows);
  const OpId g1 = p.multiply(1, 0, kRows);
  const OpId gather = p.gather(std::array{Dep{g0, {}}, Dep{g1, {}}});
  const OpId after = p.multiply(1, kRows, kRows, std::array{Dep{gather, {}}});
  const LaunchPlan plan = plan_launch(p.g.graph(), kTwo, {});
  const PlannedOp& step = step_of(plan, gather);
  CHECK(step.how == Execution::library_collective);
  REQUIRE(step.members[0].waits.size() == 2);  // neither device has both: each dependency holds its own device
  CHECK(step_of(plan, after).members[0].waits.size() == 1);
}

TEST_CASE("buffers are placed one behind the other, aligned, on the GPU of their device") {
  Pair p;
  p.push(0, 0, kRows);
  const LaunchPlan two = plan_launch(p.g.graph(), kTwo, {});
  const LaunchPlan one = plan_launch(p.g.graph(), kOne, {});
  REQUIRE(two.arenas.size() == 2);
  REQUIRE(one.arenas.size() == 1);
  CHECK(one.arenas[0] == two.arenas[0] + two.arenas[1]);
  CHECK(two.buffers[p.shard[1].index()].gpu == 1);
  CHECK(two.buffers[p.shard[0].index()].bytes == kRows * 64 * 2);
  for (const Allocation& a : one.buffers) CHECK(a.offset % 256 == 0);
}

TEST_CASE("more lanes than hardware queues are refused") {
  Pair p;
  p.push(0, 0, kRows);
  PlanOptions options;
  options.max_connections = 3;
  CHECK_NOTHROW(plan_launch(p.g.graph(), kTwo, options));
  CHECK_THROWS_WITH(plan_launch(p.g.graph(), kOne, options), contains_text("4 lanes"));
}

TEST_CASE("devices that share a GPU: collectives by copies, said in the notes, and a share of the SMs") {
  Pair p;
  const OpId gather = p.gather();
  const OpId push = p.push(0, 0, kRows);
  const OpId fused = p.fused(1, std::array{Dep{push, {}}});
  PlanOptions options;
  options.sms = 132;
  const LaunchPlan plan = plan_launch(p.g.graph(), kOne, options);
  CHECK(step_of(plan, gather).how == Execution::copy_collective);
  CHECK(step_of(plan, fused).sms == 64);
  REQUIRE(plan.notes.size() == 1);
  CHECK_THAT(plan.notes[0], contains_text("share a GPU"));

  Pair q;
  const OpId alone = q.fused(1, std::array{Dep{q.push(0, 0, kRows), {}}});
  CHECK(step_of(plan_launch(q.g.graph(), kTwo, options), alone).sms == 132);
}

TEST_CASE("graph devices are dealt to GPUs in blocks") {
  CHECK(DeviceMap::spread(8, 2).gpu_of == std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(DeviceMap::spread(2, 4).gpu_of == std::vector<std::uint32_t>{0, 1});
  CHECK_FALSE(DeviceMap::spread(2, 2).shared());
  CHECK(DeviceMap::spread(8, 2).shared());
}

TEST_CASE("collectives come in the same order on every GPU") {
  Pair p;
  const OpId late = p.g.upcoming(1);
  const OpId a = p.gather(std::array{Dep{late, {}}});
  p.multiply(0, 0, 128);
  const OpId b = p.gather();
  const LaunchPlan plan = plan_launch(p.g.graph(), kTwo, {});
  CHECK(place_of(plan, a) < place_of(plan, b));
  CHECK(step_of(plan, a).members.size() == 2);
}
