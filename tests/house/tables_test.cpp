// What a file defines stands in its table; files stay short; nothing is left half done.
#include <map>

#include "catch.hpp"
#include "config/keys.hpp"
#include "house/files.hpp"
#include "overlap/schedule.hpp"
#include "topology/generator.hpp"

using namespace house;

namespace {

// Names that the .cpp files of `folder` define as `pattern` (group 1), the table's own file left out.
std::set<std::string> defined(const std::string& folder, const std::string& pattern) {
  std::set<std::string> out;
  for (const std::string& file : sources(folder)) {
    if (fs::path(file).extension() != ".cpp" || fs::path(file).filename() == "table.cpp") continue;
    const std::set<std::string> found = matches(text_of(fs::path(source_dir()) / file), pattern);
    out.insert(found.begin(), found.end());
  }
  return out;
}

void check_named(const std::set<std::string>& names, const std::string& table) {
  const std::string text = text_of(fs::path(source_dir()) / table);
  for (const std::string& n : names) {
    INFO(n << " is missing in " << table);
    CHECK(std::regex_search(text, std::regex("\\b" + n + "\\b")));
  }
}

}  // namespace

TEST_CASE("every schedule stands in its table") {
  const auto names = defined("src/schedule", R"(\nScheduleInfo (\w+)_schedule\(\) \{)");
  check_named(names, "src/schedule/table.cpp");
  CHECK(names.size() == overlap::schedules().size());
  std::set<std::string_view> unique;
  for (const overlap::ScheduleInfo& s : overlap::schedules()) {
    CHECK(unique.insert(s.name).second);
    CHECK_FALSE(s.source.empty());
    CHECK_FALSE(s.summary.empty());
  }
}

TEST_CASE("every kind of topology stands in its table, one file each") {
  const auto names = defined("src/topology", R"(\nGenerator (\w+_kind)\(\) \{)");
  check_named(names, "src/topology/table.cpp");
  CHECK(names.size() == overlap::generators().size());
  for (const overlap::Generator& g : overlap::generators()) {
    INFO(g.kind);
    CHECK(fs::exists(fs::path(source_dir()) / "src/topology" / (std::string(g.kind) + ".cpp")));
  }
}

TEST_CASE("every compute model and every command stands in its table") {
  check_named(defined("src/cost", R"(\n\w+ (plan_\w+)\(const \w+& \w+\) \{)"), "src/cost/table.cpp");
  const auto commands = defined("src/cli", R"(\nAction (\w+_command)\(Options)");
  CHECK(commands.size() >= 2);
  check_named(commands, "src/cli/table.cpp");
}

TEST_CASE("files stay below 400 lines and leave nothing for later") {
  // Longer than the rule allows, known and bounded here; to be split rather than to grow.
  const std::map<std::string, int> known = {{"src/engine/tiles.cpp", 450}};
  for (const char* folder : {"src", "include", "tests"}) {
    for (const std::string& file : sources(folder)) {
      const std::string text = text_of(fs::path(source_dir()) / file);
      INFO(file);
      const auto exception = known.find(file);
      CHECK(std::count(text.begin(), text.end(), '\n') <= (exception == known.end() ? 400 : exception->second));
      if (file.rfind("tests/house/", 0) == 0) continue;
      CHECK(matches(text, R"(\b(TODO|FIXME|XXX|HACK)\b)").empty());
    }
  }
}

TEST_CASE("overlap is never an input: no file has a key for it") {
  using namespace overlap::config;
  std::vector<KeySet> all = {device_keys(),     gemm_keys(),          stream_keys(),       experiment_keys(),
                             layer_keys(),      cost_keys(),          effect_keys(),       penalty_keys(),
                             simulation_keys(), workload_file_keys(), overlap::link_keys()};
  for (const KeySet& keys : all) {
    for (const std::string_view key : keys.keys) {
      INFO(keys.object << " " << key);
      CHECK(key.find("overlap") == std::string_view::npos);
    }
  }
  for (const overlap::ScheduleInfo& s : overlap::schedules()) {
    for (const overlap::ParamInfo& p : s.params) CHECK(p.name.find("overlap") == std::string_view::npos);
  }
}

TEST_CASE("no exp, log or pow and no clock on the way to a time stamp") {
  for (const char* folder : {"src/engine", "src/cost", "src/graph", "src/schedule", "src/topology"}) {
    for (const std::string& file : sources(folder)) {
      INFO(file);
      const std::string text = text_of(fs::path(source_dir()) / file);
      CHECK(matches(text, R"((std::(exp|log|log2|log10|pow|exp2|cbrt|tanh|hypot))\b)").empty());
      CHECK(matches(text, R"((system_clock|steady_clock|high_resolution_clock|std::time|random_device))").empty());
      CHECK(matches(text, R"((std::\w+_distribution))").empty());
    }
  }
}
