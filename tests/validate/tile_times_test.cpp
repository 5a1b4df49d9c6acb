#include "validate/tile_times.hpp"

#include "catch.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "paths.hpp"

using namespace overlap;
using namespace overlap::validation;

namespace {

std::vector<TileRecord> measured() {
  return read_tiles({source_dir() + "/tests/data/h200x2-host2/tiles.jsonl"});
}

}  // namespace

TEST_CASE("the score of a prediction that is right is zero, of one that is late by a tenth a tenth") {
  TileRecord r;
  r.shape = {256, 512, 64};
  r.tile_rows = 128;
  r.tile_cols = 256;
  r.workers = 2;
  for (const double us : {10.0, 11.0, 20.0, 21.0}) r.ends.emplace_back(us * 1e-6);
  const TileScore right = score_tiles(r, r.ends);
  CHECK(right.p90_pct == 0);
  CHECK(right.measured_wave.si() == Approx(10e-6));
  std::vector<Seconds> late;
  for (const Seconds t : r.ends) late.push_back(t + Seconds(2.1e-6));
  const TileScore s = score_tiles(r, late);
  CHECK(s.median_pct == Approx(10.0));
  CHECK(s.predicted_end.si() == Approx(23.1e-6));
  CHECK(s.predicted_wave.si() == Approx(10e-6));
}

TEST_CASE(
    "tiles of our own kernel are stored when its coefficients say, or later where each tile signals: by how much") {
  const auto records = measured();
  REQUIRE(records.size() == 14);
  const Device device = load_device("h200");
  const Topology topology = load_topology("h200x2-nv18");
  double long_k = 0;
  double short_k = 0;
  for (const TileRecord& r : records) {
    CAPTURE(r.where);
    const std::vector<Seconds> predicted = predicted_tiles(r, device, topology, {});
    const TileScore s = score_tiles(r, predicted);
    CHECK(s.predicted_end.si() > 0.93 * s.measured_end.si());
    CHECK(s.predicted_end.si() < 1.05 * s.measured_end.si());
    if (r.parts == 2 && r.shape.m == 8192)
      (r.shape.k == 8192 ? long_k : short_k) = s.predicted_wave / s.measured_wave - 1;
  }
  // The coefficients are of the device file's clock; this host ran 3.3 % faster.
  CHECK(short_k > 0.02);
  CHECK(short_k < 0.05);
  CHECK(long_k > 0.02);
  CHECK(long_k < 0.05);
}

TEST_CASE("files without tile times are refused by name") {
  CHECK_THROWS_AS(read_tiles({source_dir() + "/tests/data/h200x2-host2/gemm.jsonl"}), InputError);
}
