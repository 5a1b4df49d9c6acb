// Tiled kernels: waves, SMs that others hold, parts, readiness.
#include <algorithm>

#include "bench.hpp"
#include "catch.hpp"

using namespace overlap;
using namespace overlap::test;

namespace {
Approx near(double v) {
  return Approx(v).epsilon(1e-11);
}
std::uint32_t waves(std::uint32_t tiles, std::uint32_t sms) {
  return (tiles + sms - 1) / sms;
}
}  // namespace

TEST_CASE("a kernel takes ceil(tiles / SMs) tile times, with and without traffic") {
  for (const std::uint32_t tiles : {1U, 7U, 8U, 9U, 16U, 100U}) {
    for (const double traffic : {0.0, 5.0}) {
      Bench b(1);
      const PoolId sms = b.pool(0, 8);
      const ResourceId hbm = b.fluid(1e9);
      const OpId op =
          b.kernel({0, 0}, {.parts = {tiles}, .workers = 8, .tile = 2, .traffic = traffic, .pool = sms}, {}, {hbm});
      const Timeline t = b.run();
      CHECK(end_of(t, op) == near(2.0 * waves(tiles, 8)));
      CHECK(t.events <= 4);  // waves with nobody watching collapse
    }
  }
}

TEST_CASE("launch, fill of the first tile, finish and a cheaper last wave") {
  Bench b(1);
  const PoolId sms = b.pool(0, 4);
  const OpId op = b.kernel(
      {0, 0},
      {.parts = {10}, .workers = 4, .tile = 1, .pool = sms, .first_tile = 0.25, .finish = 0.5, .last_wave = 0.75});
  b.demand(op)->latency = Seconds(3);
  CHECK(end_of(b.run(), op) == near(3 + 0.25 + 2 + 0.75 + 0.5));
}

TEST_CASE("a GEMM beside a resident kernel runs its waves over the rest") {
  for (const TileScheduler s : {TileScheduler::dynamic, TileScheduler::carve_out}) {
    Bench b(1);
    const PoolId sms = b.pool(0, 132);
    const OpId resident = b.fixed({0, 0}, 1000);
    b.need(resident, sms, 24);
    const OpId gemm = b.kernel({0, 1}, {.parts = {256}, .workers = 132, .tile = 1, .pool = sms, .scheduler = s});
    CHECK(end_of(b.run(), gemm) == near(waves(256, 108)));
  }
}

TEST_CASE("a kernel behind a GEMM of equal priority waits for its tail") {
  Bench b(1);
  const PoolId sms = b.pool(0, 132);
  const OpId gemm = b.kernel({0, 0}, {.parts = {300}, .workers = 132, .tile = 1, .pool = sms});  // 132 + 132 + 36
  const OpId small = b.fixed({0, 1}, 5);
  b.need(small, sms, 24);
  const OpId large = b.fixed({0, 2}, 5);
  b.need(large, sms, 100);
  const Timeline t = b.run();
  CHECK(end_of(t, gemm) == near(3));
  CHECK(begin_of(t, small) == near(2));  // 96 SMs are free beside the last wave
  CHECK(begin_of(t, large) == near(3));
}

TEST_CASE("a kernel of higher priority takes SMs at the next tile boundary and the GEMM loses waves") {
  for (const double traffic : {0.0, 1.0}) {
    Bench b(1);
    const PoolId sms = b.pool(0, 132);
    const ResourceId hbm = b.fluid(1e9);
    const OpId gemm =
        b.kernel({0, 0}, {.parts = {132 * 6}, .workers = 132, .tile = 1, .traffic = traffic, .pool = sms}, {}, {hbm});
    const OpId before = b.fixed({0, 1}, 1.5);
    const OpId comm = b.fixed({0, 2, 1}, 3, {on(before)});
    b.need(comm, sms, 24);
    const Timeline t = b.run();
    CHECK(begin_of(t, comm) == near(2));
    // 2 waves of 132, 3 of 108 beside the kernel, then 204 tiles: 2 waves.
    CHECK(end_of(t, gemm) == near(2 + 3 + 2));
  }
}

TEST_CASE("SMs that come free in the middle of a wave are used at once") {
  Bench b(1);
  const PoolId sms = b.pool(0, 4);
  const OpId other = b.fixed({0, 0}, 1.5);
  b.need(other, sms, 2);
  const OpId gemm = b.kernel({0, 1}, {.parts = {8}, .workers = 4, .tile = 1, .pool = sms});
  // 2 workers from 0: tiles at 1, 2, 3; 2 more from 1.5: tiles at 2.5. 8 tiles: 2 + 2 + 2 (at 2.5) + 2 (at 3).
  CHECK(end_of(b.run(), gemm) == near(3));
}

TEST_CASE("a static persistent kernel keeps its grid: late workers bring their whole share late") {
  Bench b(1);
  const PoolId sms = b.pool(0, 132);
  const OpId comm = b.fixed({0, 0}, 2.5);
  b.need(comm, sms, 24);
  const Tiled shape{
      .parts = {132 * 3}, .workers = 132, .tile = 1, .pool = sms, .scheduler = TileScheduler::static_persistent};
  const OpId gemm = b.kernel({0, 1}, shape);
  CHECK(end_of(b.run(), gemm) == near(2.5 + 3));

  Bench behind(1);  // an op behind it waits for workers that are through, whatever its priority
  Tiled own = shape;
  own.pool = behind.pool(0, 132);
  own.parts = {132 * 2 + 100};
  const OpId resident = behind.kernel({0, 0}, own);
  const OpId soon = behind.fixed({0, 1}, 0.5);
  const OpId urgent = behind.fixed({0, 2, 1}, 1, {on(soon)});
  behind.need(urgent, own.pool, 24);
  const Timeline t = behind.run();
  CHECK(end_of(t, resident) == near(3));
  CHECK(begin_of(t, urgent) == near(2));
}

TEST_CASE("a persistent kernel: late workers bring the two tiles that they claimed, the others share the rest") {
  const auto end = [](std::uint32_t tiles, double held) {
    Bench b(1);
    const PoolId sms = b.pool(0, 132);
    const OpId comm = b.fixed({0, 0}, held);
    b.need(comm, sms, 24);
    const OpId gemm = b.kernel(
        {0, 1}, {.parts = {tiles}, .workers = 132, .tile = 1, .pool = sms, .scheduler = TileScheduler::persistent});
    return end_of(b.run(), gemm);
  };
  CHECK(end(132, 5) == near(2));      // one tile each: the late ones follow the first that is through
  CHECK(end(216, 0.5) == near(2.5));  // 24 late workers with two tiles; measured so on H200
  CHECK(end(216, 1.5) == near(3));    // 48 workers are through at 1 and make room
  CHECK(end(216, 9) == near(3));
  CHECK(end(132 * 6, 3.2) == near(7));  // many waves: what is left is shared, one wave is lost
  // 896 tiles: 848 on 108 SMs in 8 waves; 16 SMs come free at 7, 8 more at 8, for two tiles each.
  CHECK(end(132 * 6 + 104, 100) == near(10));
}

TEST_CASE("a persistent kernel ends whatever SMs it gets and when, fewer workers than SMs among them") {
  // With more SMs than workers, more can come free at once than tiles are left for.
  for (std::uint32_t tiles = 12; tiles <= 30; ++tiles) {
    for (std::uint32_t first = 0; first <= 13; ++first) {
      for (std::uint32_t second = 0; first + second <= 13; ++second) {
        Bench b(1);
        const PoolId sms = b.pool(0, 13);
        b.need(b.fixed({0, 0, 1}, 0.4), sms, first);
        b.need(b.fixed({0, 1, 1}, 1.7), sms, second);
        const OpId gemm = b.kernel(
            {0, 2}, {.parts = {tiles}, .workers = 12, .tile = 1, .pool = sms, .scheduler = TileScheduler::persistent});
        INFO(tiles << " tiles, " << first << " and " << second << " SMs come late");
        const double end = end_of(b.run(), gemm);
        CHECK(end >= tiles / 12.0 - 1e-9);
        CHECK(end <= 1.7 + (tiles + 11) / 12 + 1 + 1e-9);
      }
    }
  }
}

TEST_CASE("a persistent kernel gives no SM back while it has tiles, whatever stands in line") {
  Bench b(1);
  const PoolId sms = b.pool(0, 8);
  const OpId gemm =
      b.kernel({0, 0}, {.parts = {20}, .workers = 8, .tile = 1, .pool = sms, .scheduler = TileScheduler::persistent});
  const OpId soon = b.fixed({0, 1}, 0.5);
  const OpId urgent = b.fixed({0, 2, 1}, 1, {on(soon)});
  b.need(urgent, sms, 4);
  const Timeline t = b.run();
  CHECK(end_of(t, gemm) == near(3));
  CHECK(begin_of(t, urgent) == near(2));  // 4 tiles are left for 8 workers
}

TEST_CASE("members that need whole clusters do not find them among the SMs that a tiled kernel left") {
  // Two groups of 6: a kernel of 8 workers takes 4 of each, in pairs. One of 10 takes 6 and 4, or 4 and 6.
  const auto begins = [](std::uint32_t workers, std::uint32_t wanted, std::uint32_t cluster) {
    Bench b(1);
    const PoolId sms = b.pool(0, 12);
    b.resources.pools[sms.index()].groups = {6, 6};
    b.kernel({0, 0},
             {.parts = {workers}, .workers = workers, .tile = 1, .pool = sms, .scheduler = TileScheduler::persistent});
    const OpId soon = b.fixed({0, 1}, 0.5);
    const OpId comm = b.fixed({0, 2}, 1, {on(soon)});
    b.need(comm, sms, wanted, cluster);
    return begin_of(b.run(), comm);
  };
  CHECK(begins(8, 4, 1) == near(0.5));
  CHECK(begins(8, 4, 4) == near(1));
  CHECK(begins(8, 4, 2) == near(0.5));
  CHECK(begins(4, 8, 4) == near(0.5));
}

TEST_CASE("a kernel in clusters beside an op takes the groups that have room for one") {
  // 8 tiles on 8 of 12 SMs while an op holds a cluster of 4 in one of two groups of 6.
  const auto ends = [](std::uint32_t cluster, double last_wave) {
    Bench b(1);
    const PoolId sms = b.pool(0, 12);
    b.resources.pools[sms.index()].groups = {6, 6};
    const OpId comm = b.fixed({0, 1}, 10);
    b.need(comm, sms, 4, 4);
    const OpId gemm = b.kernel({0, 0}, {.parts = {8},
                                        .workers = 8,
                                        .tile = 1,
                                        .pool = sms,
                                        .scheduler = TileScheduler::persistent,
                                        .last_wave = last_wave,
                                        .cluster = cluster});
    return end_of(b.run(), gemm);
  };
  CHECK(ends(1, 1) == near(1));
  CHECK(ends(2, 1) == near(1));
  CHECK(ends(4, 1) == near(2));  // one cluster at once, the other in its place
  CHECK(ends(4, 0.75) == near(1.75));
}

TEST_CASE("an op that is slower beside tiles has its own rate again when they are done") {
  Bench b(1);
  const PoolId sms = b.pool(0, 8);
  const OpId comm = b.flow({0, 1}, 100, {}, {}, 10);
  b.need(comm, sms, 2);
  b.demand(comm)->beside = 2;
  b.kernel({0, 0}, {.parts = {16}, .workers = 4, .tile = 1, .pool = sms});
  CHECK(end_of(b.run(), comm) == near(12));  // 4 s at 5 bytes/s, the rest at 10
  b.kernel({0, 2}, {.parts = {5}, .workers = 1, .tile = 1, .pool = sms});
  CHECK(end_of(b.run(), comm) == near(12 + 1.0 / 5));  // one SM of 8 for a fifth second: a quarter of the slowdown
}

TEST_CASE("static workers that are through free their SMs; a last, partly filled wave has its own time") {
  Bench b(1);
  const PoolId sms = b.pool(0, 8);
  const OpId gemm = b.kernel({0, 0}, {.parts = {8 * 2 + 3},
                                      .workers = 8,
                                      .tile = 1,
                                      .pool = sms,
                                      .scheduler = TileScheduler::static_persistent,
                                      .last_wave = 0.5});
  const OpId next = b.fixed({0, 1}, 1);
  b.need(next, sms, 5);
  const Timeline t = b.run();
  CHECK(end_of(t, gemm) == near(2.5));
  CHECK(begin_of(t, next) == near(2));
}

TEST_CASE("contention on HBM stretches tiles in proportion") {
  Bench b(1);
  const PoolId sms = b.pool(0, 4);
  const ResourceId hbm = b.fluid(10);
  // Alone: 4 tiles x 2 bytes a second = 8 of 10. Beside a flow of share 1 it gets 5.
  const OpId gemm = b.kernel({0, 0}, {.parts = {40}, .workers = 4, .tile = 1, .traffic = 2, .pool = sms}, {}, {hbm});
  const OpId copy = b.flow({0, 1}, 1000, {hbm});
  const Timeline t = b.run();
  CHECK(end_of(t, gemm) == near(80.0 / 5));
  CHECK(end_of(t, copy) == near(16 + (1000 - 80) / 10.0));
}

TEST_CASE("parts complete with their last tile plus the tail; dependents start then") {
  Bench b(1);
  const PoolId sms = b.pool(0, 4);
  const OpId gemm = b.kernel({0, 0}, {.parts = {6, 6, 4}, .workers = 4, .tile = 1, .pool = sms, .finish = 0.25});
  b.demand(gemm)->tail = Seconds(0.125);
  const OpId user = b.fixed({0, 1}, 1, {b.part(gemm, 0)});
  const Timeline t = b.run();
  CHECK(t.part_ends[0].si() == near(2.125));
  CHECK(t.part_ends[1].si() == near(3.125));
  CHECK(t.part_ends[2].si() == near(4.125));
  CHECK(begin_of(t, user) == near(2.125));
  CHECK(end_of(t, gemm) == near(4.25));
}

TEST_CASE("ready order runs what is there, fixed order waits holding its SM") {
  for (const PartOrder order : {PartOrder::ready, PartOrder::fixed}) {
    Bench b(1);
    const PoolId sms = b.pool(0, 2);
    const OpId first = b.fixed({0, 1}, 10);
    const OpId gemm = b.kernel(
        {0, 0}, {.parts = {2, 4}, .workers = 2, .tile = 1, .pool = sms, .order = order, .waits = {{on(first)}, {}}});
    const OpId other = b.fixed({0, 2}, 1);
    b.need(other, sms, 1);
    const Timeline t = b.run();
    CHECK(t.part_ends[1].si() == near(order == PartOrder::ready ? 2 : 13));
    CHECK(end_of(t, gemm) == near(order == PartOrder::ready ? 11 : 13));
    CHECK(begin_of(t, other) == end_of(t, gemm));  // spinning workers hold their SMs
  }
}

TEST_CASE("an earlier part that becomes ready goes first at the next tile boundary") {
  Bench b(1);
  const PoolId sms = b.pool(0, 2);
  const OpId late = b.fixed({0, 1}, 2.5);
  const OpId gemm =
      b.kernel({0, 0}, {.parts = {2, 20}, .workers = 2, .tile = 1, .pool = sms, .waits = {{on(late)}, {}}});
  const Timeline t = b.run();
  CHECK(t.part_ends[0].si() == near(4));
  CHECK(end_of(t, gemm) == near(11));
}

TEST_CASE("all-gather fused with a GEMM: (n-1) max(tc, tm) + tc, local part first") {
  for (const double tm : {0.5, 1.0, 1.7}) {
    for (const std::uint32_t tiles : {1U, 6U}) {
      const double tc = 1.25;
      const std::uint32_t n = 8;
      Bench b(1);
      const ResourceId link = b.fluid(1);
      std::vector<std::vector<Dep>> waits(n);
      for (std::uint32_t p = 1; p < n; ++p) waits[p] = {on(b.flow({0, 1}, tm, {link}))};
      const OpId gemm =
          b.kernel({0, 0}, {.parts = std::vector<std::uint32_t>(n, tiles), .tile = tc / tiles, .waits = waits});
      CHECK(end_of(b.run(), gemm) == near((n - 1) * std::max(tc, tm) + tc));
    }
  }
}

TEST_CASE("GEMM fused with a reduce-scatter, local part last: max(n tc, tc + (n-1) tm)") {
  for (const double tm : {0.5, 1.25, 2.0}) {
    const double tc = 1.25;
    const std::uint32_t n = 8;
    Bench b(1);
    const ResourceId link = b.fluid(1);
    b.kernel({0, 0}, {.parts = std::vector<std::uint32_t>(n, 4), .tile = tc / 4});
    for (std::uint32_t p = 0; p + 1 < n; ++p) b.flow({0, 1}, tm, {link}, {b.part(OpId(0U), p)});
    CHECK(b.run().makespan.si() == near(std::max(n * tc, tc + (n - 1) * tm)));
  }
}

TEST_CASE("a Gemm that is not priced by tiles gates and completes as a whole") {
  Bench b(1);
  const OpId wait = b.fixed({0, 1}, 2);
  const OpId gemm = b.kernel({0, 0}, {.parts = {1, 1}, .waits = {{}, {on(wait)}}});
  b.demand(gemm).now = Demand();
  b.demand(gemm)->latency = Seconds(3);
  const OpId user = b.fixed({0, 2}, 1, {b.part(gemm, 0)});
  const Timeline t = b.run();
  CHECK(begin_of(t, gemm) == near(2));
  CHECK(t.part_ends[0].si() == near(5));
  CHECK(begin_of(t, user) == near(5));
}

TEST_CASE("parts without tiles complete when their waits are met") {
  Bench b(1);
  const OpId wait = b.fixed({0, 1}, 2);
  b.kernel({0, 0}, {.parts = {0, 3, 0}, .tile = 1, .waits = {{}, {}, {on(wait)}}});
  const Timeline t = b.run();
  CHECK(t.part_ends[0].si() == 0);
  CHECK(t.part_ends[2].si() == near(2));

  Bench after(1);  // met after the kernel has ended
  const OpId late = after.fixed({0, 1}, 5);
  const OpId gemm = after.kernel({0, 0}, {.parts = {3, 0}, .tile = 1, .waits = {{}, {on(late)}}});
  const OpId user = after.fixed({0, 2}, 1, {after.part(gemm, 1)});
  CHECK(begin_of(after.run(), user) == near(5));
}
