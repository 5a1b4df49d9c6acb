// Remote stores through a finite tank: the Burst-Gap model of X-Stage (arXiv 2607.23264), check 14 of our list.
#include <algorithm>

#include "bench.hpp"
#include "catch.hpp"

using namespace overlap;
using namespace overlap::test;

namespace {

constexpr double kT0 = 0.76e-6;              // issue time of a burst without back-pressure
constexpr double kR = 717e9;                 // drain rate of a sender
constexpr double kQ = 4.25 * 1048576;        // tank
constexpr double kPaperV = 148 * 32 * 1024;  // bytes of a burst

// Steady period of bursts of `v` bytes with `gap` between them.
double period(double v, double gap) {
  Bench b(1);
  const ResourceId drain = b.fluid(kR);
  const TankId tank = b.tank(kQ);
  std::vector<OpId> gaps;
  for (int n = 0; n < 40; ++n) {
    b.store({0, 0}, v, v / kT0, tank, {drain});
    gaps.push_back(b.fixed({0, 0}, gap));
  }
  const Timeline t = b.run();
  return end_of(t, gaps[39]) - end_of(t, gaps[38]);
}

double expected(double v, double gap) {
  return std::max({kT0 + gap, v / kR, (v - kQ) / kR + gap});
}

Approx near(double v) {
  return Approx(v).epsilon(1e-9);
}

}  // namespace

TEST_CASE("steady period is flat at V/R up to the recovery gap, then T0 + G") {
  CHECK(kPaperV / kR == Approx(6.76e-6).epsilon(1e-3));
  CHECK(kPaperV / kR - kT0 == Approx(6.00e-6).epsilon(1e-3));
  for (const double gap : {0.0, 1e-6, 3e-6, 5.9e-6, 6.1e-6, 8e-6, 20e-6}) {
    CHECK(period(kPaperV, gap) == near(expected(kPaperV, gap)));
    CHECK(period(kPaperV, gap) == near(std::max(kT0 + gap, kPaperV / kR)));
  }
}

TEST_CASE("beyond the knee the finite tank adds a third term") {
  const double knee = kQ + kR * kT0;
  CHECK(knee / 1048576 == Approx(4.77).epsilon(1e-3));
  const double v = 6 * 1048576.0;
  CHECK(period(v, 7e-6) == Approx(9.56e-6).epsilon(1e-3));  // not 8.78
  for (const double bytes : {0.9 * knee, 0.999 * knee, 1.001 * knee, 1.5 * knee, 3 * knee}) {
    for (const double gap : {0.0, 2e-6, 7e-6, 30e-6}) CHECK(period(bytes, gap) == near(expected(bytes, gap)));
  }
}

TEST_CASE("an isolated burst stalls the issuer only when it overflows the tank") {
  for (const double v : {1e6, 4.7e6, 5e6, 5.1e6, 8e6, 30e6}) {
    Bench b(1);
    const ResourceId drain = b.fluid(kR);
    const OpId burst = b.store({0, 0}, v, v / kT0, b.tank(kQ), {drain});
    const OpId next = b.fixed({0, 0}, 1e-6);
    const OpId user = b.fixed({0, 1}, 1e-6, {on(burst)});
    const Timeline t = b.run();
    const double peak = std::max(0.0, v - kR * kT0);
    const double issue = peak <= kQ ? kT0 : std::max(kT0, (v - kQ) / kR);
    CHECK(begin_of(t, next) == near(issue));                  // the lane goes on when all is issued
    CHECK(begin_of(t, user) == near(std::max(kT0, v / kR)));  // dependents wait for delivery
  }
}

TEST_CASE("slots of the issuer are free when the issue ends") {
  Bench b(1);
  const PoolId sms = b.pool(0, 4);
  const OpId burst = b.store({0, 0}, 10, 10, b.tank(8), {b.fluid(2)});
  b.need(burst, sms, 4);
  const OpId next = b.fixed({0, 1}, 1);
  b.need(next, sms, 1);
  const Timeline t = b.run();
  CHECK(begin_of(t, next) == near(1));
  CHECK(end_of(t, burst) == near(5));
}

TEST_CASE("issue slower than the drain: delivered as issued") {
  Bench b(1);
  const ResourceId link = b.fluid(10);
  const OpId burst = b.store({0, 0}, 8, 2, b.tank(1), {link});
  const OpId other = b.flow({0, 1}, 16, {link});  // gets the 8 that the stores leave
  const Timeline t = b.run();
  CHECK(end_of(t, burst) == near(4));
  CHECK(end_of(t, other) == near(2));
}

TEST_CASE("a drain slowed by others fills the tank, then catches up") {
  Bench b(1);
  const ResourceId link = b.fluid(4);
  // Issue at 3; for 1 s a capped flow leaves 2 of the link, so 1 byte is stored, then the drain runs at 4.
  b.flow({0, 1}, 2, {link}, {}, 2);
  const OpId burst = b.store({0, 0}, 9, 3, b.tank(100), {link});
  const OpId next = b.fixed({0, 0}, 1);
  const Timeline t = b.run();
  CHECK(begin_of(t, next) == near(3));
  CHECK(end_of(t, burst) == near(3));  // 2 + 4 (stored byte gone at 2) + 3
}

TEST_CASE("two issuers share a full tank in proportion to their caps") {
  Bench b(1);
  const ResourceId left = b.fluid(1);
  const ResourceId right = b.fluid(1);
  const TankId tank = b.tank(4);
  const OpId one = b.store({0, 0}, 10, 5, tank, {left});
  const OpId two = b.store({0, 1}, 10, 5, tank, {right});
  const OpId after = b.fixed({0, 0}, 1);
  const Timeline t = b.run();
  // Rise of 8 a second: full at 0.5; then each issues at 1: 10 bytes are in at 0.5 + 7.5.
  CHECK(begin_of(t, after) == near(8));
  CHECK(end_of(t, one) == near(10));
  CHECK(end_of(t, two) == near(10));
}

TEST_CASE("stores over one route drain in order, over others side by side") {
  Bench b(1);
  const ResourceId link = b.fluid(1);
  const TankId tank = b.tank(100);
  const OpId one = b.store({0, 0}, 4, 4, tank, {link});
  const OpId two = b.store({0, 0}, 4, 4, tank, {link});
  b.demand(two)->uses = b.demand(one)->uses;
  CHECK(end_of(b.run(), one) == near(4));
  CHECK(end_of(b.run(), two) == near(8));
}
