// Power caps: free up to the onset, then slower; idle time recovers.
#include "bench.hpp"
#include "catch.hpp"

using namespace overlap;
using namespace overlap::test;

namespace {

constexpr double kMs = 1e-3;

Bench capped(double steady_ratio, double ramp_ms) {
  Bench b(2);
  b.resources.power = {PowerCap{Seconds(50 * kMs), steady_ratio, Seconds(ramp_ms * kMs)}, std::nullopt};
  return b;
}
OpId gemm(Bench& b, At at, PoolId sms, std::uint32_t waves, double mma_share = 1.0) {
  const OpId op = b.kernel(at, {.parts = {waves * 10}, .workers = 10, .tile = kMs, .pool = sms});
  b.demands.tiles.back().mma_share = mma_share;
  return op;
}
Approx near(double ms) {
  return Approx(ms * kMs).epsilon(1e-9);
}

}  // namespace

TEST_CASE("a long GEMM runs free up to the onset, then at the steady ratio") {
  Bench b = capped(1.2, 0);
  const OpId op = gemm(b, {0, 0}, b.pool(0, 10), 200);
  const OpId other = gemm(b, {1, 0}, b.pool(1, 10), 200);
  const Timeline t = b.run();
  CHECK(end_of(t, op) == near(50 + 150 * 1.2));
  CHECK(end_of(t, other) == near(200));  // no cap there
}

TEST_CASE("a GEMM that is half MMA loads half and is stretched by half") {
  Bench b = capped(1.2, 0);
  const OpId op = gemm(b, {0, 0}, b.pool(0, 10), 200, 0.5);
  CHECK(end_of(b.run(), op) == near(100 + 100 * 1.1));
}

TEST_CASE("the ramp goes in equal steps of load") {
  Bench b = capped(1.16, 160);
  const OpId op = gemm(b, {0, 0}, b.pool(0, 10), 300);
  // From 50 ms of load on, each 10 ms run at 1.01, 1.02, ..., then 1.16.
  double work = 50;
  double end = 50;
  for (int step = 1; step <= 16; ++step) {
    const double done = 10 / (1 + 0.01 * step);
    work += done;
    end += 10;
  }
  CHECK(end_of(b.run(), op) == near(end + (300 - work) * 1.16));
}

TEST_CASE("idle time recovers what load has cost") {
  Bench b = capped(1.5, 0);
  const PoolId sms = b.pool(0, 10);
  const OpId first = gemm(b, {0, 0}, sms, 50);
  b.fixed({0, 0}, 30 * kMs);
  const OpId second = gemm(b, {0, 0}, sms, 40);
  const Timeline t = b.run();
  CHECK(end_of(t, first) == near(50));
  CHECK(end_of(t, second) == near(80 + 30 + 10 * 1.5));
}

TEST_CASE("a cap beyond reach changes nothing to 1e-9") {
  const auto run = [](bool with_cap) {
    Bench b(1);
    if (with_cap) b.resources.power = {PowerCap{Seconds(10), 1.5, Seconds(0)}};
    const PoolId sms = b.pool(0, 8);
    const ResourceId hbm = b.fluid(5);
    b.kernel({0, 0}, {.parts = {33, 12}, .workers = 8, .tile = 0.01, .pool = sms});
    b.kernel({0, 1, 1}, {.parts = {20}, .workers = 5, .tile = 0.007, .traffic = 0.01, .pool = sms}, {}, {hbm});
    b.flow({0, 2}, 0.4, {hbm});
    return b.run().makespan.si();
  };
  CHECK(run(true) == Approx(run(false)).epsilon(1e-9));
}
