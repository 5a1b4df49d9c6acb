// What must not depend on names, scale, solver or seed.
#include <algorithm>
#include <set>

#include "bench.hpp"
#include "catch.hpp"

using namespace overlap;
using namespace overlap::test;

namespace {

// A ring all-gather over `n` devices of which `place` gives the rank order, with a GEMM fused to it on each device.
struct Ring {
  std::uint32_t n = 6;
  std::vector<std::uint32_t> place{};
  double scale = 1.0;  // of bytes and rates
  double uneven = 0.3;
};

Bench ring_graph(const Ring& r) {
  Bench b(r.n);
  std::vector<ResourceId> links;
  std::vector<ResourceId> hbm;
  std::vector<PoolId> sms;
  for (std::uint32_t d = 0; d < r.n; ++d) {
    links.push_back(b.fluid(2 * r.scale));
    hbm.push_back(b.fluid(9 * r.scale));
    sms.push_back(b.pool(d, 8));
  }
  const auto at = [&](std::uint32_t rank) { return r.place[rank]; };
  std::vector<std::vector<OpId>> arrived(r.n);
  std::vector<OpId> last(r.n);
  for (std::uint32_t step = 0; step + 1 < r.n; ++step) {
    std::vector<OpId> next(r.n);
    for (std::uint32_t rank = 0; rank < r.n; ++rank) {
      const std::uint32_t to = (rank + 1) % r.n;
      const double bytes = r.scale * (1 + r.uneven * ((rank * 7 + step * 3) % 5));
      std::vector<Dep> deps;
      if (step > 0) deps.push_back(on(last[(rank + r.n - 1) % r.n]));
      next[rank] = b.flow({at(rank), 0}, bytes, {links[at(rank)], hbm[at(rank)], hbm[at(to)]}, deps);
      arrived[to].push_back(next[rank]);
    }
    last = next;
  }
  for (std::uint32_t rank = 0; rank < r.n; ++rank) {
    std::vector<std::vector<Dep>> waits(1);
    for (const OpId op : arrived[rank]) waits.push_back({on(op)});
    b.kernel({at(rank), 1},
             {.parts = std::vector<std::uint32_t>(r.n, 10),
              .workers = 8,
              .tile = 0.25,
              .traffic = 0.2 * r.scale,
              .pool = sms[at(rank)],
              .waits = waits},
             {}, {hbm[at(rank)]});
  }
  return b;
}

std::vector<std::uint32_t> identity(std::uint32_t n) {
  std::vector<std::uint32_t> v(n);
  for (std::uint32_t i = 0; i < n; ++i) v[i] = i;
  return v;
}

void check_same(const Timeline& a, const Timeline& b, double epsilon) {
  REQUIRE(a.ops.size() == b.ops.size());
  for (std::size_t i = 0; i < a.ops.size(); ++i) {
    CHECK(a.ops[i].end.si() == Approx(b.ops[i].end.si()).epsilon(epsilon));
    CHECK(a.ops[i].begin.si() == Approx(b.ops[i].begin.si()).epsilon(epsilon).margin(1e-12));
  }
  for (std::size_t p = 0; p < a.part_ends.size(); ++p) {
    CHECK(a.part_ends[p].si() == Approx(b.part_ends[p].si()).epsilon(epsilon));
  }
}

// Two kernels and a collective that want the same SMs at the same date on each of two devices.
Bench race_graph() {
  Bench b(2);
  const PoolId sms = b.pool(0, 10);
  b.pool(1, 10);
  for (std::uint32_t d = 0; d < 2; ++d) {
    b.kernel({d, 0}, {.parts = {20}, .workers = 10, .tile = 1, .pool = PoolId(d)});
  }
  b.collective({{0, 1}, {1, 1}}, 3, {}, sms, 4);
  return b;
}

}  // namespace

TEST_CASE("relabelling devices changes nothing") {
  Ring r;
  r.place = identity(r.n);
  const Timeline plain = ring_graph(r).run();
  r.place = {4, 2, 5, 0, 3, 1};
  check_same(ring_graph(r).run(), plain, 1e-9);
}

TEST_CASE("bytes and rates x a power of two: the same dates to the bit") {
  Ring r;
  r.place = identity(r.n);
  const Timeline one = ring_graph(r).run();
  r.scale = 4096;
  const Timeline large = ring_graph(r).run();
  for (std::size_t i = 0; i < one.ops.size(); ++i) CHECK(one.ops[i].end == large.ops[i].end);
}

TEST_CASE("the plain and the fast solver give the same timeline") {
  Ring r;
  r.place = identity(r.n);
  const Bench b = ring_graph(r);
  SimOptions plain;
  plain.solver = SolverKind::plain;
  check_same(b.run(plain), b.run(), 1e-9);
}

TEST_CASE("same input, same bytes") {
  Ring r;
  r.place = identity(r.n);
  const Timeline a = ring_graph(r).run();
  const Timeline b = ring_graph(r).run();
  for (std::size_t i = 0; i < a.ops.size(); ++i) CHECK(a.ops[i].end == b.ops[i].end);
  CHECK(a.events == b.events);
}

TEST_CASE("a seed decides races, the same way every time; seed 0 is program order") {
  const Bench b = race_graph();
  const auto ends = [&](std::uint64_t seed, double window) {
    SimOptions o;
    o.seed = seed;
    o.race_window = Seconds(window);
    const Timeline t = b.run(o);
    return std::vector<double>{end_of(t, OpId(0U)), end_of(t, OpId(1U)), end_of(t, OpId(2U))};
  };
  const auto program_order = ends(0, 0);
  CHECK(program_order == std::vector<double>{2, 2, 5});
  std::set<std::vector<double>> seen;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CHECK(ends(seed, 0) == ends(seed, 0));
    seen.insert(ends(seed, 0));
  }
  // GEMM first on both devices; the collective first on both; on one only, where it spins for the other.
  CHECK(seen.size() == 4);
  CHECK(seen.count(program_order) == 1);
  CHECK(seen.count({4, 4, 3}) == 1);  // 20 tiles on 6 SMs: 3 waves beside the kernel, then the last 2
  // A window makes the collective late on a device in half of the runs: the same outcomes, the GEMM first more often.
  std::set<std::vector<double>> late;
  int both = 0, both_late = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    late.insert(ends(seed, 0.5));
    both += ends(seed, 0) == program_order ? 1 : 0;
    both_late += ends(seed, 0.5) == program_order ? 1 : 0;
  }
  CHECK(late == seen);
  CHECK(both_late > both);
}

TEST_CASE("a transfer cut into twins that run together ends when the whole does") {
  const auto end = [](std::uint32_t pieces) {
    Bench b(3);
    const ResourceId link = b.fluid(10);
    const ResourceId other = b.fluid(4);
    b.flow({1, 0}, 30, {link, other});
    for (std::uint32_t p = 0; p < pieces; ++p) {
      const OpId op = b.flow({0, p}, 40.0 / pieces, {link});
      b.demand(op)->share = 1.0 / pieces;
    }
    return b.run().makespan.si();
  };
  CHECK(end(2) == Approx(end(1)).epsilon(1e-12));
  CHECK(end(8) == Approx(end(1)).epsilon(1e-12));
}

TEST_CASE("rates that are recorded integrate to the bytes of each op") {
  Ring r;
  r.place = identity(r.n);
  const Bench b = ring_graph(r);
  SimOptions o;
  o.record_rates = true;
  const Timeline t = b.run(o);
  std::vector<double> bytes(t.ops.size(), 0.0);
  std::vector<double> rate(t.ops.size(), 0.0);
  std::vector<double> since(t.ops.size(), 0.0);
  for (const RateSample& s : t.rates) {
    const std::size_t i = s.op.index();
    bytes[i] += rate[i] * (s.at.si() - since[i]);
    rate[i] = s.rate.si();
    since[i] = s.at.si();
  }
  for (std::size_t i = 0; i < t.ops.size(); ++i) {
    const Demand& d = b.demands.ops[i];
    const double want = d.kind == DemandKind::tiles ? 60 * 0.2 : d.work.si();
    CHECK(rate[i] == 0.0);
    CHECK(bytes[i] == Approx(want).epsilon(1e-9));
  }
}
