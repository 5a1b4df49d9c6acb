// Graphs that cannot finish end at once, with the waiting ops and the cycle by name.
#include <cmath>

#include "bench.hpp"
#include "catch.hpp"
#include "overlap/error.hpp"

using namespace overlap;
using namespace overlap::test;

namespace {
std::string error_of(const Bench& b) {
  try {
    (void)b.run();
  } catch (const CheckError& e) {
    return e.what();
  }
  return "no error";
}
bool has(const std::string& text, const std::string& part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}
}  // namespace

TEST_CASE("a cycle of dependencies is named") {
  Bench b(2);
  b.fixed({0, 0}, 1, {on(OpId(2U))});
  b.fixed({1, 0}, 1, {on(OpId(0U))});
  b.fixed({0, 1}, 1, {on(OpId(1U))});
  const std::string text = error_of(b);
  CHECK(has(text, "3 of 3 ops wait"));
  CHECK(has(text, "cycle: op 0 waits for op 2; op 2 waits for op 1; op 1 waits for op 0"));
}

TEST_CASE("two collectives in opposite lane order") {
  Bench b(2);
  const LaneId l0 = b.lane({0, 0});
  (void)l0;
  b.collective({{0, 0}, {1, 1}}, 1);
  b.collective({{0, 1}, {1, 0}}, 1);
  b.fixed({0, 1}, 1, {on(OpId(0U))});
  b.builder.lane(DeviceId(0U), 0, "lane");
  CHECK(error_of(b) == "no error");
  Bench crossed(2);
  // Device 0: c0 then c1 by lane order; device 1 has c1 behind an op that waits for c1's twin: c0 needs it.
  const OpId c1 = crossed.builder.upcoming(2);
  crossed.fixed({1, 0}, 1, {on(c1)});
  crossed.collective({{0, 0}, {1, 0}}, 1);
  crossed.collective({{0, 0}, {1, 1}}, 1);
  const std::string text = error_of(crossed);
  CHECK(has(text, "waits in its lane behind"));
  CHECK(has(text, "cycle"));
}

TEST_CASE("spinning members that hold each other's slots") {
  Bench b(2);
  const PoolId sm0 = b.pool(0, 10);
  b.pool(1, 10);
  // Each collective gets in on one device and spins there; its other member finds the SMs taken.
  const OpId slow0 = b.fixed({0, 0}, 1);
  const OpId slow1 = b.fixed({1, 1}, 1);
  (void)slow0;
  (void)slow1;
  b.collective({{0, 0}, {1, 0}}, 1, {}, sm0, 6);
  b.collective({{0, 1}, {1, 1}}, 1, {}, sm0, 6);
  const std::string text = error_of(b);
  CHECK(has(text, "SMs of device 0 held by op 3"));
  CHECK(has(text, "SMs of device 1 held by op 2"));
  CHECK(has(text, "cycle"));
}

TEST_CASE("a spinning GEMM that holds the SMs its input needs") {
  Bench b(1);
  const PoolId sms = b.pool(0, 4);
  const OpId input = b.builder.upcoming(1);
  b.kernel({0, 0}, {.parts = {8}, .workers = 4, .pool = sms, .waits = {{on(input)}}});
  const OpId copy = b.fixed({0, 1}, 1);
  b.need(copy, sms, 1);
  const std::string text = error_of(b);
  CHECK(has(text, "op 0 in part 0 waits for op 1"));
  CHECK(has(text, "op 1 waits for SMs of device 0 held by op 0"));
}

TEST_CASE("a token that nobody gives, and a flow without capacity") {
  Bench b(1);
  const TokenId token = b.builder.token(0);
  const OpId op = b.fixed({0, 0}, 1);
  b.builder.use_token(op, token, 1, 1);
  CHECK(has(error_of(b), "op 0 waits for token 0, which no op gives any more"));

  Bench still(1);
  const ResourceId link = still.fluid(0);
  still.flow({0, 0}, 1, {link});
  CHECK(has(error_of(still), "op 0 makes no progress"));
}

TEST_CASE("demands that are not sound are refused by name") {
  Bench b(1);
  const PoolId sms = b.pool(0, 4);
  const OpId op = b.fixed({0, 0}, 1);
  SECTION("too many slots") {
    b.need(op, sms, 5);
    CHECK(has(error_of(b), "op 0 (): needs 5 slots at once, device 0 has 4"));
  }
  SECTION("NaN") {
    b.demand(op)->latency = Seconds(std::nan(""));
    CHECK(has(error_of(b), "latency"));
  }
  SECTION("unknown dependency") {
    b.fixed({0, 0}, 1, {on(OpId(99U))});
    CHECK(has(error_of(b), "waits for op 99, which does not exist"));
  }
  SECTION("unknown resource") {
    b.flow({0, 0}, 1, {ResourceId(3U)});
    CHECK(has(error_of(b), "unknown resource"));
  }
}
