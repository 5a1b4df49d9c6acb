#include "overlap/analysis.hpp"

#include "analysis/intervals.hpp"
#include "catch.hpp"
#include "hand.hpp"

using namespace overlap;
using hand::Hand;

namespace {
Approx us(double v) {
  return Approx(v * 1e-6).epsilon(1e-9).margin(1e-15);
}
}  // namespace

TEST_CASE("Phases of a hand-made run sum to its makespan, each as drawn by hand") {
  const Hand h = hand::gather_then_gemm();
  const Phases p = phases(h.view());
  CHECK(p.device == DeviceId(0U));
  CHECK(p.floor.si() == us(400));
  CHECK(p.kernel.si() == us(100));
  CHECK(p.decomposition.si() == us(0));
  CHECK(p.contention.si() == us(20));     // ran 520 us, alone 500
  CHECK(p.exposed.si() == us(1001 + 5));  // the copy, and waiting for its start on the other device
  CHECK(p.launch.si() == us(10));
  CHECK(p.slot_wait.si() == us(0));
  CHECK(p.local.si() == us(0));
  CHECK(p.tail.si() == us(4));
  CHECK(p.total().si() == us(1540));
}

TEST_CASE("A GEMM that is ready and waits for SMs counts as SM waiting, not as launch") {
  Hand h = hand::gather_then_gemm();
  h.timeline.ops[1].ready = Seconds(1.009e-3);
  const Phases p = phases(h.view());
  CHECK(p.launch.si() == us(3));
  CHECK(p.slot_wait.si() == us(7));
  CHECK(p.total().si() == us(1540));
  const auto path = critical_path(h.view());
  REQUIRE(path.size() == 6);
  CHECK(path[3].kind == StepKind::slots);
  CHECK((path[3].end - path[3].begin).si() == us(7));
}

TEST_CASE("The critical path names each step and sums to the makespan") {
  const Hand h = hand::gather_then_gemm();
  const auto path = critical_path(h.view());
  REQUIRE(path.size() == 5);
  CHECK(path[0].kind == StepKind::launch);
  CHECK(path[1].op == OpId(0U));
  CHECK(path[1].kind == StepKind::run);
  CHECK(path[2].kind == StepKind::launch);
  CHECK(path[3].op == OpId(1U));
  CHECK(path[4].kind == StepKind::join);
  Seconds at;
  for (const PathStep& s : path) {
    CHECK(s.begin == at);
    at = s.end;
  }
  CHECK(at == h.timeline.makespan);
}

TEST_CASE("Lower bounds: chain of lone times, FLOPs over peak, bytes over rate, cut") {
  const Hand h = hand::gather_then_gemm();
  const auto bounds = lower_bounds(h.view());
  REQUIRE(bounds.size() == 4);
  CHECK(bounds[0].time.si() == us(1001 + 500));
  CHECK(bounds[1].time.si() == us(400));
  CHECK(bounds[2].time.si() == us(1000));
  CHECK(bounds[2].where == "1>0");
  CHECK(bounds[3].time.si() == us(2000));  // 1 MB at 0.5 GB/s: the cut is narrower than the link here
  CHECK(strongest(bounds).kind == BoundKind::cut);
}

TEST_CASE("Links: bytes, busy time, flows at once, utilisation") {
  const Hand h = hand::gather_then_gemm();
  const auto uses = link_uses(h.view());
  REQUIRE(uses.size() == 2);
  CHECK(uses[0].bytes.si() == 1e6);
  CHECK(uses[0].busy.si() == us(1000));
  CHECK(uses[0].peak_flows == 1);
  CHECK(uses[0].utilisation == Approx(1000.0 / 1540.0));
  CHECK(uses[1].bytes.si() == 0.0);
  CHECK(uses[1].peak_flows == 0);
}

TEST_CASE("Bytes delivered equal the schedule's bytes, and a demand that loses some is named") {
  Hand h = hand::gather_then_gemm();
  CHECK(delivered_bytes(h.view()).mismatches.empty());
  CHECK(delivered_bytes(h.view()).scheduled.si() == 1e6);
  Demand more = h.demands.ops[0];
  more.work = Bytes(999999.0);
  h.demands.ops.set(0, more);
  const Delivered d = delivered_bytes(h.view());
  REQUIRE(d.mismatches.size() == 1);
  CHECK(d.mismatches[0].find("push 1 to 0") == 0);
}

TEST_CASE("Scratch memory: only scratch buffers, alive from first to last access") {
  const Hand h = hand::gather_then_gemm();
  const auto peak = peak_scratch(h.view());
  CHECK(peak[0].si() == 2e6);
  CHECK(peak[1].si() == 0.0);
}

TEST_CASE("Bandwidths are those of nccl-tests") {
  const auto ag = collective_bandwidth(CollectiveKind::all_gather, 8, Bytes(8e9), Seconds(1.0));
  CHECK(ag.algorithm.si() == 8e9);
  CHECK(ag.bus.si() == Approx(7e9));
  CHECK(collective_bandwidth(CollectiveKind::all_reduce, 8, Bytes(8e9), Seconds(1.0)).bus.si() == Approx(14e9));
  CHECK(collective_bandwidth(CollectiveKind::broadcast, 8, Bytes(8e9), Seconds(1.0)).bus.si() == 8e9);
}

TEST_CASE("Overlap efficiency: 0 as serial, 1 when the shorter half is hidden, negative when slower") {
  CHECK(overlap_efficiency(Seconds(10), Seconds(6), Seconds(10)) == 0.0);
  CHECK(overlap_efficiency(Seconds(10), Seconds(6), Seconds(6)) == 1.0);
  CHECK(overlap_efficiency(Seconds(10), Seconds(6), Seconds(12)) == Approx(-0.5));
  CHECK(overlap_efficiency(Seconds(10), Seconds(10), Seconds(9)) == 0.0);  // nothing to hide
}

TEST_CASE("A fused GEMM's idle time between its parts is exposed communication") {
  Hand h;
  GraphBuilder b(2);
  const BufferId shard = b.buffer(DeviceId(1U), 100, 100, DType::u8, BufferRole::input, "shard");
  const BufferId x = b.buffer(DeviceId(0U), 200, 100, DType::u8, BufferRole::input, "x");
  const BufferId w = b.buffer(DeviceId(0U), 100, 100, DType::u8, BufferRole::weight, "w");
  const BufferId y = b.buffer(DeviceId(0U), 200, 100, DType::u8, BufferRole::output, "y");
  const OpId copy =
      b.transfer(b.lane(DeviceId(1U), 1, "copies"), {}, std::array{b.all(shard)}, std::array{b.rows(x, 100, 100)}, {});
  Gemm g;
  g.m = 200;
  g.n = 100;
  g.k = 100;
  g.dtype = DType::u8;
  const OpId gemm = b.fused_gemm(b.lane(DeviceId(0U), 0, "gemms"), g, {});
  const std::array waits{Dep{copy, {}}};
  b.part(gemm,
         {{0, 100, 0, 100}, {}, std::array{b.rows(x, 0, 100)}, std::array{b.all(w)}, std::array{b.rows(y, 0, 100)}});
  b.part(gemm, {{100, 100, 0, 100},
                waits,
                std::array{b.rows(x, 100, 100)},
                std::array{b.all(w)},
                std::array{b.rows(y, 100, 100)}});
  h.graph = std::move(b).finish();
  h.resources.fluids = {{"1>0", ResourceKind::link, Bandwidth(1e9)}};
  h.demands.ops = {hand::flow(h.demands, Bytes(1e4), ResourceId(0U), {}), hand::fixed(Seconds(4e-6))};
  // 10 us of copy; the GEMM runs 2 us, waits 8 us, runs 2 us.
  h.timeline.ops = {{{}, {}, Seconds(10e-6), {}}, {{}, {}, Seconds(12e-6), {}}};
  h.timeline.part_ends = {Seconds(2e-6), Seconds(12e-6)};
  h.timeline.makespan = Seconds(12e-6);
  const Phases p = phases(h.view());
  CHECK(p.exposed.si() == us(8));
  CHECK(p.computing().si() == us(4));
  CHECK(p.total().si() == us(12));
  const auto path = critical_path(h.view());
  REQUIRE(path.size() == 2);
  CHECK(path[0].op == copy);
  CHECK(path[1].op == gemm);
  CHECK(path[1].begin.si() == us(10));
  CHECK(lower_bounds(h.view())[0].time.si() == us(10));
}

TEST_CASE("Interval sets") {
  const auto m =
      merged({{Seconds(3), Seconds(4)}, {Seconds(0), Seconds(2)}, {Seconds(1), Seconds(3)}, {Seconds(7), Seconds(7)}});
  REQUIRE(m.size() == 1);
  CHECK(length(m) == Seconds(4));
  const auto d = minus({{Seconds(0), Seconds(10)}}, {{Seconds(1), Seconds(2)}, {Seconds(4), Seconds(12)}});
  REQUIRE(d.size() == 2);
  CHECK(length(d) == Seconds(3));
}

TEST_CASE("Order of dates: by date, then by index, whatever their number") {
  for (const std::uint32_t n : {0U, 1U, 5U, 511U, 512U, 3000U}) {
    std::vector<Seconds> dates;
    for (std::uint32_t i = 0; i < n; ++i) dates.emplace_back(static_cast<double>(i * 7919U % 97U) * 1e-6);
    const std::vector<std::uint32_t> order = order_of(dates);
    REQUIRE(order.size() == n);
    for (std::uint32_t i = 0; i + 1 < n; ++i) {
      const Seconds a = dates[order[i]], b = dates[order[i + 1]];
      REQUIRE((a < b || (a == b && order[i] < order[i + 1])));
    }
  }
}
