// Kernel tables as files: plain rows are read in one go, others number by number, and both say the same.
#include <filesystem>
#include <fstream>

#include "catch.hpp"
#include "overlap/error.hpp"
#include "overlap/kernel_table.hpp"

using namespace overlap;

namespace {

// Four lines before the first row.
const std::string kHead =
    "# a comment\nmachine,132,4800,0.35,0,0\nkernel,128,256,3,0.8,0.04,0.36,0.001,4,0,0,0,0\n"
    "kernel,64,256,3,0.8,0.04,0.36,0.001,4,0,0,0,0\n";

std::shared_ptr<const KernelTable> load(const std::string& rows) {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "overlapsim_kernel_table.csv";
  std::ofstream(file, std::ios::binary) << kHead << rows;
  return load_kernel_table(file.string());
}

std::string error_of(const std::string& rows) {
  try {
    load(rows);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

bool says(const std::string& message, const std::string& what) {
  return message.find(what) != std::string::npos;
}

bool same(const MeasuredGemm& a, const MeasuredGemm& b) {
  return a.m == b.m && a.n == b.n && a.k == b.k && a.accumulate == b.accumulate && a.sms == b.sms &&
         a.kernel == b.kernel && a.splits == b.splits && a.time == b.time;
}

}  // namespace

TEST_CASE("numbers of a row are the nearest doubles, however they are written") {
  const auto t = load(
      "gemm,64,256,512,0,0,1,1,3.14\ngemm,65,256,512,1,8,0,2,0.000123456\ngemm,66,256,512,0,0,1,1,1234567.89012345\r\n"
      "gemm,67,256,512,0,0,1,1,3.14e0\ngemm,68,256,5.12e2,0,0,1,1,3.140\n\ngemm,69,256,512,0,0,1,1,7");
  REQUIRE(t->rows.size() == 6);
  CHECK(t->rows[0].time.si() == 3.14 * 1e-6);
  CHECK(t->rows[1].time.si() == 0.000123456 * 1e-6);
  CHECK(t->rows[1].accumulate);
  CHECK(t->rows[1].sms == 8);
  CHECK(t->rows[1].splits == 2);
  CHECK(t->rows[2].time.si() == 1234567.89012345 * 1e-6);
  CHECK(t->rows[3].time == t->rows[0].time);
  CHECK(t->rows[4].time == t->rows[0].time);
  CHECK(t->rows[4].k == 512);
  CHECK(t->rows[5].time.si() == 7 * 1e-6);
}

TEST_CASE("a table that is longer than what is read at a time loses no row") {
  std::string plain;
  std::string odd;  // a number that only the slow way reads
  for (std::uint32_t m = 1; m <= 9000; ++m) {
    const std::string row = "gemm," + std::to_string(m) + ",256,512,0,0," + std::to_string(m % 2) + ",1,";
    plain += row + std::to_string(m) + ".5\n";
    odd += row + std::to_string(m) + ".5e0\n";
  }
  const auto a = load(plain);
  const auto b = load(odd);
  REQUIRE(a->rows.size() == 9000);
  REQUIRE(b->rows.size() == 9000);
  for (std::size_t i = 0; i < a->rows.size(); ++i) {
    REQUIRE(same(a->rows[i], b->rows[i]));
    REQUIRE(a->rows[i].m == i + 1);
  }
}

TEST_CASE("a bad row is named with its line") {
  const std::string good = "gemm,64,256,512,0,0,1,1,3.14\n";
  CHECK(says(error_of(good + "gemm,64,256,512,0,0,7,1,3.14\n"), ":6"));
  CHECK(says(error_of(good + "gemm,64,256,512,0,0,7,1,3.14\n"), "kernel"));
  CHECK(says(error_of(good + good + "gemm,0,256,512,0,0,1,1,3.14\n"), ":7"));
  CHECK(says(error_of(good + good + "gemm,0,256,512,0,0,1,1,3.14\n"), "field 2"));
  CHECK(says(error_of("gemm,64,256,512,0,0,1,1,0\n"), "positive"));
  CHECK(says(error_of("gemm,64,256,512,0,0,1,1,3.1.4\n"), "field 9"));
  CHECK(says(error_of("gemm,64,256,512,0,0,1,1\n"), "8 fields"));
  CHECK(says(error_of("gemm,64,256,512,0,0,1,1,.\n"), "field 9"));
}
