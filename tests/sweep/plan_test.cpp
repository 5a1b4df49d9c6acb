#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "catch.hpp"
#include "overlap/error.hpp"
#include "overlap/sweep.hpp"
#include "paths.hpp"
#include "sweep/axis_text.hpp"
#include "sweep/memo.hpp"

using namespace overlap;

namespace {

namespace fs = std::filesystem;

// A study file made of the small one with `axes` (and more members) replaced.
struct StudyFile {
  explicit StudyFile(const std::string& members) {
    static int count = 0;
    path = fs::temp_directory_path() /
           ("overlapsim-study-" + std::to_string(::getpid()) + "-" + std::to_string(count++) + ".json");
    std::ofstream(path) << R"({"name": "t", "experiment": {"name": "e",
      "topology": {"name": "box", "kind": "switched", "source": "test", "devices": 2, "planes": 1,
        "link": {"kind": "nvlink", "bandwidth": "100 GB/s", "efficiency": 1.0, "latency": "1 us", "source": "test"}},
      "device": "h100",
      "workloads": [{"name": "l", "pattern": ["ag+gemm"], "tokens": 512, "in": 512, "out": 512, "tp": 2, "source": "test"}],
      "schedules": ["serial"]}, )"
                        << members << "}";
  }
  ~StudyFile() { fs::remove(path); }
  StudyFile(const StudyFile&) = delete;
  StudyFile& operator=(const StudyFile&) = delete;
  fs::path path;
};

std::string problem(const std::string& members) {
  const StudyFile file(members);
  try {
    const Study study = load_study(file.path);
    (void)StudyPlan(study);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("cells are the product of the groups, the last fastest; zipped axes advance together") {
  const StudyFile file(R"("axes": [
    {"name": "tokens", "pointer": "/workloads/0/tokens", "values": [256, 512]},
    {"zip": [{"name": "in", "pointer": "/workloads/0/in", "values": [1, 2, 3]},
             {"name": "out", "pointer": "/workloads/0/out", "values": [4, 5, 6]}]}])");
  const Study study = load_study(file.path);
  const StudyPlan plan(study);
  REQUIRE(plan.cells() == 6);
  CHECK(plan.axis_names() == std::vector<std::string>{"tokens", "in", "out"});
  CHECK(plan.values(0) == std::vector<std::string>{"256", "1", "4"});
  CHECK(plan.values(2) == std::vector<std::string>{"256", "3", "6"});
  CHECK(plan.values(3) == std::vector<std::string>{"512", "1", "4"});
  CHECK(plan.experiment(4).workloads.front().in == 2);
}

TEST_CASE("a Latin hypercube has one point in each stratum of each axis, the same for a seed") {
  const std::string axes = R"("axes": [
    {"name": "rate", "pointer": "/topology/link/bandwidth", "range": ["50 GB/s", "450 GB/s"]},
    {"name": "tokens", "pointer": "/workloads/0/tokens", "range": [100, 4100], "whole": true}],
    "sample": {"method": "latin_hypercube", "points": 20, "seed": )";
  const StudyFile file(axes + "5}");
  const Study study = load_study(file.path);
  const StudyPlan plan(study);
  REQUIRE(plan.cells() == 20);
  std::set<int> rates;
  std::set<int> tokens;
  for (std::uint64_t c = 0; c < 20; ++c) {
    rates.insert(static_cast<int>((*sweep::number_of(plan.values(c)[0]) - 50) / 20));
    const double t = *sweep::number_of(plan.values(c)[1]);
    CHECK(t == static_cast<double>(static_cast<int>(t)));
    tokens.insert(static_cast<int>((t - 100) / 200));
  }
  CHECK(rates.size() == 20);
  CHECK(tokens.size() >= 19);  // rounding to whole numbers may move a point over an edge
  const StudyFile same(axes + "5}");
  const Study again = load_study(same.path);
  CHECK(StudyPlan(again).values(7) == plan.values(7));
  const StudyFile other(axes + "6}");
  const Study different = load_study(other.path);
  CHECK(StudyPlan(different).values(7) != plan.values(7));
}

TEST_CASE("filters keep cells by number or between axes") {
  const StudyFile file(R"("axes": [
    {"name": "in", "pointer": "/workloads/0/in", "values": [256, 512, 1024]},
    {"name": "out", "pointer": "/workloads/0/out", "values": [256, 512, 1024]}],
    "filters": [{"left": "in", "is": "<=", "right": "out"}, {"left": "out", "is": "<", "right": 1024}])");
  const Study study = load_study(file.path);
  CHECK(StudyPlan(study).cells() == 3);
}

TEST_CASE("bad studies are refused with the place and the remedy") {
  CHECK_THAT(problem(R"("axes": [{"pointer": "/workloads/0/tokens", "values": []}])"), contains_text("empty"));
  CHECK_THAT(
      problem(R"("axes": [{"pointer": "/x", "values": [1]}], "filters": [{"left": "y", "is": "<", "right": 1}])"),
      contains_text("unknown axis 'y'"));
  CHECK_THAT(problem(R"("axes": [{"name": "a", "pointer": "/x", "values": [1]}],
                        "filters": [{"left": "a", "is": ">", "right": 1}])"),
             contains_text("no cell"));
  CHECK_THAT(problem(R"("metrics": ["makespam_us"])"), contains_text("makespan_us"));
  CHECK_THAT(problem(R"("baseline": "seriel")"), contains_text("serial"));
  CHECK_THAT(problem(R"("axes": [{"pointer": "/x", "range": ["1 GB/s", "2 us"]}],
                        "sample": {"method": "latin_hypercube", "points": 3, "seed": 1})"),
             contains_text("same unit"));
  CHECK_THAT(problem(R"("axis": [])"), contains_text("axes"));
  const StudyFile nowhere(R"("axes": [{"pointer": "/workloads/9/tokens", "values": [1]}])");
  const Study study = load_study(nowhere.path);
  CHECK_THROWS_AS(StudyPlan(study).experiment(0), InputError);
}

TEST_CASE("rows are the same bytes whatever the number of threads, and an interrupted sweep resumes") {
  const Study study = load_study(source_dir() + "/tests/data/small-study.json");
  const fs::path root = fs::temp_directory_path() / ("overlapsim-sweep-" + std::to_string(::getpid()));
  const auto read = [](const fs::path& p) {
    std::ifstream in(p, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  SweepOptions options;
  options.threads = 1;
  options.out = root / "one";
  CHECK(run_sweep(study, options).finished);
  options.threads = 4;
  options.out = root / "four";
  CHECK(run_sweep(study, options).finished);
  for (const char* file : {"rows.csv", "rows.jsonl", "summary.json"}) {
    CHECK(read(root / "one" / file) == read(root / "four" / file));
  }
  // Torn files: cut at every odd place, the rest is computed again.
  const std::string csv = read(root / "one/rows.csv");
  const std::string jsonl = read(root / "one/rows.jsonl");
  for (std::size_t i = 1; i < 12; ++i) {
    fs::resize_file(root / "four/rows.csv", csv.size() * i / 12);
    fs::resize_file(root / "four/rows.jsonl", jsonl.size() * (13 - i) / 13);
    options.resume = true;
    const SweepOutcome o = run_sweep(study, options);
    CHECK(o.finished);
    CHECK(read(root / "four/rows.csv") == csv);
    CHECK(read(root / "four/rows.jsonl") == jsonl);
  }
  options.resume = false;
  CHECK_THROWS_AS(run_sweep(study, options), InputError);  // rows are there: never overwritten
  for (std::uint32_t s = 1; s <= 4; ++s) {
    options.out = root / "shards";
    options.shard = s;
    options.shards = 4;
    CHECK(run_sweep(study, options).finished);
  }
  CHECK(merge_shards(root / "shards").finished);
  CHECK(read(root / "shards/rows.csv") == csv);
  CHECK(read(root / "shards/summary.json") == read(root / "one/summary.json"));
  fs::remove_all(root);
}

TEST_CASE("what two cells share is simulated once, and the rows are as if it were not") {
  // Only interdecom reads the axis: serial and intrafusion are the same in all three cells, over two token counts.
  const StudyFile file(R"("axes": [
    {"name": "tokens", "pointer": "/workloads/0/tokens", "values": [256, 512]},
    {"name": "schedules", "pointer": "/schedules", "values": [
      ["serial", "intrafusion", {"schedule": "interdecom", "params": {"d": 2}}],
      ["serial", "intrafusion", {"schedule": "interdecom", "params": {"d": 4}}],
      ["serial", "intrafusion", {"schedule": "interdecom", "params": {"d": 2}}]]}])");
  const Study study = load_study(file.path);
  const StudyPlan shared(study);
  std::size_t rows = 0;
  for (std::uint64_t cell = 0; cell < shared.cells(); ++cell) {
    const std::vector<SweepRow> together = evaluate_cell(study, shared, cell);
    const std::vector<SweepRow> alone = evaluate_cell(study, StudyPlan(study), cell);
    REQUIRE(together.size() == alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) CHECK(together[i].metrics == alone[i].metrics);
    rows += together.size();
  }
  CHECK(rows == 18);
  CHECK(shared.memo()->computed() == 8);
}

TEST_CASE("a result of another machine, layer or setting is never reused") {
  const StudyFile file(R"("axes": [
    {"name": "rate", "pointer": "/topology/link/bandwidth", "values": ["100 GB/s", "50 GB/s"]},
    {"name": "wire", "pointer": "/workloads/0/wire", "values": ["bf16", "fp8_e4m3"]},
    {"name": "cost", "pointer": "/cost", "values": [{"compute": "tile"}, {"compute": "ideal"}]}])");
  const Study study = load_study(file.path);
  const StudyPlan plan(study);
  for (std::uint64_t cell = 0; cell < plan.cells(); ++cell) (void)evaluate_cell(study, plan, cell);
  CHECK(plan.memo()->computed() == 8);
}
