// Bad input: one message with file and pointer, exit code 2, nothing on standard output, nothing written.
#include <algorithm>

#include "catch.hpp"
#include "cli/options.hpp"
#include "cli/program.hpp"

using namespace cli_test;

namespace {

struct Case {
  std::string text;   // of the file
  std::string where;  // in the message
  std::string what;
};

void check_refused(const Folder& dir, const std::string& args, const Case& c) {
  dir.write("bad.json", c.text);
  const auto before = dir.names();
  const Result r = dir.run(args);
  INFO(args << "\n" << c.text.substr(0, 200) << "\n" << r.err.substr(0, 500));
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
  CHECK(r.err.size() < 1000);
  CHECK(r.err.rfind("error: bad.json:" + c.where, 0) == 0);
  CHECK(r.err.find(c.what) != std::string::npos);
  CHECK(dir.names() == before);
}

std::string noise(std::size_t bytes) {
  std::string out;
  std::uint32_t state = 7;
  while (out.size() < bytes) {
    state = state * 1664525U + 1013904223U;
    out += static_cast<char>(state >> 24U);
  }
  return out;
}

std::string nested(std::size_t depth) {
  return "{\"topology\": " + std::string(depth, '[') + std::string(depth, ']') + "}";
}

std::string mesh(const std::string& bandwidth, const std::string& latency = "\"1 us\"") {
  return R"({"kind": "full_mesh", "devices": 2, "link": {"efficiency": 1, "bandwidth": )" + bandwidth +
         R"(, "latency": )" + latency + "}}";
}

// A good experiment with one piece replaced.
std::string experiment(const std::string& from = "", const std::string& to = "") {
  std::string text = R"({"topology": "h200x2-nv18", "device": "h200", "schedules": ["serial"],
    "workloads": [{"name": "w", "pattern": "ag+gemm", "tokens": 64, "in": 32, "out": 48, "tp": 2}]})";
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  return text;
}

bool has_command(std::string_view name) {
  const auto& all = overlap::cli::commands();
  return std::any_of(all.begin(), all.end(), [name](const auto& c) { return c.name == name; });
}

}  // namespace

TEST_CASE("bad topology files") {
  const Folder dir("bad-topology");
  const std::vector<Case> cases = {
      {"", "1:1", "the file is empty"},
      {"{", "1:", "ends too early"},
      {mesh("\"1 GB/s\"").substr(0, 60), "1:", "ends too early"},
      {noise(10000000), "1:", "not valid JSON"},
      {std::string(10000000, '['), "/", "nested deeper"},
      {std::string(10000000, ' ') + "x", "1:", "not valid JSON"},
      {"\"" + std::string(10000000, 'a'), "1:", "ends too early"},
      {nested(1000), "/topology", "nested deeper"},
      {mesh("\"450 Gb\""), "/link/bandwidth", "Gb"},
      {mesh("\"400 us\""), "/link/bandwidth", "a time where a bandwidth belongs"},
      {mesh("\"1 GB/s\"", "\"400 GB/s\""), "/link/latency", "a bandwidth where a time belongs"},
      {mesh("450"), "/link/bandwidth", "bare number 450"},
      {mesh("\"0 GB/s\""), "/link/bandwidth", "more than zero"},
      {mesh("\"-5 GB/s\""), "/link/bandwidth", "more than zero"},
      {mesh("\"nan GB/s\""), "/link/bandwidth", "finite"},
      {mesh("\"inf GB/s\""), "/link/bandwidth", "finite"},
      {mesh("\"1e400 GB/s\""), "/link/bandwidth", "finite"},
      {mesh("NaN"), "1:", "not valid JSON"},
      {mesh("null"), "/link/bandwidth", "null"},
      {mesh("\"" + std::string(100000, '9') + "\""), "/link/bandwidth", "bandwidth"},
      {mesh("\"1 GB/s\", \"bandwidth\": \"2 GB/s\""), "/link/bandwidth", "twice"},
      {mesh("\"1 GB/s\", \"bandwith\": \"2 GB/s\""), "/link/bandwith", "did you mean 'bandwidth'"},
      {R"({"kind": "listed", "nodes": [{"name": "a", "kind": "gpu"}, {"name": "b", "kind": "gpu"}], "links": []})", "/",
       "disconnected"},
  };
  for (const Case& c : cases) check_refused(dir, "topo show bad.json", c);
}

TEST_CASE("files that are not there or cannot be read") {
  const Folder dir("missing");
  for (const char* args : {"topo show nowhere.json", "topo show .", "topo route nowhere.json 0 1", "topo show ''",
                           "topo show h200x9-nvswitch"}) {
    INFO(args);
    const Result r = dir.run(args);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
  }
  CHECK(dir.run("topo show h200x9-nvswitch").err.find("did you mean 'h200x8-nvswitch'") != std::string::npos);
}

TEST_CASE("bad experiments") {
  if (!has_command("run")) return;
  const Folder dir("bad-experiment");
  const std::vector<Case> cases = {
      {noise(10000000), "1:", "not valid JSON"},
      {nested(100000), "/topology", "nested deeper"},
      {experiment().substr(0, 100), "", "ends too early"},
      {"{}", "/", "needs the key 'topology'"},
      {experiment("h200x2-nv18", "h200x3-nv18"), "/topology", "did you mean 'h200x2-nv18'"},
      {experiment("\"h200\"", "\"h20\""), "/device", "did you mean 'h200'"},
      {experiment("\"device\"", "\"devise\""), "/devise", "did you mean 'device'"},
      {experiment("\"serial\"", "\"seriel\""), "/schedules/0", "serial"},
      {experiment("[\"serial\"]", "\"serial\""), "/schedules", "\"all\""},
      {experiment("[\"serial\"]", "[]"), "/schedules", "empty list"},
      {experiment("\"serial\"", R"({"schedule": "interdecom", "params": {"dd": 2}})"), "/schedules/0", "d"},
      {experiment("\"serial\"", R"({"schedule": "interdecom", "params": {"d": 0}})"), "/schedules/0", "d"},
      {experiment("\"tokens\": 64", "\"tokens\": 0"), "/workloads/0/tokens", "whole number"},
      {experiment("\"tokens\": 64", "\"tokens\": -64"), "/workloads/0/tokens", "-64"},
      {experiment("\"tokens\": 64", "\"tokens\": 6.5"), "/workloads/0/tokens", "6.5"},
      {experiment("\"tokens\": 64", "\"tokens\": \"64\""), "/workloads/0/tokens", "'64'"},
      {experiment("\"tokens\": 64", "\"tokens\": 99999999999999999999"), "/workloads/0/tokens", "whole number"},
      {experiment("\"tp\": 2", "\"tp\": 4"), "/workloads/0", "the topology has 2"},
      {experiment("ag+gemm", "ag-gemm"), "/workloads/0/pattern", "did you mean 'ag+gemm'"},
      {experiment("\"tp\": 2", "\"tp\": 2, \"dtype\": \"bf61\""), "/workloads/0/dtype", "bf16"},
      {experiment("{\"topology\"", R"({"cost": {"compute": "tiles"}, "topology")"), "/cost/compute", "'tile'"},
      {experiment("{\"topology\"", R"({"background": [{"from": "gpu0", "to": "gpu7", "rate": "1 GB/s"}], "topology")"),
       "/background/0/to", "gpu"},
      {experiment("{\"topology\"", R"({"background": [{"from": "gpu0", "to": "gpu1", "rate": "1 us"}], "topology")"),
       "/background/0/rate", "time where"},
      {experiment("{\"topology\"", R"({"stragglers": [{"rank": 2, "delay": "1 us"}], "topology")"),
       "/stragglers/0/rank", "0..1"},
      {experiment("{\"topology\"", R"({"stragglers": [{"rank": 1, "delay": "1 GB/s"}], "topology")"),
       "/stragglers/0/delay", "bandwidth where a time belongs"},
  };
  for (const Case& c : cases) check_refused(dir, "run bad.json", c);
}
