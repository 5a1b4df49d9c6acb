// What `validate` prints and writes: JSON, JUnit, CSV, ablation, explanation; exit codes.
#include <algorithm>

#include "catch.hpp"
#include "cli/program.hpp"
#include "config/value.hpp"

using namespace cli_test;
using overlap::config::parse_text;
using overlap::config::Value;

namespace {

const char* kRecords =
    R"({"kind": "meta", "what": "test"}
{"kind": "ag_gemm", "schedule": "serial_nccl", "d": 1, "gpus": 2, "m": 2048, "n": 7168, "k": 4096, "median_us": 241.4, "min_us": 231, "max_us": 247.2}
{"kind": "ag_gemm", "schedule": "interdecom_dma", "d": 4, "gpus": 2, "m": 2048, "n": 7168, "k": 4096, "median_us": 226.9, "min_us": 217.8, "max_us": 229.5, "spans": [[0, "push", 0, 21.0], [0, "gemm", 30, 110]]}
{"kind": "gemm", "m": 2048, "n": 7168, "k": 4096, "gpus": 1, "median_us": 180, "min_us": 178, "max_us": 185}
{"kind": "unheard_of", "median_us": 1}
)";

std::string machine() {
  return " --device " + source_dir() + "/configs/devices/h200.json --topology " + source_dir() +
         "/topologies/h200x2-nv18.json";
}

std::string budget(const std::string& limit) {
  return "{\"name\": \"two & one\", \"data\": [\"records.jsonl\"], \"device\": \"h200\", \"topology\": \"" +
         source_dir() + "/topologies/h200x2-nv18.json\", \"thresholds\": [" +
         "{\"group\": \"overall\", \"measure\": \"median_ape_pct\", \"max\": " + limit + "}," +
         "{\"group\": \"gemm\", \"measure\": \"p90_ape_pct\", \"max\": 50}]}";
}

std::vector<double> numbers(const std::string& line) {
  std::vector<double> out;
  std::string word;
  for (const char c : line + " ") {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') {
      word += c;
    } else if (!word.empty()) {
      if (word != ".") out.push_back(std::stod(word));
      word.clear();
    }
  }
  return out;
}

}  // namespace

TEST_CASE("validate --format json has the shape that other tools read") {
  const Folder dir("validate-json");
  dir.write("records.jsonl", kRecords);
  const Result r = dir.run("validate --data records.jsonl" + machine() + " --format json");
  REQUIRE(r.code == 0);
  CHECK(r.err.empty());
  const Value v = parse_text(r.out, "stdout");
  const auto number = [](const Value& at, const char* key) {
    const Value* n = at.find(key);
    REQUIRE(n != nullptr);
    REQUIRE((n->kind == Value::Kind::real || n->kind == Value::Kind::integer));
    return n->real;
  };
  REQUIRE(v.find("overall") != nullptr);
  CHECK(number(*v.find("overall"), "n") == 3);
  for (const char* key : {"bias_pct", "median_ape_pct", "p90_ape_pct"}) number(*v.find("overall"), key);
  CHECK(number(*v.find("overall"), "median_ape_pct") < 15);
  REQUIRE(v.find("groups") != nullptr);
  CHECK(v.find("groups")->items.size() >= 3);
  for (const Value& g : v.find("groups")->items) {
    CHECK(!g.find("name")->string.empty());
    for (const char* key : {"n", "bias_pct", "median_ape_pct", "p90_ape_pct"}) number(g, key);
  }
  REQUIRE(v.find("picks") != nullptr);
  for (const char* key : {"top1", "within_1pct", "regret_mean_pct", "regret_max_pct", "tau"}) {
    number(*v.find("picks"), key);
  }
  CHECK(number(*v.find("picks"), "top1") == 100);
  CHECK(number(*v.find("picks"), "regret_max_pct") == 0);
}

TEST_CASE("a budget writes JSON and JUnit and exits 0 or 1") {
  const Folder dir("validate-budget");
  dir.write("records.jsonl", kRecords);
  dir.write("held.json", budget("20"));
  dir.write("missed.json", budget("0.001"));
  const Result held = dir.run("validate held.json --json held-out.json --junit held-out.xml");
  CHECK(held.code == 0);
  CHECK_THAT(held.out, contains_text("ok     overall: median_ape_pct <= 20"));
  const Result missed = dir.run("validate missed.json --json out.json --junit out.xml --records out.csv");
  CHECK(missed.code == 1);
  CHECK_THAT(missed.out, contains_text("FAIL   overall: median_ape_pct <= 0.001"));
  const auto text = [&](const std::string& name) { return overlap::config::read_text(dir / name); };
  const Value json = parse_text(text("out.json"), "out.json");
  REQUIRE(json.find("thresholds")->items.size() == 2);
  CHECK_FALSE(json.find("thresholds")->items[0].find("passed")->boolean);
  CHECK(json.find("thresholds")->items[1].find("passed")->boolean);
  CHECK(json.find("thresholds")->items[0].find("value")->real > 0.001);
  const std::string xml = text("out.xml");
  CHECK_THAT(xml, Catch::Matchers::StartsWith("<?xml"));
  CHECK_THAT(xml, contains_text("<testsuite name=\"two &amp; one\" tests=\"2\" failures=\"1\">"));
  CHECK_THAT(xml, contains_text("median_ape_pct &lt;= 0.001\"><failure message=\"is "));
  CHECK_THAT(text("held-out.xml"), contains_text("failures=\"0\""));
  const std::string csv = text("out.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 4);
}

TEST_CASE("bad input of validate is exit code 2 and names file and line") {
  const Folder dir("validate-bad");
  dir.write("records.jsonl", kRecords);
  dir.write("typo.jsonl",
            "{\"kind\": \"ag_gemm\", \"schedule\": \"serial_ncl\", \"m\": 64, \"n\": 64, \"k\": 64, "
            "\"median_us\": 3}\n");
  dir.write("graph.jsonl",
            "{\"kind\": \"ag_gemm\", \"schedule\": \"x\", \"graph\": \"interdcom\", \"params\": {}, "
            "\"m\": 64, \"n\": 64, \"k\": 64, \"median_us\": 3}\n");
  dir.write("none.jsonl", "{\"kind\": \"meta\"}\n");
  const auto says = [&](const std::string& args, const char* what) {
    INFO(args);
    const Result r = dir.run("validate " + args);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK_THAT(r.err, contains_text(what));
  };
  says("--data typo.jsonl" + machine(), "typo.jsonl:1");
  says("--data typo.jsonl" + machine(), "serial_nccl");
  says("--data graph.jsonl" + machine(), "interdecom");
  says("--data none.jsonl" + machine(), "no record");
  says("--data absent.jsonl" + machine(), "absent.jsonl");
  says("--data records.jsonl --device " + source_dir() + "/configs/devices/h200.json", "--topology");
  says("", "--data");
  says("--data records.jsonl" + machine() + " --explain 77", "0 to 2");
}

TEST_CASE("the ablation has a line an effect, each with numbers; the full model is best") {
  const Folder dir("validate-ablation");
  const std::string data = " --data " + source_dir() + "/tests/data/h200x2/gemm_rs.jsonl";
  const Result r = dir.run("validate" + data + machine() + " --ablation --seeds 1");
  REQUIRE(r.code == 0);
  std::vector<std::vector<double>> rows;
  std::size_t at = r.out.find('\n') + 1;
  for (std::size_t end = r.out.find('\n', at); end != std::string::npos; at = end + 1, end = r.out.find('\n', at)) {
    const std::string line = r.out.substr(at, end - at);
    if (line.find("median / p90") == 0) break;
    INFO(line);
    rows.push_back(numbers(line.substr(32)));
    CHECK(rows.back().size() == 11);
  }
  REQUIRE(rows.size() >= 9);
  for (std::size_t i = 1; i < rows.size(); ++i) CHECK(rows[i][0] >= 0.9 * rows[0][0]);
  CHECK(rows.back()[0] > 4 * rows[0][0]);  // the bare roofline
}

TEST_CASE("explain sets predicted and measured spans side by side") {
  const Folder dir("validate-explain");
  dir.write("records.jsonl", kRecords);
  const Result r = dir.run("validate --data records.jsonl" + machine() + " --explain records.jsonl:3");
  CHECK(r.code == 0);
  CHECK_THAT(r.out, contains_text("interdecom_dma d=4") && contains_text("largest effect:"));
  CHECK_THAT(r.out, contains_text("30.00..   110.00"));
}
