// Measured records of a known device give its costs back.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "calibrate/calibrate.hpp"
#include "calibrate/kernels.hpp"
#include "calibrate/solver.hpp"
#include "catch.hpp"
#include "config/value.hpp"
#include "cost/kernel_model.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "paths.hpp"

using namespace overlap;
using namespace overlap::calibrate;

namespace {

namespace fs = std::filesystem;

Device truth() {
  Device d = load_device("h200");
  d.stream.join = Seconds(9e-6);
  d.stream.remote_join = Seconds(15e-6);
  d.stream.kernel_gap = Seconds(2.2e-6);
  d.stream.satisfied_wait = Seconds(1.5e-6);
  d.stream.copy_gap = Seconds(3e-6);
  d.gemm.busy_node = 0.03;
  for (CollectiveTable& t : d.collectives) {
    for (CollectiveKnot& k : t.knots) k.time *= 1.5;
  }
  return d;
}

// Lines without times.
std::vector<std::string> cases() {
  std::vector<std::string> out;
  for (const std::uint64_t b : {65536U, 1048576U, 4194304U, 33554432U, 134217728U, 536870912U}) {
    out.push_back(fmt::format(R"("kind":"peer_uni","bytes":{})", b));
    out.push_back(fmt::format(R"("kind":"peer_chunked","bytes":{},"chunks":8)", b));
    out.push_back(fmt::format(R"("kind":"nccl","op":"all_gather","gpus":2,"bytes":{})", b));
    out.push_back(fmt::format(R"("kind":"nccl","op":"reduce_scatter","gpus":2,"bytes":{})", b));
  }
  for (const std::uint32_t m : {3072U, 6144U, 12288U})
    out.push_back(fmt::format(R"("kind":"gemm","gpus":1,"m":{},"n":8192,"k":4096)", m));
  for (const std::uint32_t m : {2048U, 4096U, 8192U}) {
    for (const std::uint32_t n : {4096U, 8192U}) {
      const std::string shape = fmt::format(R"("m":{},"n":{},"k":4096)", m, n);
      out.push_back(R"("kind":"gemm","gpus":1,)" + shape);
      for (const std::uint32_t d : {1U, 2U, 4U, 8U}) {
        for (const char* s : {"decomp_only", "interdecom_dma", "hetero_unfused_dma"}) {
          out.push_back(fmt::format(R"("kind":"ag_gemm","schedule":"{}","d":{},"gpus":2,)", s, d) + shape);
        }
      }
      out.push_back(R"("kind":"ag_gemm","schedule":"gemm_only","d":1,"gpus":2,)" + shape);
    }
  }
  return out;
}

constexpr const char* kClock = "clock under load over the kernel table's";

// A file of these cases, timed by replay on `device` with +-0.3 % of noise that depends on the line alone.
std::string timed(const Device& device, const Topology& topology) {
  const fs::path file = fs::temp_directory_path() / "overlapsim_calibrate_records.jsonl";
  std::string text;
  for (const std::string& c : cases()) text += "{" + c + ",\"median_us\":1}\n";
  std::ofstream(file) << text;
  const RecordSet set = read_records({file.string()});
  text.clear();
  std::uint64_t z = 99;
  for (std::size_t i = 0; i < set.records.size(); ++i) {
    z = z * 6364136223846793005ULL + 1442695040888963407ULL;
    const double noise = static_cast<double>(z >> 40U) / static_cast<double>(1U << 24U) - 0.5;
    const double us = predict(set.records[i], device, topology, {}).median.si() * 1e6 * (1 + 0.006 * noise);
    text += fmt::format("{{{},\"median_us\":{:.4f},\"min_us\":{:.4f},\"max_us\":{:.4f}}}\n", cases()[i], us, us * 0.995,
                        us * 1.005);
  }
  std::ofstream(file) << text;
  return file.string();
}

const Coefficient& named(const Report& r, std::string_view name) {
  for (const Fit& f : r.fits) {
    for (const Coefficient& c : f.coefficients) {
      if (c.name == name) return c;
    }
  }
  throw CheckError("no coefficient " + std::string(name));
}

}  // namespace

TEST_CASE("replayed records give back joins, gaps, waits and tables of collectives") {
  if (!solver_present()) {
    WARN("built without Ceres: skipped");
    return;
  }
  const Topology topology = load_topology("h200x2-nv18");
  const Device known = truth();
  Report r;
  r.inputs = read_inputs({timed(known, topology)});
  r.topology_base = source_dir() + "/topologies/h200x2-nv18.json";
  config::Value file = config::parse_file(r.topology_base);
  Device device = load_device("h200");
  fit_records(r, device, topology, file, r.inputs.records);
  const std::pair<const char*, double> truths[] = {{"stream/join", 9},         {"stream/remote_join", 15},
                                                   {"stream/kernel_gap", 2.2}, {"stream/satisfied_wait", 1.5},
                                                   {"stream/copy_gap", 3},     {"gemm/busy_node", 0.03}};
  for (const auto& [name, is] : truths) {
    const Coefficient& c = named(r, name);
    INFO(name << " " << c.value << " +- " << c.sigma << ", is " << is);
    CHECK(c.sigma > 0);
    CHECK(std::abs(c.value - is) < std::max(4 * c.sigma, 0.02 * is));
    CHECK(std::abs(c.value - is) < 0.15 * is);
  }
  for (const CollectiveTable& t : device.collectives) {
    // The records gather in place; the table of gathers out of place is left as it was.
    if (t.channels != device.collective_channels || t.in_place != (t.kind == "all_gather")) continue;
    if (t.kind != "all_gather" && t.kind != "reduce_scatter") continue;
    for (const CollectiveTable& k : known.collectives) {
      if (k.kind != t.kind || k.channels != t.channels || k.in_place != t.in_place) continue;
      for (const double bytes : {33554432.0, 134217728.0, 536870912.0}) {
        CHECK(collective_time(t, Bytes(bytes)) == Approx(collective_time(k, Bytes(bytes))).epsilon(0.02));
      }
    }
  }
  for (const Fit& f : r.fits) {
    if (f.name != "streams, events and copies, by replay") continue;
    CHECK(f.after.median_pct < 0.4);
    CHECK(f.before.median_pct > 3 * f.after.median_pct);
  }
}

TEST_CASE("a machine that clocks higher than the kernel table's gives its clock back, another is not given one") {
  if (!solver_present()) {
    WARN("built without Ceres: skipped");
    return;
  }
  const Topology topology = load_topology("h200x2-nv18");
  const std::string base = source_dir() + "/topologies/h200x2-nv18.json";
  for (const double clock : {1.0, 0.95, 1.04}) {
    INFO("clock " << clock);
    Device known = truth();
    known.gemm.kernels = cost::at_clock(*known.gemm.kernels, clock);
    Report r;
    r.inputs = read_inputs({timed(known, topology)});
    config::Value file = config::parse_file(base);
    Device device = load_device("h200");
    r.topology_base = base;
    fit_records(r, device, topology, file, r.inputs.records);
    if (clock == 1.0) {
      CHECK_THROWS_AS(named(r, kClock), CheckError);
      continue;
    }
    const Coefficient& c = named(r, kClock);
    INFO(c.value << " +- " << c.sigma);
    CHECK(c.sigma > 0);
    CHECK(c.value == Approx(clock).epsilon(0.005));
    CHECK(named(r, "stream/join").value == Approx(9).epsilon(0.15));
  }
}

TEST_CASE("kernel rows: a table made of GEMMs with kernel names predicts them and names their kernels") {
  if (!solver_present()) {
    WARN("built without Ceres: skipped");
    return;
  }
  // Two kernels of a made-up library: the larger tile for the larger GEMMs.
  Report r;
  r.inputs.sources.push_back({"made", "measured records", "", 0, 0});
  Device base = load_device("h100");
  for (const std::uint32_t n : {1024U, 2048U, 4096U, 8192U}) {
    for (const std::uint32_t k : {512U, 1024U, 2048U, 4096U, 8192U}) {
      for (const std::uint32_t m : {128U, 256U, 512U, 1024U, 2048U, 4096U, 8192U}) {
        const auto time = [&](double cols, double rows, double step, double fixed) {
          const double waves = std::ceil(std::ceil(n / cols) * std::ceil(m / rows) / 132);
          return fixed + waves * (0.8 + step * std::ceil(k / 64.0));
        };
        const double large = time(256, 128, 0.6, 3.5), small = time(64, 64, 0.11, 2.5);
        TimedGemm g;
        g.shape = {m, n, k};
        g.tile_cols = large < small ? 256 : 64, g.tile_rows = large < small ? 128 : 64;
        g.time = Seconds(std::min(large, small) * 1e-6);
        r.inputs.gemms.push_back(g);
      }
    }
  }
  Device device = base;
  fit_kernels(r, device);
  REQUIRE(device.gemm.kernels);
  REQUIRE(device.gemm.kernels->kernels.size() == 2);
  for (const KernelModel& k : device.gemm.kernels->kernels) {
    CHECK(k.time.step.si() * 1e6 == Approx(k.cols == 256 ? 0.6 : 0.11).epsilon(0.1));
  }
  TimedGemm other;
  other.shape = {3000, 3072, 3000};
  const double waves = std::ceil(12 * std::ceil(3000 / 128.0) / 132);
  CHECK(predicted(device, other) * 1e6 == Approx(3.5 + waves * (0.8 + 0.6 * std::ceil(3000 / 64.0))).epsilon(0.06));
  INFO(r.fits[0].notes[0]);
  CHECK(r.fits[0].notes[0].find("named for 100 %") != std::string::npos);
}
