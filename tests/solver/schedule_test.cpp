// Closed-loop schedules: closed forms of even ones, pinned bits of all completion dates, agreement with the long-double
// oracle and with filling from scratch, and how far rounding carries on uneven ones.
#include "schedules.hpp"

#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "engine/fast_solver.hpp"
#include "oracle.hpp"

using namespace overlap;

namespace {

std::vector<double> fast_ends(const test::Schedule& s, fast::Options options = {}) {
  fast::FastSolver solver(s.capacities, options);
  return test::replay(solver, s);
}

double makespan(const std::vector<double>& ends) {
  return *std::max_element(ends.begin(), ends.end());
}

double furthest(const std::vector<double>& a, const std::vector<double>& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]) / b[i]);
  return worst;
}

}  // namespace

TEST_CASE("closed forms of even schedules, to the last bits") {
  CHECK(makespan(fast_ends(test::ring_schedule(64, 0))) == Approx(63.0).epsilon(1e-14));
  CHECK(makespan(fast_ends(test::switch_schedule(16, 0, false))) == Approx(15.0).epsilon(1e-14));
  CHECK(makespan(fast_ends(test::switch_schedule(16, 0, true))) == Approx(15.0).epsilon(1e-14));
  // 16 flows of 1 GB share 19.2 GB/s between the sockets.
  CHECK(makespan(fast_ends(test::numa_schedule(20, 0))) == Approx(20 * 16 / 19.2).epsilon(1e-13));
}

TEST_CASE("the bits of all completion dates are pinned") {
  CHECK(test::checksum(fast_ends(test::ring_schedule(32, 0.1))) == "7e3e44fd7c52275e");
  CHECK(test::checksum(fast_ends(test::switch_schedule(16, 0.1, false))) == "b820b03755c3296b");
  CHECK(test::checksum(fast_ends(test::switch_schedule(24, 0.1, true))) == "23cab18c59387553");
  CHECK(test::checksum(fast_ends(test::numa_schedule(6, 0.1))) == "61560799c6a70cd6");
}

TEST_CASE("short uneven schedules agree with the long-double oracle and with filling from scratch") {
  for (const test::Schedule& s : {test::ring_schedule(16, 0.1), test::switch_schedule(10, 0.1, false),
                                  test::switch_schedule(12, 0.1, true), test::numa_schedule(3, 0.1)}) {
    const auto ours = fast_ends(s);
    test::OracleSolver oracle(s.capacities);
    CHECK(furthest(ours, test::replay(oracle, s)) < 1e-11);
    CHECK(furthest(ours, fast_ends(s, {.from_scratch = true})) < 1e-11);
  }
}

TEST_CASE("open schedules from scratch and incremental stay within rounding to the end") {
  // Everything starts at once: no loop feeds a date back.
  for (const std::uint32_t ranks : {8U, 16U, 24U}) {
    const auto s = test::switch_schedule(ranks, 0.1, false);
    CHECK(furthest(fast_ends(s), fast_ends(s, {.from_scratch = true})) < 1e-12);
  }
}

TEST_CASE("uneven closed loops amplify a change of sizes by 1e-9; short and open ones hardly") {
  const auto amplified = [](test::Schedule s) {
    const auto before = fast_ends(s);
    for (std::size_t i = 0; i < s.flows.size(); i += 3) s.flows[i].work *= 1 + 1e-9;
    return furthest(fast_ends(s), before) / 1e-9;
  };
  const double open = amplified(test::switch_schedule(16, 0.1, false));
  const double shortly = amplified(test::ring_schedule(16, 0.1));
  const double at_length = amplified(test::ring_schedule(128, 0.1));
  WARN("sensitivity (change of a date over change of sizes): open all-to-all " << open << ", uneven ring of 16 "
                                                                               << shortly << ", of 128 " << at_length);
  CHECK(open < 10);
  CHECK(shortly < 1000);
  CHECK(at_length > 100 * shortly);
}
