#include "catch.hpp"
#include "graphs.hpp"
#include "overlap/error.hpp"

using namespace graphs;

namespace {
const DeviceMap kTwo = DeviceMap::spread(2, 2);
}

TEST_CASE("tiles that wait for a copy spin on a flag that the copy's stream raises on their GPU") {
  Pair p;
  const OpId push = p.push(0, 0, kRows);
  const OpId fused = p.fused(1, std::array{Dep{push, {}}});
  const LaunchPlan plan = plan_launch(p.g.graph(), kTwo, {});
  const PlannedOp& step = step_of(plan, fused);
  CHECK(step.how == Execution::fused_gemm);
  CHECK(step.members[0].waits.empty());
  const Completion& done = step_of(plan, push).members[0].done;
  CHECK(done.event == kNoSignal);
  CHECK(done.flag_gpus == 0b10U);
  const PartId waiting(std::get<Gemm>(p.g.graph().op(fused).work).parts.begin + 1U);
  REQUIRE(plan.parts[waiting.index()].waits.size() == 1);
  CHECK(plan.parts[waiting.index()].waits[0] == Signal{Signal::Kind::flag, done.flag});
}

TEST_CASE("an op that waits for a tile group waits for its flag, launched behind the kernel") {
  Pair p;
  const OpId push = p.g.upcoming(3);  // dependencies name an op that is added later
  const OpId fused = p.fused(1, std::array{Dep{push, {}}});
  const PartId first(std::get<Gemm>(p.g.graph().op(fused).work).parts.begin);
  p.multiply(0, 0, 128);
  p.multiply(0, 128, 128);
  REQUIRE(p.push(0, 0, kRows, std::array{Dep{fused, first}}) == push);
  const LaunchPlan plan = plan_launch(p.g.graph(), kTwo, {});
  CHECK(place_of(plan, fused) < place_of(plan, push));
  const auto& waits = step_of(plan, push).members[0].waits;
  REQUIRE(waits.size() == 1);
  CHECK(waits[0] == Signal{Signal::Kind::flag, plan.parts[first.index()].done.flag});
  CHECK(plan.parts[first.index()].done.flag_gpus == 0b01U);
}

TEST_CASE("a kernel that may hold every SM must not spin for an op that needs one there") {
  Pair p;
  const std::array x{p.g.all(p.shard[1])};
  const std::array y{p.g.rows(p.full[1], 0, kRows)};
  const OpId gather = p.g.elementwise(p.comm[1], {}, x, y, {{}, p.g.label("local gather")});
  p.fused(1, std::array{Dep{gather, {}}});
  CHECK_THROWS_WITH(plan_launch(p.g.graph(), kTwo, {}),
                    contains_text("'fused 1'") && contains_text("'local gather'") && contains_text("GPU 1"));
  PlanOptions chunks;
  chunks.fused_kernel = false;
  CHECK_NOTHROW(plan_launch(p.g.graph(), kTwo, chunks));
}

TEST_CASE("the same op on the other GPU, or complete before the kernel starts, is no danger") {
  Pair p;
  const OpId push = p.push(0, 0, kRows, {}, Mover::sm);
  p.fused(1, std::array{Dep{push, {}}});
  p.fused(0, std::array{Dep{p.push(1, 0, kRows), {}}});
  CHECK_NOTHROW(plan_launch(p.g.graph(), kTwo, {}));
  // On one GPU of two SMs the two kernels hold both.
  PlanOptions tiny;
  tiny.sms = 2;
  CHECK_THROWS_AS(plan_launch(p.g.graph(), DeviceMap::spread(2, 1), tiny), CheckError);

  Pair q;
  const OpId first = q.multiply(1, 0, 128);
  q.fused(1, std::array{Dep{first, {}}});
  const LaunchPlan plan = plan_launch(q.g.graph(), kTwo, {});
  CHECK(plan.flags == 0);  // the lane's order implies it
}

TEST_CASE("a bound on the kernel's SMs leaves room for its producers") {
  Pair p;
  const OpId gather = p.gather();
  Gemm work{.m = kRows, .n = 128, .k = 64, .parts = {}};
  work.max_sms = 108;
  const OpId fused = p.g.fused_gemm(p.compute[0], work, {{}, p.g.label("fused")});
  const std::array a{p.g.rows(p.full[0], 0, kRows)};
  const std::array b{p.g.all(p.weight[0])};
  const std::array c{p.g.rows(p.out[0], 0, kRows)};
  p.g.part(fused, {{0, kRows, 0, 128}, std::array{Dep{gather, {}}}, a, b, c});
  PlanOptions options;
  options.channels = 24;
  CHECK(step_of(plan_launch(p.g.graph(), kTwo, options), fused).sms == 108);
  options.channels = 25;
  CHECK_THROWS_WITH(plan_launch(p.g.graph(), kTwo, options), contains_text("all-gather"));
}

TEST_CASE("two kernels that may spin side by side on one GPU share its SMs") {
  Pair p;
  const OpId push0 = p.push(0, 0, kRows);
  const OpId push1 = p.push(1, 0, kRows);
  p.fused(0, std::array{Dep{push1, {}}});
  p.fused(1, std::array{Dep{push0, {}}});
  PlanOptions options;
  options.sms = 132;
  CHECK_NOTHROW(plan_launch(p.g.graph(), kTwo, options));
  // On one GPU the pushes are kernels too: some SMs are left to them.
  CHECK_NOTHROW(plan_launch(p.g.graph(), DeviceMap::spread(2, 1), options));
}

TEST_CASE("chunks signal with flags of stream memory operations or with events, tile groups with flags") {
  Pair p;
  const OpId push = p.push(0, 0, kRows);
  const OpId fused = p.fused(1, std::array{Dep{push, {}}});
  const PartId second(std::get<Gemm>(p.g.graph().op(fused).work).parts.begin + 1U);
  const std::array r{p.g.rows(p.out[1], 0, 1)};
  const std::array w{p.g.rows(p.out[0], 0, 1)};
  const OpId after = p.g.transfer(p.comm[1], {}, r, w, {std::array{Dep{fused, second}}, p.g.label("send")});
  PlanOptions options;
  const LaunchPlan tiles = plan_launch(p.g.graph(), kTwo, options);
  CHECK(step_of(tiles, after).members[0].waits[0].kind == Signal::Kind::flag);
  options.fused_kernel = false;
  const LaunchPlan memory = plan_launch(p.g.graph(), kTwo, options);
  CHECK(step_of(memory, after).members[0].waits[0].kind == Signal::Kind::flag);
  REQUIRE(memory.parts[second.index()].waits.size() == 1);
  CHECK(memory.parts[second.index()].waits[0].kind == Signal::Kind::flag);
  CHECK(memory.flags == 2);
  CHECK_THAT(memory.notes.at(0), contains_text("stream memory operations"));
  options.stream_memory = false;
  const LaunchPlan chunks = plan_launch(p.g.graph(), kTwo, options);
  CHECK(chunks.flags == 0);
  CHECK_THAT(chunks.notes.at(0), contains_text("events"));
  CHECK(step_of(chunks, after).members[0].waits[0].kind == Signal::Kind::event);
  CHECK(step_of(chunks, fused).how == Execution::chunked_gemm);
  REQUIRE(chunks.parts[second.index()].waits.size() == 1);
  CHECK(chunks.parts[second.index()].waits[0].kind == Signal::Kind::event);
}
