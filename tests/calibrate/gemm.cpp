// Synthetic GEMM tables of a known device give its coefficients back.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "calibrate/fit.hpp"
#include "calibrate/solver.hpp"
#include "catch.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "overlap/kernel_table.hpp"

using namespace overlap;
using namespace overlap::calibrate;

namespace {

Device truth() {
  Device d = load_device("h100");
  d.gemm.mma_efficiency = 0.85;
  d.gemm.fixed = Seconds(3.5e-6);
  d.gemm.tile = Seconds(1.4e-6);
  d.gemm.l2_bytes_per_clock = 90;
  d.gemm.hbm_efficiency = 0.7;
  d.gemm.power_floor = 0.9;
  d.gemm.power_time = Seconds(200e-6);
  d.gemm.split_k = Seconds(4e-6);
  return d;
}

// Rows of `device` with +-1 % of noise that depends on the row alone.
std::vector<TimedGemm> rows_of(const Device& device) {
  std::vector<TimedGemm> rows;
  std::uint64_t z = 12345;
  for (const std::uint32_t n : {1024U, 3584U, 8192U, 14336U}) {
    for (const std::uint32_t k : {512U, 4096U, 8192U, 16384U}) {
      for (const std::uint32_t m : {16U, 96U, 256U, 640U, 1024U, 2048U, 4096U, 8192U}) {
        TimedGemm g;
        g.shape = {m, n, k};
        z = z * 6364136223846793005ULL + 1442695040888963407ULL;
        const double noise = static_cast<double>(z >> 40U) / static_cast<double>(1U << 24U) - 0.5;
        g.time = Seconds(predicted(device, g) * (1 + 0.02 * noise));
        rows.push_back(g);
      }
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("a fit to synthetic rows finds the coefficients within their stated uncertainty") {
  if (!solver_present()) {
    WARN("built without Ceres: skipped");
    return;
  }
  const Device known = truth();
  std::vector<TimedGemm> rows = rows_of(known);
  // Every 20th row ran a kernel half as fast: outliers that a least-squares fit would follow.
  for (std::size_t i = 7; i < rows.size(); i += 20) rows[i].time *= 1.5;
  Device device = load_device("h100");
  const Fit fit = fit_tile_model(device, rows);
  REQUIRE(fit.coefficients.size() == 8);
  const double truths[] = {0.85, 3.5, 1.4, 90, 0.7, 0.9, 200, 4};
  for (std::size_t i = 0; i < 8; ++i) {
    const Coefficient& c = fit.coefficients[i];
    INFO(c.name << " " << c.value << " +- " << c.sigma << ", is " << truths[i]);
    CHECK(c.sigma > 0);
    CHECK(std::abs(c.value - truths[i]) < 4 * c.sigma);
  }
  CHECK(std::abs(fit.coefficients[1].value - 3.5) < 0.2);
  CHECK(fit.after.median_pct < 0.7);
  CHECK(fit.before.median_pct > 5);
}

TEST_CASE("a row faster than the peak and a duplicate far off are rejected with the reason") {
  Inputs in;
  in.sources.push_back({"t.csv", "GEMM table", "", 4, 0});
  const auto add = [&](double us, std::uint32_t line) {
    TimedGemm g;
    g.shape = {4096, 4096, 4096};
    g.time = Seconds(us * 1e-6);
    g.at = {0, line};
    in.gemms.push_back(g);
  };
  add(180, 2);
  add(182, 3);
  add(300, 4);
  add(20, 5);  // 6900 TFLOP/s
  reject_inconsistent(in, load_device("h100"));
  REQUIRE(in.gemms.size() == 2);
  REQUIRE(in.rejected.size() == 2);
  CHECK(in.where(in.rejected[0].at) == "t.csv:5");
  CHECK(in.rejected[0].why.find("faster than the peak") != std::string::npos);
  CHECK(in.where(in.rejected[1].at) == "t.csv:4");
  CHECK(in.rejected[1].why.find("off the median of the 3 rows") != std::string::npos);
}

TEST_CASE("near rows: a measured GEMM gets its time, others the coefficients' time corrected; the table reads back") {
  Device device = load_device("h100");
  std::vector<TimedGemm> rows = rows_of(device);
  // This library is 20 % slower where n is 3584: no coefficient says so.
  for (TimedGemm& g : rows) {
    if (g.shape.n == 3584) g.time *= 1.2;
  }
  const double plain = predicted(device, rows[40]);
  add_near_rows(device, rows);
  CHECK(predicted(device, rows[40]) == Approx(rows[40].time.si()).epsilon(0.02));
  TimedGemm other;
  other.shape = {1024, 3584, 6144};  // between measured ones of the slow n
  const double corrected = predicted(device, other);
  device.gemm.kernels = nullptr;
  CHECK(predicted(device, rows[40]) == plain);
  CHECK(corrected > 1.08 * predicted(device, other));
  CHECK(corrected < 1.2 * predicted(device, other));

  add_near_rows(device, rows);
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "overlapsim_near_rows.csv";
  std::ofstream(file) << to_csv(*device.gemm.kernels, "two\nlines");
  const auto again = load_kernel_table(file.string());
  REQUIRE(again->near.size() == rows.size());
  CHECK(again->kernels.empty());
  Device reread = device;
  reread.gemm.kernels = again;
  CHECK(predicted(reread, other) == Approx(corrected).epsilon(1e-5));
}

TEST_CASE("left-out rows: equal weight shapes share a fold, and every fold gets some") {
  std::vector<int> count(5);
  for (std::uint32_t n = 1; n <= 40; ++n) {
    TimedGemm a, b;
    a.shape = {16, n * 128, 4096};
    b.shape = {9999, n * 128, 4096};
    CHECK(fold_of(family_of(a), 5) == fold_of(family_of(b), 5));
    ++count[fold_of(family_of(a), 5)];
  }
  for (const int c : count) CHECK(c > 2);
}
