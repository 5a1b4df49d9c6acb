// The accuracy that the bundled device files have on our own measurement cannot regress unseen.
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "overlap/config.hpp"
#include "overlap/cost.hpp"
#include "overlap/error.hpp"
#include "paths.hpp"
#include "validate/report.hpp"

using namespace overlap;

TEST_CASE("two H200: the budget holds") {
  validation::Budget b = validation::load_budget(source_dir() + "/configs/budgets/h200x2.json");
  const RecordSet set = read_records(b.data);
  CHECK(set.records.size() > 1300);
  const Validation v = validate(set, load_device(b.device), load_topology(b.topology), {});
  validation::check(b.thresholds, v);
  for (const validation::Threshold& t : b.thresholds) {
    INFO(t.group << " " << t.measure << " is " << t.value << ", limit " << t.limit);
    CHECK(t.passed);
  }
}

TEST_CASE("two H200, other hosts: the budgets hold") {
  for (const char* name : {"h200x2-other-hosts", "h200x2-calibrated"}) {
    INFO(name);
    validation::Budget b = validation::load_budget(source_dir() + "/configs/budgets/" + name + ".json");
    const Validation v = validate(read_records(b.data), load_device(b.device), load_topology(b.topology), {});
    validation::check(b.thresholds, v);
    for (const validation::Threshold& t : b.thresholds) {
      INFO(t.group << " " << t.measure << " is " << t.value << ", limit " << t.limit);
      CHECK(t.passed);
    }
  }
}

TEST_CASE("the tile engine agrees with the closed form of the tile model over all measured shapes") {
  const RecordSet set = read_records({source_dir() + "/tests/data/h200x2/gemm.jsonl"});
  const Topology topology = load_topology(source_dir() + "/topologies/h200x2-nv18.json");
  for (const char* name : {"h100", "h200", "a100"}) {
    const Device device = load_device(source_dir() + "/configs/devices/" + name + ".json");
    ReplayOptions options;
    options.cost.effects.launch = false;
    std::vector<double> off;
    for (const Record& r : set.records) {
      const Seconds closed = gemm_time(device, r.shape, DType::bf16, DType::bf16, false, ComputeModel::tile);
      off.push_back(std::abs(replay(r, device, topology, options, 0).total / closed - 1));
    }
    std::sort(off.begin(), off.end());
    INFO(name << ": median " << off[off.size() / 2] << ", largest " << off.back());
    CHECK(off[off.size() / 2] < 0.01);
    CHECK(off[off.size() * 9 / 10] < 0.02);
  }
}

TEST_CASE("environments, sustained load and the closed form of Compass are scored beside the times") {
  const std::string data = source_dir() + "/tests/data/h200x2/";
  const RecordSet set = read_records(
      {data + "ag_gemm.jsonl", data + "gemm_rs.jsonl", data + "interdecom_env.jsonl", data + "sustained.jsonl"});
  const Validation v = validate(set, load_device(source_dir() + "/configs/devices/h200.json"),
                                load_topology(source_dir() + "/topologies/h200x2-nv18.json"), {});
  REQUIRE(v.environments.shapes.size() == 7);
  const auto named = std::count_if(v.environments.shapes.begin(), v.environments.shapes.end(),
                                   [](const Environments::Shape& s) { return s.named; });
  CHECK(named >= 6);
  REQUIRE(v.sustained.size() == 4);
  int onsets = 0;
  for (const SustainedScore& s : v.sustained) {
    INFO(s.name << ": ratio " << s.measured_ratio << " predicted " << s.predicted_ratio << ", onset "
                << s.measured_onset << " predicted " << s.predicted_onset);
    CHECK(std::abs(s.measured_ratio - s.predicted_ratio) < 0.02);
    const double off = std::max(s.predicted_onset / s.measured_onset, s.measured_onset / s.predicted_onset);
    onsets += off < 1.5 ? 1 : 0;
    CHECK(off < 1.7);
  }
  CHECK(onsets >= 3);  // measured between 40 and 90 ms
  CHECK(v.compass.n > 250);
  CHECK(v.compass.form_median > 4 * v.compass.simulator_median);
}

TEST_CASE("a threshold on records that are not there fails, with its name in the JUnit file") {
  std::vector<validation::Threshold> t(1);
  t[0].group = "no such <group>";
  t[0].measure = "median_ape_pct";
  t[0].limit = 1;
  validation::check(t, Validation{});
  CHECK_FALSE(t[0].passed);
  CHECK_THAT(validation::junit_text("x", t), contains_text("failures=\"1\"") && contains_text("&lt;group&gt;"));
}

TEST_CASE("an unknown measured schedule names the nearest") {
  Record r;
  r.kind = "ag_gemm";
  r.schedule = "serial_ncl";
  r.shape = {128, 128, 128};
  const Device d = load_device(source_dir() + "/configs/devices/h200.json");
  const Topology t = load_topology(source_dir() + "/topologies/h200x2-nv18.json");
  CHECK_THROWS_WITH(predict(r, d, t, {}), contains_text("serial_nccl"));
}
