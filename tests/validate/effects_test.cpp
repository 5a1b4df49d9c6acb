// What a chain of GEMMs or copies costs beside its parts: each effect by the difference that it makes to one record.
#include "catch.hpp"
#include "overlap/config.hpp"
#include "overlap/kernel_table.hpp"
#include "overlap/validate.hpp"
#include "paths.hpp"

using namespace overlap;

namespace {

Device h200() {
  return load_device(source_dir() + "/configs/devices/h200.json");
}

Seconds time_of(const Record& r, const Device& d) {
  return predict(r, d, load_topology(source_dir() + "/topologies/h200x2-nv18.json"), {}).median;
}

Record record(const std::string& kind, const std::string& schedule, std::uint32_t d, GemmShape shape) {
  Record r;
  r.kind = kind;
  r.schedule = schedule;
  r.d = d;
  r.shape = shape;
  return r;
}

Device with_dip(Seconds loss) {
  Device d = h200();
  auto table = std::make_shared<KernelTable>(*d.gemm.kernels);
  table->dip.loss = loss;
  d.gemm.kernels = table;
  return d;
}

double us(Seconds t) {
  return t.si() * 1e6;
}

}  // namespace

TEST_CASE("pieces behind the first get back what their lone times lose as a device begins to compute") {
  const Seconds loss(4e-6);
  const auto gain = [&](std::uint32_t d, GemmShape shape) {
    const Record r = record("ag_gemm", "decomp_only", d, shape);
    return us(time_of(r, with_dip(Seconds())) - time_of(r, with_dip(loss)));
  };
  CHECK(gain(1, {2048, 14336, 8192}) == Approx(0).margin(1e-6));
  CHECK(gain(4, {2048, 14336, 8192}) == Approx(3 * us(loss)).margin(1e-3));  // 172 us each: all four hold it
  // 17 us each: none holds it; that the chain as a whole loses it once is not charged.
  CHECK(gain(16, {2048, 7168, 4096}) == Approx(0).margin(1e-6));
}

TEST_CASE("both directions of a link carry a little less than twice one") {
  Record one = record("peer_uni", "", 1, {});
  Record both = record("peer_bi", "", 1, {});
  one.bytes = both.bytes = Bytes(double{1U << 30U});
  const Topology t = load_topology(source_dir() + "/topologies/h200x2-nv18.json");
  const double share = t.links().front().both_ways;
  REQUIRE(share < 1);
  const double rate = t.route_bandwidth(DeviceId(0U), DeviceId(1U)).si();
  const double more = us(time_of(both, h200()) - time_of(one, h200()));
  const double ends = us(h200().stream.remote_join - h200().stream.join - h200().stream.local_wait);
  CHECK(more == Approx(one.bytes.si() / rate * (1 / share - 1) * 1e6 + ends).margin(0.01));
}

TEST_CASE("an event behind a copy or a kernel delays the next of its stream") {
  const auto slower = [](const Record& r, Seconds StreamCosts::*cost) {
    Device none = h200();
    none.stream.*cost = Seconds();
    Device some = none;
    some.stream.*cost = Seconds(1e-6);
    return us(time_of(r, some) - time_of(r, none));
  };
  // Copies in d chunks are the longer part of this layer; nobody waits for chunks of a copy alone.
  CHECK(slower(record("ag_gemm", "interdecom_dma", 4, {32768, 512, 8192}), &StreamCosts::copy_event) ==
        Approx(3).margin(1e-3));
  Record chunks = record("peer_chunked", "", 1, {});
  chunks.bytes = Bytes(1e6);
  chunks.chunks = 8;
  CHECK(slower(chunks, &StreamCosts::copy_event) == Approx(0).margin(1e-6));
  // Each of the d GEMMs for the peer signals its copy; the GEMM of the own part comes behind the last.
  // They then run beside other parts of the copies: 0.2 us more.
  CHECK(slower(record("gemm_rs", "local_last_dma", 4, {8192, 8192, 4096}), &StreamCosts::kernel_event) ==
        Approx(4).margin(0.3));
  CHECK(slower(record("ag_gemm", "decomp_only", 4, {8192, 8192, 4096}), &StreamCosts::kernel_event) ==
        Approx(0).margin(1e-6));
}
