// Who may include whom. Read from the #include lines, through all headers that they reach.
#include <map>

#include "catch.hpp"
#include "house/files.hpp"

using namespace house;

namespace {

// Of each folder of src/: public headers (without "overlap/") and folders that its files must not reach.
const std::map<std::string, std::set<std::string>>& forbidden() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"units", {"*"}},
      {"text", {"*", "text"}},
      {"workload", {"*", "workload"}},
      {"codec", {"schedule", "topology", "device", "cost", "engine", "demand", "analysis", "report", "config", "cuda"}},
      {"graph",
       {"workload", "topology", "device", "schedule", "cost", "engine", "demand", "timeline", "analysis", "report",
        "config", "cuda"}},
      {"topology",
       {"op_graph", "workload", "device", "schedule", "cost", "engine", "demand", "timeline", "analysis", "report",
        "config", "cuda"}},
      {"schedule", {"cost", "engine", "demand", "solver", "timeline", "analysis", "report", "config", "cuda"}},
      {"cost", {"schedule", "analysis", "report", "config", "cuda"}},
      {"engine", {"topology", "workload", "schedule", "cost", "analysis", "report", "config", "cuda"}},
      {"analysis", {"topology", "workload", "schedule", "cost", "report", "config", "cuda"}},
      {"report", {"topology", "workload", "schedule", "cost", "config", "cuda"}},
      {"cuda",
       {"topology", "workload", "device", "schedule", "cost", "engine", "demand", "analysis", "report", "config"}},
      {"select", {"schedule", "cost", "engine", "analysis", "report", "config", "cuda"}},
      {"config", {"analysis", "report", "cuda", "run", "sweep"}},
  };
  return table;
}

// Headers that every folder may use: they know nothing above numbers, ids and errors.
const std::set<std::string> kBase = {"units", "ids", "dtype", "error", "text/"};

// "overlap/cost.hpp" -> "cost"; "cost/pricer.hpp" -> "cost/"
std::string layer_of(const std::string& include) {
  const std::string head = "overlap/";
  if (include.rfind(head, 0) == 0) return fs::path(include).stem().string();
  return include.substr(0, include.find('/')) + "/";
}

// All project headers that `file` reaches, with the file that includes each.
std::map<std::string, std::string> reached(const std::string& file) {
  std::map<std::string, std::string> out;
  std::vector<std::string> todo = {file};
  while (!todo.empty()) {
    const std::string at = todo.back();
    todo.pop_back();
    for (const Include& i : includes(at)) {
      if (!i.quoted || out.count(i.name) != 0) continue;
      out.emplace(i.name, at);
      for (const char* folder : {"include/", "src/"}) {
        if (fs::exists(fs::path(source_dir()) / (folder + i.name))) todo.push_back(folder + i.name);
      }
    }
  }
  return out;
}

std::string folder_of(const std::string& file) {  // src/cost/tile.cpp -> cost
  const std::size_t begin = file.find('/') + 1;
  return file.substr(begin, file.find('/', begin) - begin);
}

bool allowed(const std::string& folder, const std::string& include) {
  const std::string layer = layer_of(include);
  if (layer == folder + "/" || kBase.count(layer) != 0) return true;
  if (layer == "cli/") return folder == "cli";
  const auto rule = forbidden().find(folder);
  if (rule == forbidden().end()) return true;
  const std::set<std::string>& names = rule->second;
  if (names.count("*") != 0) return names.count(layer) != 0;  // nothing but the base and what is listed
  // The JSON reader is below everything: topologies are read with it.
  if (layer == "config/") return names.count("config") == 0 || folder == "topology";
  std::string name = layer;
  if (name.back() == '/') name.pop_back();
  return names.count(name) == 0;
}

}  // namespace

TEST_CASE("includes go down only") {
  for (const std::string& file : sources("src")) {
    for (const auto& [include, from] : reached(file)) {
      INFO(file << " reaches " << include << " through " << from);
      CHECK(allowed(folder_of(file), include));
    }
  }
}

TEST_CASE("the rule sees what it must see") {
  CHECK_FALSE(allowed("schedule", "overlap/engine.hpp"));
  CHECK_FALSE(allowed("engine", "overlap/topology.hpp"));
  CHECK_FALSE(allowed("graph", "overlap/device.hpp"));
  CHECK_FALSE(allowed("report", "cli/options.hpp"));
  CHECK_FALSE(allowed("units", "overlap/op_graph.hpp"));
  CHECK(allowed("schedule", "overlap/topology.hpp"));
  CHECK(allowed("topology", "config/reader.hpp"));
  CHECK(reached("src/cli/topo.cpp").count("overlap/units.hpp") == 1);
}

TEST_CASE("public headers do not reach into src") {
  for (const std::string& file : sources("include")) {
    for (const Include& i : includes(file)) {
      INFO(file << " includes " << i.name);
      CHECK((!i.quoted || i.name.rfind("overlap/", 0) == 0));
    }
  }
}

TEST_CASE("heavy headers stay in the folder that owns them") {
  struct Heavy {
    const char* prefix;
    const char* owner;
  };
  const std::vector<Heavy> table = {{"boost/", "src/topology/"},     {"nlohmann/", "src/config/"},
                                    {"CLI/", "src/cli/options.cpp"}, {"cuda", "src/cuda/"},
                                    {"nccl", "src/cuda/"},           {"cublas", "src/cuda/"}};
  std::vector<std::string> files = sources("src");
  const std::vector<std::string> headers = sources("include");
  files.insert(files.end(), headers.begin(), headers.end());
  for (const std::string& file : files) {
    for (const Include& i : includes(file)) {
      if (i.quoted) continue;
      for (const Heavy& h : table) {
        if (i.name.rfind(h.prefix, 0) != 0) continue;
        INFO(file << " includes <" << i.name << ">");
        CHECK(file.rfind(h.owner, 0) == 0);
      }
    }
  }
}
