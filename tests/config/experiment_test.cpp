// Experiments: what is read, and how lists and filters expand.
#include "catch.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "paths.hpp"

using namespace overlap;

namespace {
std::string experiment(const std::string& schedules, const std::string& rest = "") {
  return R"({"topology": "h200x2-nv18", "device": "h200", "schedules": )" + schedules +
         R"(, "workloads": [{"name": "w", "pattern": "ag+gemm", "tokens": 64, "in": 32, "out": 48, "tp": 2}])" + rest +
         "}";
}
}  // namespace

TEST_CASE("the default experiment: 8 GPUs, two patterns, all schedules") {
  const Experiment e = load_experiment(source_dir() + "/configs/default.json");
  CHECK(e.topology.device_count() == 8);
  CHECK(e.devices.size() == 8);
  REQUIRE(e.workloads.size() == 2);
  CHECK(e.workloads[0].pattern == Pattern::ag_gemm);
  CHECK(e.workloads[1].pattern == Pattern::gemm_rs);
  CHECK(e.workloads[0].out == 57344);
  CHECK(e.schedules.size() == schedules().size());
  CHECK(e.devices[0].hbm.si() == 4.8e12);
  CHECK(e.devices[0].sms == 132);  // from its base
}

TEST_CASE("a list of parameter values gives one request a combination") {
  const Experiment e = parse_experiment(
      experiment(R"(["serial", {"schedule": "interdecom", "params": {"d": [2, 4], "mover": ["dma", "sm"]}}])"), "t");
  REQUIRE(e.schedules.size() == 5);
  CHECK(e.schedules[0].info->name == "serial");
  CHECK(e.schedules[2].params.integer("d") == 2);
  CHECK(e.schedules[2].params.text("mover") == "sm");
  CHECK(e.schedules[3].params.integer("d") == 4);
  CHECK(e.schedules[3].params.text("mover") == "dma");
}

TEST_CASE("options, stragglers, background, unlike devices") {
  const Experiment e = parse_experiment(experiment("\"all\"", R"(,
    "cost": {"compute": "ideal", "network": "alpha_beta", "effects": {"latency": false},
             "penalties": {"root_complex_p2p": 0.5}},
    "simulation": {"seed": 7},
    "stragglers": [{"rank": 1, "delay": "3 us"}],
    "background": [{"from": "gpu0", "to": "gpu1", "rate": "10 GB/s", "start": "1 us"}])"),
                                        "t");
  CHECK(e.cost.compute == ComputeModel::ideal);
  CHECK(e.cost.network == NetworkModel::alpha_beta);
  CHECK_FALSE(e.cost.effects.latency);
  CHECK(e.cost.effects.launch);
  CHECK(e.cost.penalties.root_complex_p2p == 0.5);
  CHECK(e.simulation.seed == 7);
  REQUIRE(e.start_delay.size() == 2);
  CHECK(e.start_delay[1].si() == Approx(3e-6));
  REQUIRE(e.background.size() == 1);
  CHECK(e.background[0].route.size() == 2);
  CHECK(e.background[0].stop == kForever);
  const Experiment mixed = load_experiment("mixed-and-late");
  CHECK(mixed.devices[5].name == "h200");
  CHECK(mixed.devices[6].name == "h100");
}

TEST_CASE("workload files expand over lists; filters choose") {
  CHECK(load_workloads("llama3-70b").workloads.size() == 24);
  CHECK(load_workloads("llama3-405b").workloads.size() == 24);
  const WorkloadSet grid = load_workloads("compass-like");
  CHECK(grid.workloads.size() * grid.topologies.size() == 288);
  CHECK(grid.workloads[0].name == "h4096-f11008.ag+gemm.tp2.m512");
  CHECK(grid.workloads[0].operand == DType::f16);
  const std::string head =
      R"({"topology": "h200x8-nvswitch", "device": "h200", "schedules": ["serial"], "workloads": )";
  const auto count = [&head](const std::string& choice) {
    return parse_experiment(head + R"([{"file": "compass-like", )" + choice + "}]}", "t").workloads.size();
  };
  CHECK(count(R"("tp": [2])") == 48);
  CHECK(count(R"("patterns": ["gemm+rs"], "tokens": [512, 1024], "tp": [8])") == 8);
  CHECK(count(R"("layers": ["h4096-f11008"])") == 36);
  CHECK(count(R"("layers": ["h4096-f11008.ag+gemm.tp2.m512"])") == 1);
}

TEST_CASE("one value of a file can be set for a study") {
  const std::string text = experiment("[\"serial\"]");
  const Experiment e = parse_experiment(with_value(text, "/workloads/0/tokens", "128"), "t");
  CHECK(e.workloads[0].tokens == 128);
  const Experiment f = parse_experiment(with_value(text, "/simulation", "{\"seed\": 3}"), "t");
  CHECK(f.simulation.seed == 3);
  CHECK_THROWS_AS(with_value(text, "/workloads/9/tokens", "1"), InputError);
  CHECK_THROWS_AS(with_value(text, "tokens", "1"), InputError);
  CHECK_THROWS_AS(with_value(text, "/name", "{"), InputError);
}
