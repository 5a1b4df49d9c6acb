// Every schedule on every bundled topology for three shapes: well formed, free of races, and right on real numbers; and
// the committed table of what runs and what refuses, and why.
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>

#include "catch.hpp"
#include "machines.hpp"
#include "overlap/codec.hpp"
#include "overlap/graph_check.hpp"
#include "paths.hpp"

using namespace crosscheck;

namespace {

// Parameter choices of a schedule that give different graphs: the default, and each text choice alone.
std::vector<Given> variants(const ScheduleInfo& info) {
  std::vector<Given> out{{}};
  for (const ParamInfo& p : info.params)
    for (const std::string& choice : p.choices)
      if (ParamValue(choice) != p.fallback) out.push_back({{std::string(p.name), choice}});
  return out;
}

std::string text(const Given& given) {
  std::string out;
  for (const auto& [name, value] : given) out += " " + name + "=" + std::get<std::string>(value);
  return out;
}

std::uint32_t degree_on(const Topology& t) {
  return std::min(t.device_count(), 8U);
}

std::string kind_name(RefusalKind k) {
  return k == RefusalKind::degree ? "degree" : (k == RefusalKind::capability ? "capability" : "pattern");
}

// A twin whose graph has the structure of the full one.
OpGraph twin_of(const ScheduleInfo& info, const Workload& w, const Topology& t, const std::vector<Device>& devices,
                const Params& params, const OpGraph& full) {
  for (std::uint32_t pieces = 4;; pieces *= 2) {
    const Workload small = twin(w, pieces);
    OpGraph g = build_layer(info, {small, t, devices, params});
    if (same_structure(g, full) || pieces > 64) return g;
  }
}

}  // namespace

TEST_CASE("every schedule passes validate, races and reference on every bundled topology") {
  struct Size {
    std::uint32_t tokens, in, out;
  };
  const Size sizes[] = {{8192, 4096, 14336}, {1021, 517, 263}, {37, 64, 48}};  // ordinary, odd, tiny
  std::size_t graphs = 0;
  std::size_t turn = 0;
  const CodecHook codecs = real_codecs();
  for (const std::string& name : bundled_topologies()) {
    const Topology topology = bundled(name);
    const std::vector<Device> devices = devices_of(name, topology.device_count());
    for (const ScheduleInfo& info : schedules())
      for (const Given& given : variants(info))
        for (const Pattern pattern : info.patterns)
          for (const Size& size : sizes) {
            // The default on all three sizes, every other choice on one of them in turn.
            if (!given.empty() && &size != &sizes[turn++ / 3 % 3]) continue;
            const Params params = complete_params(info, given);
            const Workload w = layer(pattern, degree_on(topology), size.tokens, size.in, size.out);
            if (info.refuses({w, topology, devices, params})) continue;
            INFO(fmt::format("{}{} {} on {}, {}x{}x{}", info.name, text(given), to_text(pattern), name, size.tokens,
                             size.in, size.out));
            const OpGraph full = build_layer(info, {w, topology, devices, params});
            const OpGraph small = twin_of(info, w, topology, devices, params, full);
            ++graphs;
            CHECK(same_structure(small, full));
            const auto first = [](const std::vector<std::string>& problems) {
              return problems.empty() ? std::string() : problems.front();
            };
            CHECK(first(validate(full)) == "");
            CHECK(first(find_races(small)) == "");
            CHECK(first(reference_run(small, graphs, codecs)) == "");
          }
  }
  CHECK(graphs > 500);
}

TEST_CASE("the table of schedule x topology is as committed") {
  std::string now;
  std::map<std::string, std::pair<int, int>, std::less<>> refused{
      {"all", {}}, {"interdecom", {}}, {"intrafusion", {}}, {"ficco", {}}, {"shard_p2p", {}}, {"commfuse", {}}};
  for (const ScheduleInfo& info : schedules())
    for (const Pattern pattern : info.patterns)
      for (const std::string& name : bundled_topologies()) {
        const Topology topology = bundled(name);
        const std::vector<Device> devices = devices_of(name, topology.device_count());
        const Params params = complete_params(info, {});
        const Workload w = layer(pattern, degree_on(topology), 8192, 4096, 14336);
        const auto refusal = info.refuses({w, topology, devices, params});
        for (const std::string_view family : {std::string_view("all"), info.name}) {
          const auto it = refused.find(family);
          if (it == refused.end()) continue;
          it->second.first += refusal ? 1 : 0;
          ++it->second.second;
        }
        now += fmt::format("{} {} {}: {}\n", info.name, to_text(pattern), name,
                           refusal ? "refuses, " + kind_name(refusal->kind) + ": " + refusal->reason : "runs");
      }
  for (const auto& [family, count] : refused) {
    INFO(family << ": " << count.first << " of " << count.second << " refuse");
    CHECK(10 * count.first < count.second);
  }
  std::ifstream file(source_dir() + "/tests/golden/schedule_topology.txt");
  std::stringstream committed;
  committed << file.rdbuf();
  if (committed.str() != now) std::ofstream("schedule_topology.txt.new") << now;
  CHECK(committed.str() == now);
}
