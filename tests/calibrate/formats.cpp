// Every format that calibrate reads, in small files written for the test.
#include <filesystem>
#include <fstream>
#include "catch.hpp"

#include "calibrate/inputs.hpp"
#include "overlap/error.hpp"

using namespace overlap;
using namespace overlap::calibrate;
using Catch::Matchers::Contains;

namespace {

namespace fs = std::filesystem;

std::string file(const std::string& name, const std::string& text) {
  const fs::path folder = fs::temp_directory_path() / "overlapsim_calibrate_formats";
  fs::create_directories(folder);
  const fs::path path = folder / name;
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}
Inputs read(const std::string& name, const std::string& text) {
  return read_inputs({file(name, text)});
}

constexpr const char* kNccl =
    "# nThread 1 nGpus 4 minBytes 1048576 maxBytes 4194304 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid 100 on node1 device  0 [0x1b] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid 100 on node1 device  1 [0x43] NVIDIA H100 80GB HBM3\n"
    "#  Rank  2 Group  0 Pid 100 on node1 device  2 [0x52] NVIDIA H100 80GB HBM3\n"
    "#  Rank  3 Group  0 Pid 100 on node1 device  3 [0x61] NVIDIA H100 80GB HBM3\n"
    "#\n"
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
    "           0             0     float     sum      -1     0.21    0.00    0.00      0     0.20    0.00    0.00     "
    " 0\n"
    "     1048576        262144     float     sum      -1    40.00   26.21   39.32      0    41.00   25.58   38.36     "
    " 0\n"
    "     2097152        524288     float     sum      -1    52.00   40.33   60.49      0    52.50   39.95   59.92     "
    " 0\n"
    "     4194304       1048576     float     sum      -1    70.00   30.00   45.00      0    69.00   60.79   91.18     "
    " 0\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 55.0\n";

}  // namespace

TEST_CASE("GEMM tables: spellings of columns, separators and units") {
  for (const char* text :
       {"m,n,k,us\n128,256,512,7.5\n", "M;N;K;time (us)\n128;256;512;7.5\n",
        "k\tn\tm\tlatency_ms\n512\t256\t128\t0.0075\n", "# a comment\nM,N,K,us_a,us_b,us_c\n128,256,512,7.5,,7.5\n",
        "n,m,k,duration_ns\r\n256,128,512,7500\r\n", "m,n,k,dtype,tflops\n128,256,512,bfloat16,4.473924266666667\n"}) {
    const Inputs in = read("gemm.csv", text);
    INFO(text);
    REQUIRE(in.gemms.size() == 1);
    CHECK(in.gemms[0].shape.m == 128);
    CHECK(in.gemms[0].shape.n == 256);
    CHECK(in.gemms[0].shape.k == 512);
    CHECK(in.gemms[0].time.si() == Approx(7.5e-6));
  }
}

TEST_CASE("nccl-tests output: kind, devices and rows; a row that contradicts itself is rejected") {
  const Inputs in = read("log.txt", kNccl);
  CHECK(in.sources[0].format == "nccl-tests");
  CHECK(in.sources[0].device == "H100");
  REQUIRE(in.collectives.size() == 5);
  CHECK(in.collectives[0].kind == "all_reduce");  // busbw is 1.5 algbw: 2 (n-1)/n of four
  CHECK(in.collectives[0].members == 4);
  CHECK(in.collectives[0].time.si() == Approx(40e-6));
  CHECK(in.collectives[1].in_place);
  REQUIRE(in.rejected.size() == 2);
  CHECK_THAT(in.rejected[0].why, Contains("no bytes"));
  CHECK_THAT(in.rejected[1].why, Contains("59.92 GB/s, the row says 30"));
}

TEST_CASE("nvbandwidth output: direction of a matrix, totals of both directions") {
  const Inputs in = read(
      "bw.txt",
      "nvbandwidth Version: v0.7\nBuilt from Git version: v0.7\n\nDevice 0: NVIDIA H200 (00000000:1b:00)\n"
      "Device 1: NVIDIA H200 (00000000:43:00)\n\nRunning host_to_device_memcpy_ce.\n"
      "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0     55.33     55.34\n\n"
      "SUM host_to_device_memcpy_ce 110.67\n\nRunning device_to_device_memcpy_read_ce.\n"
      "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n           0         1\n 0       N/A    395.10\n"
      " 1    394.00       N/A\n\nSUM device_to_device_memcpy_read_ce 789.10\n\n"
      "Running device_to_device_bidirectional_memcpy_write_ce.\n"
      "memcpy CE GPU(row) <-> GPU(column) Write1 bandwidth (GB/s)\n           0         1\n 0       N/A    391.00\n"
      " 1    391.00       N/A\n\nmemcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)\n"
      "           0         1\n 0       N/A    782.00\n 1    782.00       N/A\n");
  REQUIRE(in.pairs.size() == 4);
  CHECK(in.pairs[0].from == 1);  // device 0 reads from device 1
  CHECK(in.pairs[0].to == 0);
  CHECK(in.pairs[0].rate.si() == Approx(395.1e9));
  CHECK(in.pairs[2].both_ways);
  CHECK(in.pairs[2].rate.si() == Approx(391e9));
}

TEST_CASE("what cannot be read is one message with its place") {
  CHECK_THROWS_WITH(read("a.csv", ""), Contains("a.csv: the file is empty"));
  CHECK_THROWS_WITH(read("a.csv", "hello world\n1 2 3\n"), Contains("no known format"));
  CHECK_THROWS_WITH(read("a.csv", "m,n,k\n1,2,3\n"), Contains("a.csv:1: m, n and k, but no column of times"));
  CHECK_THROWS_WITH(read("a.csv", "m,n,k,us\n64,64,64,nan\n"), Contains("a.csv:2: us is 'nan'"));
  CHECK_THROWS_WITH(read("a.csv", "m,n,k,us\n64,64,64,0\n"), Contains("a.csv:2: us is '0'"));
  CHECK_THROWS_WITH(read("a.csv", "m,n,k,us\n64,0,64,3\n"), Contains("a.csv:2: n is '0'"));
  CHECK_THROWS_WITH(read("a.csv", "m,n,k,us\n64,64,64\n"), Contains("3 fields where the header of line 1 has 4"));
  CHECK_THROWS_WITH(read("a.csv", "m,n,k,us\n64,64,64,-3\n"),
                    Contains("no row of the file is usable: a negative time"));
  CHECK_THROWS_WITH(read("a.csv", "m,n,k,us\n"), Contains("it has no rows"));
  CHECK_THROWS_WITH(read_inputs({"/nowhere/at/all"}), Contains("there is no such file"));
}

TEST_CASE("files of two devices are refused") {
  const std::string a = file("h100.csv", "m,n,k,us\n64,64,64,3\n"), b = file("a100.csv", "m,n,k,us\n64,64,64,4\n");
  CHECK_THROWS_WITH(read_inputs({a, b}),
                    Contains("measured on A100, but") && Contains("calibrate one device at a time"));
  CHECK_THROWS_WITH(read("t.csv", "m,n,k,us,gfx\n64,64,64,3,gfx950\n64,64,64,3,gfx942\n"), Contains("t.csv:3"));
}

TEST_CASE("names of devices in text") {
  using Names = std::vector<std::string>;
  CHECK(device_models("8xH100 80GB") == Names{"H100"});
  CHECK(device_models("aic_a100_sxm_bf16.csv") == Names{"A100"});
  CHECK(device_models("AMD Instinct MI300X, 8x MI300X") == Names{"MI300X"});
  CHECK(device_models("h200x2/gemm.jsonl") == Names{"H200"});
  CHECK(device_models("H200 beside B200") == Names{"H200", "B200"});
  CHECK(device_models("cuda 13, L2 of 60 MB, A1, version 100").empty());
}
