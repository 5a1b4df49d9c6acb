// Times of library collectives out of the device's tables: channels between tables, and all-gathers in place.
#include "catch.hpp"
#include "overlap/config.hpp"
#include "overlap/cost.hpp"
#include "overlap/engine.hpp"
#include "overlap/graph_builder.hpp"

using namespace overlap;

namespace {

constexpr double kBytes = 1e6;  // of the whole buffer; every table has a knot there

CollectiveTable table(std::uint32_t channels, double start_us, double us, bool in_place = false) {
  CollectiveTable t{
      "all_gather", 2, channels, {{Bytes(1), Seconds(start_us * 1e-6)}, {Bytes(kBytes), Seconds(us * 1e-6)}}};
  t.in_place = in_place;
  return t;
}

// Microseconds of one all-gather of kBytes over two GPUs, alone.
double gather_us(const std::vector<CollectiveTable>& tables, std::uint16_t channels, bool in_place = false) {
  Experiment e = parse_experiment(R"({"device": "h200", "topology": "h200x2-nv18", "schedules": ["serial"],
    "workloads": [{"name": "w", "pattern": "ag+gemm", "tokens": 8, "in": 8, "out": 8, "tp": 2}],
    "cost": {"effects": {"launch": false}}})",
                                  "test");
  for (Device& d : e.devices) d.collectives = tables;
  GraphBuilder b(2);
  std::vector<LaneId> lanes;
  std::vector<Slice> reads, writes;
  for (std::uint32_t r = 0; r < 2; ++r) {
    const DeviceId d(r);
    lanes.push_back(b.lane(d, 1, "comm"));
    const BufferId whole = b.buffer(d, 1000, 1000, DType::u8, BufferRole::scratch, "gathered");
    const BufferId shard = b.buffer(d, 500, 1000, DType::u8, BufferRole::input, "shard");
    reads.push_back(in_place ? b.rows(whole, r * 500, 500) : b.all(shard));
    writes.push_back(b.all(whole));
  }
  Collective c;
  c.channels = channels;
  b.collective(lanes, c, reads, writes, {});
  const OpGraph graph = std::move(b).finish();
  const Priced p = price(graph, {e.topology, e.devices, e.background}, e.cost);
  return simulate(graph, p.demands, p.resources, {}).makespan.si() * 1e6;
}

}  // namespace

TEST_CASE("what few channels add to a collective is in inverse proportion to their number") {
  const std::vector<CollectiveTable> tables = {table(24, 5, 40), table(8, 5, 120), table(4, 5, 225)};
  CHECK(gather_us(tables, 0) == Approx(40));
  CHECK(gather_us(tables, 8) == Approx(120));
  CHECK(gather_us(tables, 4) == Approx(225));
  // 1/12 lies half way between 1/8 and 1/24.
  CHECK(gather_us(tables, 12) == Approx(80));
  // Fewer than any table has: 5 us start, then twice as long as with 4.
  CHECK(gather_us(tables, 2) == Approx(5 + 2 * 220));
  // More than any table has: the library's own number is the limit.
  CHECK(gather_us(tables, 32) == Approx(40));
  // A single table says nothing about channels.
  CHECK(gather_us({table(24, 5, 40)}, 4) == Approx(40));
}

TEST_CASE("an all-gather in place has its own table, where the device has one") {
  const std::vector<CollectiveTable> both = {table(24, 5, 40), table(24, 5, 30, true)};
  CHECK(gather_us(both, 0) == Approx(40));
  CHECK(gather_us(both, 0, true) == Approx(30));
  CHECK(gather_us({table(24, 5, 40)}, 0, true) == Approx(40));
  CHECK(gather_us({table(24, 5, 30, true)}, 0) == Approx(30));
}
