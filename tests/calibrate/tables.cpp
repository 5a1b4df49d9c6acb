// Collective tables and links: what was put into a file of measurements comes out of the calibrated files.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "calibrate/calibrate.hpp"
#include "calibrate/solver.hpp"
#include "catch.hpp"
#include "config/reader.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "topology/generator.hpp"

using namespace overlap;
using namespace overlap::calibrate;
using Catch::Matchers::Contains;

namespace {

namespace fs = std::filesystem;

std::string file(const std::string& name, const std::string& text) {
  const fs::path folder = fs::temp_directory_path() / "overlapsim_calibrate_tables";
  fs::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary) << text;
  return (folder / name).string();
}

// 30 us + bytes / 200 GB/s, over 8 devices.
double line_us(double bytes) {
  return 30 + bytes / 200e9 * 1e6;
}

std::string table(double factor_at_16m) {
  std::string text = "collective,gpus,bytes,time_us\n";
  for (double b = 1048576; b <= 1073741824.0; b *= 2) {
    text += fmt::format("all_gather,8,{:.0f},{:.3f}\n", b, line_us(b) * (b == 16777216 ? factor_at_16m : 1));
  }
  return text;
}

}  // namespace

TEST_CASE("a collective table: knots, start and rate, and the error of sizes left out") {
  if (!solver_present()) {
    WARN("built without Ceres: skipped");
    return;
  }
  Report r;
  r.inputs = read_inputs({file("ag.csv", table(1))});
  Device d = load_device("h100");
  fit_collectives(r, d);
  REQUIRE(d.collectives.size() == 1);
  CHECK(d.collectives[0].kind == "all_gather");
  CHECK(d.collectives[0].members == 8);
  CHECK(d.collectives[0].knots.size() == 11);
  for (const double b : {1048576.0, 3e6, 1e8, 1073741824.0, 2e9}) {
    CHECK(collective_time(d.collectives[0], Bytes(b)) == Approx(line_us(b) * 1e-6).epsilon(1e-4));
  }
  REQUIRE(r.fits.size() == 1);
  REQUIRE(r.fits[0].coefficients.size() == 2);
  CHECK(r.fits[0].coefficients[0].value == Approx(30).epsilon(0.01));
  CHECK(r.fits[0].coefficients[1].value == Approx(200).epsilon(0.01));
  cross_validate_collectives(r);
  REQUIRE(r.folds.size() == 1);
  CHECK(r.folds[0].left_out.p90_pct < 0.5);  // the line itself, but for the end that is extrapolated
}

TEST_CASE("the outlier of two rows of one size is rejected, by what its neighbours say") {
  Report r;
  std::string text = table(1);
  text += fmt::format("all_gather,8,16777216,{:.3f}\n", line_us(16777216) * 1.6);
  r.inputs = read_inputs({file("out.csv", text)});
  Device d = load_device("h100");
  fit_collectives(r, d);
  REQUIRE(r.inputs.rejected.size() == 1);
  CHECK_THAT(r.inputs.rejected[0].why, Contains("+60 % off the other row of 16777216 bytes"));
  CHECK(collective_time(d.collectives[0], Bytes(16777216)) == Approx(line_us(16777216) * 1e-6));
}

TEST_CASE("a table of large sizes alone begins as the device's tables do") {
  Device d = load_device("h100");
  CollectiveTable of_all{"reduce_scatter", 2, d.collective_channels, {}};
  for (const auto& [bytes, us] : {std::pair{4096.0, 2.0}, {1e6, 10.0}, {4e6, 25.0}, {32e6, 80.0}}) {
    of_all.knots.push_back({Bytes(bytes), Seconds(us * 1e-6)});
  }
  CollectiveTable of_eight = of_all;
  of_eight.channels = 8;
  for (CollectiveKnot& k : of_eight.knots) k.time *= 1.5;
  const auto fitted = [&](const std::vector<CollectiveTable>& had) {
    Report r;
    for (const double bytes : {32e6, 128e6}) {
      r.inputs.collectives.push_back({"reduce_scatter", 2, 8, Bytes(bytes), Seconds(bytes * 4e-12), true, {}});
    }
    r.inputs.sources.push_back({});
    Device device = d;
    device.collectives = had;
    fit_collectives(r, device);
    return device.collectives.back();
  };
  // 128 us at 32 MB, where the default takes 80: 1.5 us more for each MB, at smaller sizes too.
  const CollectiveTable from_default = fitted({of_all});
  CHECK(from_default.channels == 8);
  REQUIRE(from_default.knots.size() == 5);
  CHECK(collective_time(from_default, Bytes(4e6)) == Approx(31e-6));
  CHECK(collective_time(from_default, Bytes(1e6)) == Approx(11.5e-6));
  // A table of its own: 128 us where it had 120.
  const CollectiveTable from_own = fitted({of_all, of_eight});
  REQUIRE(from_own.knots.size() == 5);
  CHECK(collective_time(from_own, Bytes(4e6)) == Approx(25e-6 * 1.5 * 128 / 120));
}

TEST_CASE("an all-gather measured in place and out of place makes two tables, other collectives one") {
  Report r;
  r.inputs.sources.push_back({});
  for (const double bytes : {1e6, 8e6}) {
    for (const bool in_place : {false, true}) {
      const Seconds t(bytes * (in_place ? 3e-12 : 4e-12));
      r.inputs.collectives.push_back({"all_gather", 2, 0, Bytes(bytes), t, in_place, {}});
      r.inputs.collectives.push_back({"all_reduce", 2, 0, Bytes(bytes), t, in_place, {}});
    }
  }
  Device d = load_device("h100");
  d.collectives.clear();
  fit_collectives(r, d);
  REQUIRE(d.collectives.size() == 3);
  CHECK(collective_time(d.collectives[0], Bytes(8e6)) == Approx(32e-6));
  CHECK_FALSE(d.collectives[0].in_place);
  CHECK(collective_time(d.collectives[1], Bytes(8e6)) == Approx(24e-6));
  CHECK(d.collectives[1].in_place);
  CHECK(d.collectives[2].kind == "all_reduce");
}

TEST_CASE("times of a table never fall, whatever the rows say") {
  Report r;
  r.inputs = read_inputs({file("fall.csv",
                               "test,gpus,bytes,us\nall_reduce,4,1024,12\nall_reduce,4,2048,10\n"
                               "all_reduce,4,4096,11\nall_reduce,4,8192,20\n")});
  Device d = load_device("h100");
  fit_collectives(r, d);
  REQUIRE(d.collectives.size() == 1);
  const auto& knots = d.collectives[0].knots;
  REQUIRE(knots.size() == 4);
  for (std::size_t i = 1; i < knots.size(); ++i) CHECK(knots[i].time >= knots[i - 1].time);
  CHECK(knots[0].time.si() == Approx(11e-6));
  CHECK(knots[3].time.si() == Approx(20e-6));
}

TEST_CASE("links: equal pairs set the link, unequal ones each direct link") {
  const auto fitted = [](const std::string& base, const std::string& text, Report& r) {
    r.topology_base = base;
    r.inputs = read_inputs({file("links.csv", text)});
    config::Value value = config::parse_file(base);
    fit_links(r, load_topology(base), value);
    return read_topology(config::Cursor(value, base, ""), "fitted");
  };
  const std::string mesh = file("mesh.json", R"({"kind": "full_mesh", "devices": 3, "link": {"bandwidth": "64 GB/s",
    "efficiency": 0.9, "latency": "1 us", "kind": "xgmi"}})");
  {
    Report r;
    const Topology t =
        fitted(mesh, "## unidirectional GB/s\nD\\D,0,1,2\n0,900,48.0,48.2\n1,47.9,900,48.1\n2,48,48,900\n", r);
    CHECK(t.route_bandwidth(DeviceId(0U), DeviceId(1U)).si() == Approx(48e9).epsilon(0.002));
    REQUIRE(r.fits.size() == 1);
    CHECK(r.fits[0].coefficients[0].value == Approx(0.75).epsilon(0.002));
    CHECK(r.fits[0].coefficients[0].sigma > 0);
    CHECK(r.fits[0].before.median_pct == Approx(20).epsilon(0.02));
  }
  {
    Report r;
    const Topology t = fitted(mesh, "D\\D,0,1,2\n0,N/A,24,48\n1,23,N/A,48\n2,48,48,N/A\n", r);
    CHECK(t.route_bandwidth(DeviceId(0U), DeviceId(1U)).si() == Approx(24e9).epsilon(0.001));
    CHECK(t.route_bandwidth(DeviceId(1U), DeviceId(0U)).si() == Approx(23e9).epsilon(0.001));
    CHECK(t.route_bandwidth(DeviceId(0U), DeviceId(2U)).si() == Approx(48e9).epsilon(0.001));
  }
  Report r;
  CHECK_THROWS_WITH(fitted(mesh, "D\\D,0,1,2,3\n0,N/A,24,48,40\n3,23,3,48,N/A\n", r), Contains("has 3 devices"));
}

TEST_CASE("a whole run writes files that load, and refuses what it cannot do") {
  if (!solver_present()) {
    WARN("built without Ceres: skipped");
    return;
  }
  const fs::path folder = fs::temp_directory_path() / "overlapsim_calibrate_run";
  fs::create_directories(folder);
  Request q;
  std::string gemms = "m,n,k,us\n";
  Device known = load_device("h100");
  known.gemm.fixed = Seconds(4e-6);
  for (const std::uint32_t m : {16U, 64U, 256U, 512U, 1024U, 2048U, 4096U}) {
    for (const std::uint32_t n : {1024U, 4096U, 8192U}) {
      for (const std::uint32_t k : {1024U, 8192U}) {
        TimedGemm g;
        g.shape = {m, n, k};
        gemms += fmt::format("{},{},{},{:.4f}\n", m, n, k, predicted(known, g) * 1e6);
      }
    }
  }
  q.data = {
      file("gemms.csv", gemms), file("ag.csv", table(1)),
      file("bw.csv", "D\\D,0,1,2,3,4,5,6,7\n0,N/A,390,390,390,390,390,390,390\n1,390,N/A,390,390,390,390,390,390\n")};
  q.device = "h100";
  q.topology = "h100x8-nvswitch";
  q.device_out = (folder / "mine.json").string();
  q.topology_out = (folder / "mine-topology.json").string();
  q.report_out = (folder / "report.json").string();
  CHECK(run(q) == 0);
  const Device d = load_device(q.device_out);
  CHECK(d.name == "mine");
  CHECK(d.gemm.fixed.si() == Approx(4e-6).epsilon(0.05));
  CHECK(d.gemm.kernels != nullptr);
  REQUIRE(d.collectives.size() == 1);
  const Topology t = load_topology(q.topology_out);
  CHECK(t.route_bandwidth(DeviceId(0U), DeviceId(5U)).si() == Approx(390e9).epsilon(0.001));
  CHECK_NOTHROW(config::parse_file(q.report_out));

  Request bad = q;
  bad.topology.clear();
  CHECK_THROWS_WITH(run(bad), Contains("--topology-out needs --topology"));
  bad = q;
  bad.device.clear();
  CHECK_THROWS_WITH(run(bad), Contains("--device BASE is needed"));
  bad = q;
  bad.cross_validate = 1;
  CHECK_THROWS_WITH(run(bad), Contains("2 to 100 folds"));
}
