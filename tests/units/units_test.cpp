#include "overlap/units.hpp"

#include <string>

#include "catch.hpp"
#include "overlap/error.hpp"
#include "overlap/ids.hpp"

using namespace overlap;
using namespace overlap::literals;

TEST_CASE("dimensions combine") {
  static_assert(std::is_same_v<decltype(1_MiB / 1.0_s), Bandwidth>);
  static_assert(std::is_same_v<decltype(Bytes(1) / Bandwidth(1)), Seconds>);
  static_assert(std::is_same_v<decltype(1.0_s / 1.0_us), double>);
  CHECK((Bytes(400e9) / 400_GBps).si() == 1.0);
}

TEST_CASE("GB is 1e9, GiB is 2^30, Gb is bits") {
  CHECK(parse_bytes("1 GB").si() == 1e9);
  CHECK(parse_bytes("1 GiB").si() == 1073741824.0);
  CHECK(parse_bandwidth("450 GB/s").si() == 450e9);
  CHECK(parse_bandwidth("400 Gb/s").si() == 50e9);
  CHECK(parse_bandwidth("400GB/s").si() == 400e9);
  CHECK(parse_seconds("1.7 us").si() == Approx(1.7e-6));
  CHECK(parse_flop_rate("989 TFLOP/s").si() == 989e12);
  CHECK(parse_frequency("1.98 GHz").si() == 1.98e9);
}

TEST_CASE("wrong units are refused with the reason") {
  CHECK_THROWS_WITH(parse_bandwidth("450 Gb"), contains_text("Gb") && contains_text("GB/s"));
  CHECK_THROWS_WITH(parse_seconds("400 GB/s"), contains_text("bandwidth where a time belongs"));
  CHECK_THROWS_WITH(parse_bytes("12"), contains_text("no unit"));
  for (const char* bad : {"", "GB", "nan GB", "inf GB", "1e999 GB", "1 GB extra", "0x10 GB"}) {
    CHECK_THROWS_AS(parse_bytes(bad), UnitError);
  }
}

TEST_CASE("text has a unit and four digits") {
  CHECK(to_text(Seconds(1.2345e-3)) == "1.234 ms");
  CHECK(to_text(Bytes(64.0 * 1048576)) == "64 MiB");
  CHECK(to_text(Bandwidth(397e9)) == "397 GB/s");
  CHECK(to_text(Seconds(0)) == "0 ns");
}

TEST_CASE("nearest name") {
  CHECK(nearest_name("interdecmp", {"serial", "interdecomp", "ficco"}) == "interdecomp");
  CHECK(nearest_name("zzzz", {"serial", "ficco"}).empty());
}
