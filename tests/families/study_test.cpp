// The selector study on a small grid: what it reports must hold whatever the numbers are.
#include "catch.hpp"
#include "overlap/selector_study.hpp"
#include "paths.hpp"

using namespace overlap;

TEST_CASE("the selector study scores every selector against the best of what it may pick") {
  const std::string root = source_dir();
  const Experiment e = parse_experiment(R"({
    "name": "small grid",
    "topology": ")" + root + R"(/topologies/a6000x8-numa.json",
    "device": ")" + root + R"(/configs/devices/a6000.json",
    "workloads": [{"file": ")" + root + R"(/workloads/compass-like.json", "tokens": [512, 4096, 16384], "tp": [4, 8]}],
    "schedules": "all"
  })",
                                        "small grid");
  const SelectorStudy s = study_selectors(e, {});
  REQUIRE(s.layers.size() == e.workloads.size());
  REQUIRE(s.scores.size() >= 2);
  CHECK(s.scores[0].selector == "compass");
  for (const SelectorScore& c : s.scores) {
    INFO(c.selector);
    CHECK(c.picks.size() > 0);
    CHECK(c.top1() <= 1.0);
    CHECK(c.mean_regret() <= c.max_regret());
    for (const Pick& p : c.picks) {
      CHECK(p.regret() >= 0.0);
      CHECK((p.regret() == 0.0) == (p.picked_time == p.best_time));
    }
  }
  // Overheads are what the agnostic control lacks: it does worse than the calibrated form.
  CHECK(s.scores[0].mean_regret() < s.scores[1].mean_regret());
  CHECK(s.calibration.alpha > 0.0);
}
