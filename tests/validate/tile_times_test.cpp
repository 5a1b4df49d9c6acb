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

TEST_CASE("our tile kernel pays more a tile than the library's kernels that the model is fitted on: by how much") {
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
    CHECK(s.predicted_end < s.measured_end);
    CHECK(s.predicted_end.si() > 0.6 * s.measured_end.si());
    if (r.parts == 2 && r.shape.m == 8192)
      (r.shape.k == 8192 ? long_k : short_k) = (s.measured_wave - s.predicted_wave).si();
  }
  // Epilogues of the kernel do not overlap the next tile's main loop: 4 us of a wave at k = 1024, 9 us at k = 8192.
  CHECK(short_k > 3e-6);
  CHECK(short_k < 6e-6);
  CHECK(long_k > 5e-6);
  CHECK(long_k < 12e-6);
}

TEST_CASE("files without tile times are refused by name") {
  CHECK_THROWS_AS(read_tiles({source_dir() + "/tests/data/h200x2-host2/gemm.jsonl"}), InputError);
}
