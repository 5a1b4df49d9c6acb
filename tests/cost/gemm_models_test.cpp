// Compute models against hand figures, and what must hold whatever the coefficients.

#include "catch.hpp"
#include "cost/gemm_plan.hpp"
#include "overlap/error.hpp"

using namespace overlap;
using namespace overlap::literals;
using cost::GemmPlan;
using cost::GemmQuery;

namespace {

Device hopper() {
  Device d;
  d.name = "test-hopper";
  d.sms = 132;
  d.clock = Frequency(1.98e9);
  d.peak[static_cast<std::size_t>(DType::bf16)] = 989_TFLOPs;
  d.l2 = 50_MiB;
  d.hbm = 3350_GBps;
  return d;
}

Seconds tile_time(const Device& d, std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  return gemm_time(d, {m, n, k}, DType::bf16, DType::bf16, false, ComputeModel::tile);
}

}  // namespace

TEST_CASE("ideal is FLOPs over peak") {
  const Seconds t = ideal_gemm_time(hopper(), {4096, 4096, 4096}, DType::bf16);
  CHECK(t.si() == Approx(2.0 * 4096 * 4096 * 4096 / 989e12).epsilon(1e-12));
  CHECK(gemm_time(hopper(), {4096, 4096, 4096}, DType::bf16, DType::bf16, false, ComputeModel::ideal) == t);
}

TEST_CASE("an unknown operand type names the known ones") {
  CHECK_THROWS_WITH(ideal_gemm_time(hopper(), {16, 16, 16}, DType::f64), contains_text("bf16"));
}

TEST_CASE("roofline is the larger of compute and memory") {
  const Device d = hopper();
  const double memory = 2.0 * (16.0 * 8192 + 8192.0 * 8192 + 16.0 * 8192) / (3350e9 * d.hbm_efficiency);
  CHECK(gemm_time(d, {16, 8192, 8192}, DType::bf16, DType::bf16, false, ComputeModel::roofline).si() ==
        Approx(memory).epsilon(1e-12));
}

TEST_CASE("no model beats FLOPs over peak") {
  for (const auto& info : cost::compute_models()) {
    for (const std::uint32_t m : {1U, 100U, 128U, 1000U, 8192U}) {
      const GemmShape s{m, 4096, 4096};
      INFO(info.name << " m=" << m);
      CHECK(gemm_time(hopper(), s, DType::bf16, DType::bf16, false, info.model) >=
            ideal_gemm_time(hopper(), s, DType::bf16));
    }
  }
}

TEST_CASE("more work never takes less time, beyond a wave") {
  const Device d = hopper();
  for (const std::uint32_t n : {512U, 4096U, 14336U}) {
    for (const std::uint32_t k : {512U, 4096U, 16384U}) {
      Seconds before;
      for (std::uint32_t m = 64; m <= 16384; m *= 2) {
        const Seconds t = tile_time(d, m, n, k);
        INFO("m=" << m << " n=" << n << " k=" << k);
        CHECK(t > before * 0.999);
        before = t;
      }
    }
  }
}

TEST_CASE("fewer SMs never help") {
  const Device d = hopper();
  Seconds before = kForever;
  for (std::uint32_t sms = 4; sms <= 132; sms += 8) {
    const GemmPlan p = cost::plan_tile({&d, {4096, 4096, 4096}, DType::bf16, DType::bf16, false, sms, {}, {}});
    CHECK(p.total <= before * 1.0001);
    before = p.total;
  }
}

TEST_CASE("a plan's tiles and waves add up to its total") {
  const Device d = hopper();
  for (const std::uint32_t m : {64U, 640U, 5000U}) {
    const GemmPlan p = cost::plan_tile({&d, {m, 7168, 2048}, DType::bf16, DType::bf16, false, 0, {}, {}});
    const std::uint32_t waves = (p.tiles + p.workers - 1) / p.workers;
    CHECK((p.first_tile + p.tile_time * (waves - 1 + p.last_wave) + p.finish).si() ==
          Approx(p.total.si()).epsilon(1e-12));
  }
}
