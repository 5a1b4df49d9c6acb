// Help, usage, formats and exit codes of the program.
#include <algorithm>

#include "catch.hpp"
#include "cli/options.hpp"
#include "cli/program.hpp"
#include "config/value.hpp"

using namespace cli_test;

TEST_CASE("every command has help, and help is no error") {
  const Folder dir("help");
  CHECK(dir.run("--help").code == 0);
  CHECK(dir.run("--version").out.find("overlapsim ") == 0);
  for (const auto& c : overlap::cli::commands()) {
    INFO(c.name);
    const Result r = dir.run(std::string(c.name) + " --help");
    CHECK(r.code == 0);
    CHECK(r.err.empty());
    CHECK(r.out.find("Usage") != std::string::npos);
    CHECK(dir.run("--help").out.find(std::string(c.summary)) != std::string::npos);
  }
  for (const char* below : {"topo show", "topo route", "topo cuts", "list schedules", "list models"}) {
    CHECK(dir.run(std::string(below) + " --help").code == 0);
  }
}

TEST_CASE("the usage text comes in under 30 ms") {
  const Folder dir("usage");
  std::vector<double> cpu;
  for (int i = 0; i < 9; ++i) cpu.push_back(dir.run("--help").cpu_ms);
  std::sort(cpu.begin(), cpu.end());
  CHECK(cpu[4] < 30);  // CPU time, so that a busy machine does not fail it
}

TEST_CASE("wrong usage is exit code 2 with one line") {
  const Folder dir("wrong");
  for (const char* args :
       {"topo", "topo shw x", "nonsense", "list scedules", "topo show", "topo show a b c",
        "topo show h200x8-nvswitch --format xml", "topo show h200x8-nvswitch --nope", "topo route h200x8-nvswitch 0",
        "topo route h200x8-nvswitch 0 99", "topo route h200x8-nvswitch gpu0 gpv1"}) {
    INFO(args);
    const Result r = dir.run(args);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
    CHECK(r.err.rfind("error: ", 0) == 0);
  }
  CHECK(dir.run("").code == 2);
  CHECK(dir.run("list scedules").err.find("schedules") != std::string::npos);
  CHECK(dir.run("tpo").err.find("'topo'") != std::string::npos);
}

TEST_CASE("every format of every listing is what it says, with units in the names") {
  const Folder dir("formats");
  const std::vector<std::string> commands = {"list schedules",
                                             "list topologies",
                                             "list devices",
                                             "list workloads",
                                             "list models",
                                             "topo show h200x8-nvswitch",
                                             "topo route a6000x8-numa 3 4",
                                             "topo cuts a6000x8-numa"};
  for (const std::string& c : commands) {
    INFO(c);
    const Result text = dir.run(c);
    CHECK(text.code == 0);
    CHECK(text.err.empty());
    const Result json = dir.run(c + " --format json");
    CHECK(json.code == 0);
    CHECK(overlap::config::parse_text(json.out, "out").kind == overlap::config::Value::Kind::object);
    const Result csv = dir.run(c + " --format csv");
    CHECK(csv.code == 0);
    CHECK(csv.out.find(',') != std::string::npos);
    CHECK(dir.run(c + " --format json").out == json.out);
  }
  const auto route = overlap::config::parse_text(dir.run("topo route a6000x8-numa 3 4 --format json").out, "out");
  REQUIRE(route.find("route")->items.size() == 3);
  CHECK(route.find("route")->items[1].find("payload_bytes_per_s")->real == Approx(20.8e9 * 0.8));
  CHECK(route.find("route")->items[1].find("latency_s")->real == Approx(0.6e-6));
}

TEST_CASE("bundled files are found from any folder, others beside the current one") {
  const Folder dir("lookup");
  CHECK(dir.run("topo show tpu-ring8").code == 0);
  CHECK(dir.run("topo show topologies/tpu-ring8.json").code == 0);
  dir.write("mine.json", R"({"kind": "ring", "devices": 3,
    "link": {"bandwidth": "1 GB/s", "efficiency": 1, "latency": "1 us"}})");
  const Result r = dir.run("topo show mine.json");
  CHECK(r.code == 0);
  CHECK(r.out.find("mine: 3 devices") == 0);
}
