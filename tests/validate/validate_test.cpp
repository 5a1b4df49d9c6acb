// The accuracy that the bundled device files have on our own measurement cannot regress unseen.
#include "catch.hpp"
#include "overlap/config.hpp"
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

TEST_CASE("a threshold on records that are not there fails, with its name in the JUnit file") {
  std::vector<validation::Threshold> t(1);
  t[0].group = "no such <group>";
  t[0].measure = "median_ape_pct";
  t[0].limit = 1;
  validation::check(t, Validation{});
  CHECK_FALSE(t[0].passed);
  CHECK_THAT(validation::junit_text("x", t), Catch::Contains("failures=\"1\"") && Catch::Contains("&lt;group&gt;"));
}

TEST_CASE("an unknown measured schedule names the nearest") {
  Record r;
  r.kind = "ag_gemm";
  r.schedule = "serial_ncl";
  r.shape = {128, 128, 128};
  const Device d = load_device(source_dir() + "/configs/devices/h200.json");
  const Topology t = load_topology(source_dir() + "/topologies/h200x2-nv18.json");
  CHECK_THROWS_WITH(predict(r, d, t, {}), Catch::Contains("serial_nccl"));
}
