// Cases that can be solved by hand.
#include "bench.hpp"
#include "catch.hpp"

using namespace overlap;
using namespace overlap::test;

namespace {
Approx near(double v) {
  return Approx(v).epsilon(1e-12);
}
}  // namespace

TEST_CASE("two flows share a link, the longer one ends alone") {
  Bench b(2);
  const ResourceId link = b.fluid(10);
  const OpId shorter = b.flow({0, 0}, 10, {link});
  const OpId longer = b.flow({1, 0}, 20, {link});
  const Timeline t = b.run();
  CHECK(end_of(t, shorter) == near(2));
  CHECK(end_of(t, longer) == near(3));
  CHECK(t.makespan.si() == near(3));
}

TEST_CASE("what a capped flow leaves goes to the other: 5 and 5, not 3.3 and 6.7") {
  Bench b(2);
  const ResourceId link = b.fluid(10);
  const OpId capped = b.flow({0, 0}, 10, {link}, {}, 5);
  const OpId open = b.flow({1, 0}, 10, {link});
  SimOptions options;
  options.record_rates = true;
  const Timeline t = b.run(options);
  CHECK(end_of(t, capped) == near(2));
  CHECK(end_of(t, open) == near(2));
  REQUIRE(t.rates.size() == 4);
  CHECK(t.rates[0].rate.si() == near(5));
  CHECK(t.rates[1].rate.si() == near(5));
  CHECK(t.rates[3].rate.si() == 0);
}

TEST_CASE("a cap below the fair share leaves the rest to the other") {
  Bench b(2);
  const ResourceId link = b.fluid(10);
  const OpId capped = b.flow({0, 0}, 10, {link}, {}, 2);
  const OpId open = b.flow({1, 0}, 40, {link});
  const Timeline t = b.run();
  CHECK(end_of(t, capped) == near(5));
  CHECK(end_of(t, open) == near(5));
}

TEST_CASE("shares divide a link in their ratio; a use of weight 2 takes double") {
  Bench b(2);
  const ResourceId link = b.fluid(12);
  const OpId one = b.flow({0, 0}, 4, {link});
  const OpId two = b.flow({1, 0}, 8, {link});
  SECTION("shares 1 and 2") {
    b.demand(two)->share = 2;
    const Timeline t = b.run();
    CHECK(end_of(t, one) == near(1));
    CHECK(end_of(t, two) == near(1));
  }
  SECTION("equal rates at weights 1 and 2") {
    b.demands.uses[1].weight = 2;
    const Timeline t = b.run();
    CHECK(end_of(t, one) == near(1));
    CHECK(end_of(t, two) == near(1 + 4.0 / 6.0));
  }
}

TEST_CASE("a route is cut-through: latency once, bytes over the slowest link") {
  Bench b(1);
  const ResourceId fast = b.fluid(10);
  const ResourceId slow = b.fluid(5);
  const OpId op = b.flow({0, 0}, 10, {fast, slow, fast});
  b.demand(op)->latency = Seconds(3);
  b.demand(op)->tail = Seconds(0.5);
  CHECK(end_of(b.run(), op) == near(3 + 2 + 0.5));
}

TEST_CASE("small messages are not free: 256 bytes on 400 GB/s cost 0.64 ns each") {
  Bench b(1);
  const ResourceId link = b.fluid(400e9);
  OpId last;
  for (int i = 0; i < 1000; ++i) last = b.flow({0, 0}, 256, {link});
  CHECK(end_of(b.run(), last) == Approx(0.64e-9 * 1000).epsilon(1e-12));
}

TEST_CASE("lanes run in order and dependencies hold across lanes") {
  Bench b(2);
  const OpId a = b.fixed({0, 0}, 1);
  const OpId c = b.fixed({0, 0}, 2);
  const OpId d = b.fixed({1, 0}, 4, {on(a)});
  const OpId e = b.fixed({1, 1}, 1, {on(c), on(d)});
  const Timeline t = b.run();
  CHECK(end_of(t, c) == near(3));
  CHECK(end_of(t, d) == near(5));
  CHECK(end_of(t, e) == near(6));
  CHECK(t.events == 4);  // a lone fixed op is one event
}

TEST_CASE("an op of no work ends at once") {
  Bench b(1);
  const ResourceId link = b.fluid(1);
  const OpId a = b.flow({0, 0}, 0, {link});
  const OpId c = b.fixed({0, 0}, 0);
  const Timeline t = b.run();
  CHECK(end_of(t, a) == 0);
  CHECK(end_of(t, c) == 0);
}

TEST_CASE("a collective begins with its last member; early members hold their slots") {
  Bench b(2);
  const PoolId sms0 = b.pool(0, 10);
  b.pool(1, 10);
  const OpId late = b.fixed({1, 0}, 5);
  const OpId all = b.collective({{0, 0}, {1, 0}}, 2, {}, sms0, 4);
  const OpId fits = b.fixed({0, 1}, 1);
  b.need(fits, sms0, 6);
  const OpId waits = b.fixed({0, 2}, 1, {on(fits)});
  b.need(waits, sms0, 7);
  const Timeline t = b.run();
  CHECK(end_of(t, late) == near(5));
  CHECK(begin_of(t, all) == near(5));
  CHECK(t.ops[all.index()].admitted.si() == 0);
  REQUIRE(t.members.size() == 2);
  CHECK(t.members[0].admitted.si() == 0);
  CHECK(t.members[1].admitted.si() == near(5));
  CHECK(end_of(t, fits) == near(1));
  CHECK(begin_of(t, waits) == near(7));
  CHECK(t.ops[waits.index()].ready.si() == near(1));
}

TEST_CASE("a dependency holds back the member of its device only, a foreign one all") {
  Bench b(3);
  const OpId here = b.fixed({0, 1}, 3);
  const OpId foreign = b.fixed({2, 0}, 4);
  SECTION("same device") {
    b.collective({{0, 0}, {1, 0}}, 1, {on(here)});
    const Timeline t = b.run();
    CHECK(t.members[0].admitted.si() == near(3));
    CHECK(t.members[1].admitted.si() == 0);
  }
  SECTION("foreign") {
    b.collective({{0, 0}, {1, 0}}, 1, {on(foreign)});
    const Timeline t = b.run();
    CHECK(t.members[0].admitted.si() == near(4));
    CHECK(t.members[1].admitted.si() == near(4));
  }
}

TEST_CASE("slots go by priority, then ready time, then program order; the head of the line collects") {
  Bench b(1);
  const PoolId engines = b.pool(0, 2, PoolKind::copy_engine);
  const auto slot_op = [&](At at, double seconds, std::uint32_t slots, std::vector<Dep> deps) {
    const OpId id = b.fixed(at, seconds, std::move(deps));
    b.need(id, engines, slots);
    return id;
  };
  const OpId one = slot_op({0, 0}, 1, 1, {});
  const OpId two = slot_op({0, 1}, 2, 1, {});
  const OpId both = slot_op({0, 2}, 1, 2, {});              // collects: a later single may not pass it
  const OpId later = slot_op({0, 3}, 1, 1, {});             // would fit at 1
  const OpId urgent = slot_op({0, 4, 1}, 1, 1, {on(one)});  // higher priority: goes first at 1
  const Timeline t = b.run();
  CHECK(begin_of(t, urgent) == near(1));
  CHECK(begin_of(t, both) == near(2));
  CHECK(begin_of(t, later) == near(3));
  CHECK(end_of(t, two) == near(2));
}

TEST_CASE("tokens bound how many are in flight") {
  Bench b(1);
  const TokenId budget = b.builder.token(2);
  std::vector<OpId> ops;
  for (std::uint32_t i = 0; i < 5; ++i) {
    ops.push_back(b.fixed({0, i}, 1));
    b.builder.use_token(ops.back(), budget, 1, 0);
    const OpId user = b.fixed({0, i}, 1);
    b.builder.use_token(user, budget, 0, 1);
  }
  const Timeline t = b.run();
  CHECK(begin_of(t, ops[1]) == 0);
  CHECK(begin_of(t, ops[2]) == near(2));
  CHECK(begin_of(t, ops[4]) == near(4));
  CHECK(t.makespan.si() == near(6));
}

TEST_CASE("background traffic takes its share while it is there") {
  Bench b(1);
  const ResourceId link = b.fluid(10);
  const OpId op = b.flow({0, 0}, 30, {link});
  BackgroundFlow other{{{link, 1.0}}, Bandwidth(1e300), Seconds(1), Seconds(3)};
  b.resources.background.push_back(other);
  CHECK(end_of(b.run(), op) == near(1 + 2 + 1));
  b.resources.background[0].stop = kForever;
  CHECK(end_of(b.run(), op) == near(5));
}

TEST_CASE("a straggler shifts the end by its delay") {
  const auto ring_end = [](double delay) {
    Bench b(4);
    std::vector<OpId> last;
    for (std::uint32_t d = 0; d < 4; ++d) last.push_back(b.fixed({d, 0}, d == 2 ? 1 + delay : 1));
    for (int step = 0; step < 8; ++step) {
      std::vector<OpId> next;
      for (std::uint32_t d = 0; d < 4; ++d) next.push_back(b.fixed({d, 0}, 1, {on(last[(d + 3) % 4])}));
      last = next;
    }
    return b.run().makespan.si();
  };
  CHECK(ring_end(2.5) - ring_end(0) == near(2.5));
}

TEST_CASE("streams: gaps, satisfied waits, waits that come later, start costs") {
  Bench b(2);
  StreamCosts c;
  c.kernel_gap = Seconds(1);
  c.satisfied_wait = Seconds(2);
  c.local_wait = Seconds(30);
  c.remote_wait = Seconds(40);
  c.copy_start = Seconds(5);
  c.copy_gap = Seconds(3);
  c.collective_start = Seconds(7);
  c.release_join = Seconds(10);
  b.resources.streams = {c, c};
  const auto kernel = [&](At at, std::vector<Dep> deps) {
    Demand d;
    d.latency = Seconds(100);
    b.demands.ops.push_back(d);
    return b.builder.elementwise(b.lane(at), elementwise(ElementwiseKind::add), {}, {}, {.deps = deps, .label = {}});
  };
  const auto copy = [&](At at, std::vector<Dep> deps) {
    Demand d;
    d.latency = Seconds(10);
    b.demands.ops.push_back(d);
    return b.builder.transfer(b.lane(at), {.mover = Mover::copy_engine}, {}, {}, {.deps = deps, .label = {}});
  };
  const OpId a = kernel({0, 0}, {});
  const OpId behind = kernel({0, 0}, {});
  const OpId satisfied = kernel({0, 0}, {on(a)});  // same lane: free
  const OpId local = kernel({0, 1}, {on(a)});
  const OpId remote = copy({1, 0}, {on(a)});
  const OpId second = copy({1, 0}, {});
  const OpId late_lane = kernel({0, 0}, {on(local)});
  const OpId all = b.collective({{1, 1}}, 1);
  const Timeline t = b.run();
  CHECK(begin_of(t, behind) == near(101));
  CHECK(begin_of(t, satisfied) == near(202));
  CHECK(begin_of(t, local) == near(130));
  CHECK(begin_of(t, remote) == near(145));
  CHECK(begin_of(t, second) == near(145 + 10 + 3));
  CHECK(begin_of(t, late_lane) == near(302 + 1 + 2));
  CHECK(begin_of(t, all) == near(7));
}

TEST_CASE("release and join are a path beside the work: a maximum") {
  Bench b(1);
  b.fixed({0, 0}, 3);
  b.resources.streams.resize(1);
  b.resources.streams[0].release_join = Seconds(10);
  CHECK(b.run().makespan.si() == near(10));
  b.fixed({0, 0}, 9);
  CHECK(b.run().makespan.si() == near(12));
}
