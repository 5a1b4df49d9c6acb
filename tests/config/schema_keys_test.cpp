// Keys that the readers know = properties of the JSON Schemas, object by object.
#include <algorithm>
#include <set>

#include "catch.hpp"
#include "config/keys.hpp"
#include "config/value.hpp"
#include "paths.hpp"
#include "sweep/keys.hpp"
#include "topology/generator.hpp"

using namespace overlap;
using config::KeySet;

namespace {

using Names = std::set<std::string>;

config::Value schema(const std::string& name) {
  return config::parse_file(source_dir() + "/configs/schema/" + name + ".schema.json");
}

// Properties of the schema itself ("") or of one of its definitions.
Names properties(const config::Value& root, const std::string& definition) {
  const config::Value* at = &root;
  if (!definition.empty()) {
    at = root.find("definitions");
    REQUIRE(at != nullptr);
    at = at->find(definition);
    INFO(definition);
    REQUIRE(at != nullptr);
  }
  const config::Value* closed = at->find("additionalProperties");
  REQUIRE(closed != nullptr);
  CHECK_FALSE(closed->boolean);
  Names out;
  for (const auto& [key, value] : at->find("properties")->members) out.insert(key);
  return out;
}

Names names(const KeySet& keys) {
  return {keys.keys.begin(), keys.keys.end()};
}

}  // namespace

TEST_CASE("keys of devices, workloads and experiments are those of their schemas") {
  struct Pair {
    const char* file;
    const char* definition;
    KeySet keys;
  };
  const std::vector<Pair> pairs = {
      {"device", "", config::device_keys()},
      {"device", "peak", config::peak_keys()},
      {"device", "gemm", config::gemm_keys()},
      {"device", "stream", config::stream_keys()},
      {"device", "collective", config::collective_keys()},
      {"device", "knot", config::knot_keys()},
      {"device", "power", config::power_keys()},
      {"device", "sm_groups", config::sm_groups_keys()},
      {"workload", "", config::workload_file_keys()},
      {"workload", "layer", config::layer_keys()},
      {"study", "", sweep::study_keys()},
      {"study", "axis", sweep::axis_keys()},
      {"study", "zip", sweep::zip_keys()},
      {"study", "filter", sweep::filter_keys()},
      {"study", "uncertain", sweep::uncertain_keys()},
      {"study", "sample", sweep::sample_keys()},
      {"experiment", "", config::experiment_keys()},
      {"experiment", "layer", config::layer_keys()},
      {"experiment", "workload_choice", config::workload_choice_keys()},
      {"experiment", "device_choice", config::device_choice_keys()},
      {"experiment", "schedule_choice", config::schedule_choice_keys()},
      {"experiment", "cost", config::cost_keys()},
      {"experiment", "effects", config::effect_keys()},
      {"experiment", "penalties", config::penalty_keys()},
      {"experiment", "simulation", config::simulation_keys()},
      {"experiment", "background", config::background_keys()},
      {"experiment", "straggler", config::straggler_keys()},
      {"topology", "link", link_keys()},
      {"topology", "listed_link", listed_link_keys()},
      {"topology", "node", listed_node_keys()},
      {"topology", "link_override", override_keys()},
      {"topology", "route", route_keys()},
      {"topology", "capabilities", capability_keys()},
  };
  for (const Pair& p : pairs) {
    INFO(p.file << " " << p.definition);
    CHECK(properties(schema(p.file), p.definition) == names(p.keys));
  }
}

TEST_CASE("every kind of topology is in the schema with its keys") {
  const config::Value root = schema("topology");
  Names kinds;
  for (const Generator& g : generators()) {
    INFO(g.kind);
    Names keys(common_topology_keys().begin(), common_topology_keys().end());
    keys.insert(g.keys.begin(), g.keys.end());
    CHECK(properties(root, std::string(g.kind)) == keys);
    kinds.insert(std::string(g.kind));
  }
  Names listed;
  for (const config::Value& v : root.find("properties")->find("kind")->find("enum")->items) listed.insert(v.string);
  CHECK(kinds == listed);
}

TEST_CASE("every number of a device file has a source") {
  // The reader does not insist on it, so the bundled files are checked: each section names its own.
  for (const char* name : {"h100", "h200", "a100", "a6000", "mi300x", "tpu_v4"}) {
    INFO(name);
    const config::Value v = config::parse_file(source_dir() + "/configs/devices/" + name + ".json");
    CHECK(v.find("source") != nullptr);
    for (const auto& [key, section] : v.members) {
      INFO(key);
      if (section.kind == config::Value::Kind::object) CHECK(section.find("source") != nullptr);
      for (const config::Value& item : section.items) CHECK(item.find("source") != nullptr);
    }
  }
}
