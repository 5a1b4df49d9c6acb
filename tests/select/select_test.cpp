#include "overlap/select.hpp"

#include <cmath>

#include "catch.hpp"
#include "overlap/error.hpp"

using namespace overlap;
using namespace overlap::literals;

namespace {

double ternary_minimum(Seconds comp, Seconds comm, const CompassCalibration& c) {
  double low = 1.0;
  double high = 2000.0;
  for (int i = 0; i < 300; ++i) {
    const double a = low + (high - low) / 3;
    const double b = high - (high - low) / 3;
    (compass_decomp(comp, comm, a, c) < compass_decomp(comp, comm, b, c) ? high : low) =
        compass_decomp(comp, comm, a, c) < compass_decomp(comp, comm, b, c) ? b : a;
  }
  return (low + high) / 2;
}

}  // namespace

TEST_CASE("check 11: Compass's d* is the minimum on the grid of 320 points") {
  int points = 0;
  for (const double comp : {.5, 1., 2., 5., 10.}) {
    for (const double comm : {.25, .5, 1., 4.}) {
      for (const double alpha : {.005, .02, .05, .1}) {
        for (const double beta : {.9, 1., 1.05, 1.1}) {
          CompassCalibration c;
          c.alpha = alpha;
          c.beta = beta;
          const Seconds tc(comp);
          const Seconds tm(comm);
          const double d = compass_degree(tc, tm, c);
          const double found = ternary_minimum(tc, tm, c);
          CHECK(compass_decomp(tc, tm, d, c).si() <= compass_decomp(tc, tm, found, c).si() * (1 + 1e-9));
          CHECK(compass_decomp(tc, tm, d, c).si() == Approx(compass_decomp(tc, tm, found, c).si()).epsilon(1e-9));
          CHECK(d == Approx(found).epsilon(1e-6));
          std::uint32_t brute = 1;
          for (std::uint32_t i = 2; i <= 64; ++i) {
            if (compass_decomp(tc, tm, i, c) < compass_decomp(tc, tm, brute, c)) brute = i;
          }
          CHECK(compass_pick_degree(tc, tm, c, 64) == brute);
          ++points;
        }
      }
    }
  }
  CHECK(points == 320);
}

TEST_CASE("check 11: examples of d* and the agnostic control's monotony") {
  CompassCalibration c;
  CHECK(compass_degree(1_s, 1_s, c) == Approx(std::sqrt(50.0)));
  CHECK(compass_degree(2_s, 1_s, c) == Approx(5.0));
  CHECK(compass_degree(4_s, 1_s, c) == Approx(3.5355).epsilon(1e-4));
  CHECK(compass_degree(8_s, 1_s, c) == Approx(2.5));
  CHECK(compass_decomp(1_s, 1_s, 7, c).si() == Approx(1.2629).epsilon(1e-4));
  CHECK(compass_decomp(1_s, 1_s, 1, c).si() == Approx(2.0));
  CompassCalibration none;
  none.alpha = 0.0;  // eta = 1
  for (int d = 1; d < 64; ++d) {
    CHECK(compass_decomp(3_s, 2_s, d + 1, none) < compass_decomp(3_s, 2_s, d, none));
  }
  const Choice agnostic = select_agnostic({.comp = 3_s, .comm = 2_s, .devices = 8, .max_degree = 16});
  CHECK(agnostic.pick == "interdecom d=16");
  CHECK(agnostic.predicted.si() == Approx(3 + 2.0 / 16));
}

TEST_CASE("alpha and beta are found again from times that follow the form") {
  CompassCalibration truth;
  truth.alpha = 0.031;
  truth.beta = 1.07;
  std::vector<CompassSample> samples;
  for (const std::uint32_t d : {1U, 2U, 4U, 8U, 16U}) {
    for (const double comm : {.3, 1., 2.}) {
      samples.push_back({1_s, Seconds(comm), d, compass_decomp(1_s, Seconds(comm), d, truth)});
    }
  }
  const CompassCalibration found = calibrate_compass(samples);
  CHECK(found.alpha == Approx(truth.alpha).epsilon(1e-9));
  CHECK(found.beta == Approx(truth.beta).epsilon(1e-9));
  samples.resize(1);
  CHECK_THROWS_AS(calibrate_compass(samples), InputError);
}

TEST_CASE("Compass takes the smaller prediction and says by which two numbers") {
  CompassInputs in{.comp = 1_s, .comm = 1_s, .devices = 8};
  Choice c = select_compass(in);
  CHECK(c.pick == "intrafusion");  // 7/8 + 1/8 = 1 against 1.2629
  CHECK(c.decision.left_value == Approx(1.0));
  CHECK(c.decision.right_value == Approx(1.2629).epsilon(1e-4));
  CHECK(c.decision.relation == "<");
  in.calibration.fusion_fixed = 1_s;
  c = select_compass(in);
  CHECK(c.pick == "interdecom d=7");
  CHECK(c.degree == 7U);
  in.allowed = {1, 2, 4, 8};
  CHECK(select_compass(in).pick == "interdecom d=8");
  in.calibration.alpha = 10;
  CHECK(select_compass(in).pick == "serial");
  CHECK_THROWS_AS(select_compass({.comp = 0_s, .comm = 1_s}), InputError);
}

TEST_CASE("check 13: thresholds of the XLA gate for N = 2..64, closed at equality and open above") {
  CHECK_FALSE(xla_gate_threshold(2, 1).has_value());
  CHECK(xla_gate_threshold(4, 1).value() == Approx(0.50));
  CHECK(xla_gate_threshold(8, 1).value() == Approx(0.25));
  CHECK(xla_gate_threshold(16, 1).value() == Approx(0.125));
  CHECK_FALSE(xla_gate_threshold(4, 2).has_value());
  CHECK(xla_gate_threshold(8, 2).value() == Approx(1.5));
  CHECK(xla_gate_threshold(16, 2).value() == Approx(1.25));
  CHECK(xla_gate_threshold(64, 2).value() == Approx(1.0625));
  CHECK(xla_gate_threshold(8, 3).value() == Approx(2.75));
  for (const double mult : {1.0, 2.0, 3.0}) {
    for (std::uint32_t n = 2; n <= 64; ++n) {
      const auto at = [&](double ratio) {
        return select_xla_gate(
                   {.comp = Seconds(ratio), .comm = 1_s, .mult = mult, .devices = n, .operand = {}, .threshold = {}})
            .pick;
      };
      const std::optional<double> t = xla_gate_threshold(n, mult);
      if (!t) {
        for (const double ratio : {0.01, 0.5, 1.0, 2.0, 10.0, 1e4}) CHECK(at(ratio) == "serial");
      } else {
        CHECK(at(*t * (1 - 1e-12)) == "serial");
        CHECK(at(*t + 1e-9) == "windowed-einsum");
      }
    }
  }
  // Equality in numbers that are exact in binary: N = 8, mult = 2, comp = 1.5 comm.
  CHECK(select_xla_gate({.comp = Seconds(1.5), .comm = 1_s, .mult = 2, .devices = 8, .threshold = {}}).pick ==
        "serial");
}

TEST_CASE("the gate's extra is one shard over one direction of a ring") {
  // comm = N S / (2 b) with both directions; extra = comm 2/N = S/b.
  const Seconds one_shard(0.125);
  const Seconds comm = one_shard * (8 / 2.0);
  const Choice c = select_xla_gate({.comp = 0_s, .comm = comm, .devices = 8, .threshold = {}});
  CHECK(c.decision.left_value - comm.si() == Approx(one_shard.si()));
}

TEST_CASE("the gate looks at size and users first, and takes the better of two candidates") {
  XlaGateInputs in{.comp = 2_s, .comm = 1_s, .devices = 8, .operand = 255_MiB};
  CHECK(select_xla_gate(in).branch == "operand below the size threshold");
  in.operand = 256_MiB;
  CHECK(select_xla_gate(in).pick == "windowed-einsum");
  in.shared_operand = true;
  CHECK(select_xla_gate(in).pick == "serial");
  in.shared_operand = false;
  XlaGateInputs small = in;
  small.comm = Seconds(0.5);
  CHECK(select_xla_candidate(small, in).first == 1U);
  CHECK(select_xla_candidate(in, small).first == 0U);
  CHECK(select_xla_candidate(in, in).first == 0U);
  in.devices = 2;
  CHECK(select_xla_candidate(in, small).first == 1U);
  small.devices = 2;
  CHECK_FALSE(select_xla_candidate(in, small).first.has_value());
}

TEST_CASE("FiCCO's tree: branches and the deciding numbers") {
  FiccoInputs in;
  in.peak = FlopRate(1e15);
  in.shape = {4096, 8192, 8192};
  CHECK(select_ficco(in).pick == "uniform-fused-2d");
  in.shape = {16384, 8192, 8192};  // 2.2e12 flop against 1e12
  CHECK(select_ficco(in).pick == "hetero-fused-1d");
  in.shape = {65536, 8192, 8192};  // 8.8e12 > 5e12
  const Choice c = select_ficco(in);
  CHECK(c.pick == "hetero-unfused-1d");
  CHECK(c.decision.left_value == Approx(2.0 * 65536 * 8192 * 8192));
  CHECK(c.decision.right_value == Approx(5e12));
  in.shape = {8192, 1024, 8192};
  CHECK(select_ficco(in).pick == "uniform-fused-1d");
  // Read literally (a second of the peak) no layer of today reaches 5x.
  in.shape = {65536, 106496, 16384};
  in.thresholds.machine_time = 1_s;
  CHECK(select_ficco(in).pick == "uniform-fused-1d");
  in.shape.m = 0;
  CHECK_THROWS_AS(select_ficco(in), InputError);
}

TEST_CASE("check 17: FlashOverlap's waves and groups") {
  WaveGroupInputs in;
  in.shape = {4096, 8192, 1024};
  in.sms = 132;
  in.gemm = Seconds(800e-6);
  in.comm = [](double share) { return Seconds(20e-6 + share * 500e-6); };
  CHECK(wave_tiles(in) == 32 * 32);
  CHECK(wave_count(in, 132) == 8);
  CHECK(wave_count(in, 130) == 8);
  in.shape.m = 4095;  // a partial tile is a tile
  CHECK(wave_tiles(in) == 32 * 32);
  in.waves = {8};
  CHECK(predict_wave_groups(in).si() == Approx(800e-6 + 520e-6));  // one group: no overlap
  in.waves = {4, 4};
  const double half = 520.0 / 1024;
  CHECK(predict_wave_groups(in).si() ==
        Approx(std::max(800e-6, 400e-6 + 20e-6 + half * 500e-6) + 20e-6 + (1 - half) * 500e-6));
  in.waves = {1, 1, 2, 4};
  CHECK(predict_wave_groups(in) < Seconds(800e-6 + 520e-6));
  in.given_sms = 20;  // 112 workers: 10 waves
  CHECK(wave_count(in, 112) == 10);
  CHECK_THROWS_AS(predict_wave_groups(in), InputError);
  in.waves = {10};
  CHECK(predict_wave_groups(in).si() == Approx(1000e-6 + 520e-6));
}

TEST_CASE("a choice prints inputs, branch and the deciding comparison in every format") {
  const Choice c = select_compass({.comp = 1_s, .comm = Seconds(0.5), .devices = 4});
  const std::string text = to_text(c);
  for (const char* part : {"T_comp = 1 s", "T_fusion", "T_decomp(5)", "branch", "source"}) {
    CHECK_THAT(text, contains_text(part));
  }
  CHECK_THAT(to_json(c), contains_text("\"relation\":\"<\""));
  CHECK_THAT(to_csv(std::vector{c}),
             Catch::Matchers::StartsWith("selector,pick") && contains_text("compass,intrafusion"));
}
