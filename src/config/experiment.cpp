// Experiment files.
#include "config/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/keys.hpp"
#include "config/paths.hpp"
#include "overlap/error.hpp"
#include "topology/generator.hpp"

namespace overlap {
namespace {

using config::Cursor;
using config::Object;

// Loads the file that the text at `at` names; a missing one is an error of this place.
template <class F>
auto load_named(const Cursor& at, std::string_view folder, F load) {
  std::string file;
  try {
    file = config::resolve(at.text(), at.file(), folder);
  } catch (const InputError& e) {
    at.fail(fmt::format("'{}': {}", at.text().substr(0, 200), e.problem()));
  }
  return load(file);
}

Topology read_machine(const Cursor& at, const std::string& name) {
  if (at.is_string()) return load_named(at, "topologies", load_topology);
  return read_topology(at, name);
}

std::vector<Device> read_devices_by_rank(const Cursor& at, std::uint32_t count) {
  const auto load = [](const Cursor& c) { return load_named(c, "configs/devices", load_device); };
  if (!at.is_array()) return std::vector<Device>(count, load(at));
  std::vector<std::optional<Device>> by_rank(count);
  for (const Cursor& c : at.items()) {
    const Object o(c, config::device_choice_keys());
    const Device device = load(o.at("device"));
    for (const Cursor& r : o.at("ranks").items()) {
      const auto rank = static_cast<std::size_t>(r.integer(0, count - 1));
      if (by_rank[rank]) r.fail(fmt::format("rank {} has a device already", rank));
      by_rank[rank] = device;
    }
  }
  std::vector<Device> out;
  for (std::size_t i = 0; i < by_rank.size(); ++i) {
    if (!by_rank[i]) at.fail(fmt::format("rank {} has no device", i));
    out.push_back(std::move(*by_rank[i]));
  }
  return out;
}

// True when `key` is absent or lists the value.
template <class Matches>
bool chosen(const Object& o, std::string_view key, Matches matches) {
  if (!o.has(key)) return true;
  const std::vector<Cursor> items = o.at(key).items();
  return std::any_of(items.begin(), items.end(), matches);
}

void choose_workloads(const Cursor& at, std::vector<Workload>& out) {
  const Object o(at, config::workload_choice_keys());
  const WorkloadSet set = load_named(o.at("file"), "workloads", load_workloads);
  const std::size_t before = out.size();
  for (const Workload& w : set.workloads) {
    const auto named = [&w](const Cursor& c) {
      const std::string& name = c.text();
      return w.name == name || (w.name.size() > name.size() && w.name.starts_with(name) && w.name[name.size()] == '.');
    };
    const auto of_tokens = [&w](const Cursor& c) { return c.count() == w.tokens; };
    const auto of_degree = [&w](const Cursor& c) { return c.count() == w.tp; };
    const auto of_pattern = [&w](const Cursor& c) { return config::read_pattern(c) == w.pattern; };
    if (chosen(o, "layers", named) && chosen(o, "tokens", of_tokens) && chosen(o, "tp", of_degree) &&
        chosen(o, "patterns", of_pattern)) {
      out.push_back(w);
    }
  }
  if (out.size() > before) return;
  std::vector<std::string> names;
  for (const Workload& w : set.workloads) {
    if (names.size() < 12) names.push_back(w.name);
  }
  o.fail(fmt::format("no workload of {} is chosen; it has {} ({} in all)", o.at("file").text(), fmt::join(names, ", "),
                     set.workloads.size()));
}

std::vector<Workload> read_workloads(const Cursor& at, std::uint32_t devices) {
  std::vector<Workload> out;
  std::vector<Cursor> items = at.is_array() ? at.items() : std::vector<Cursor>{at};
  for (const Cursor& c : items) {
    const std::size_t before = out.size();
    if (c.is_object() && c.value().find("file") != nullptr) {
      choose_workloads(c, out);
    } else {
      config::read_layer(c, nullptr, out);
    }
    for (std::size_t i = before; i < out.size(); ++i) {
      if (out[i].tp <= devices) continue;
      c.fail(
          fmt::format("workload {} divides over {} devices, and the topology has {}", out[i].name, out[i].tp, devices));
    }
  }
  if (out.empty()) at.fail("an empty list");
  return out;
}

NodeId node_named(const Topology& t, const Cursor& at) {
  const std::optional<NodeId> found = t.find_node(at.text());
  if (found) return *found;
  std::vector<std::string> known;
  for (const Node& n : t.nodes()) known.push_back(n.name);
  if (known.size() > 20) known.resize(20);
  at.fail(config::unknown_name("node", at.text(), known));
}

Traffic read_traffic(const Cursor& at, const Topology& t) {
  const Object o(at, config::background_keys());
  Traffic f;
  f.from = node_named(t, o.at("from"));
  f.to = node_named(t, o.at("to"));
  if (f.from == f.to) o.fail("a flow from a node to itself");
  f.rate = o.at("rate").bandwidth();
  if (o.has("start")) f.start = o.at("start").time();
  if (o.has("stop")) f.stop = o.at("stop").time();
  if (f.stop <= f.start) o.fail("a flow must stop after it starts");
  f.route = t.route_between(f.from, f.to);
  return f;
}

std::vector<Seconds> read_delays(const Cursor& at, std::uint32_t count) {
  std::vector<Seconds> out(count);
  for (const Cursor& c : at.items()) {
    const Object o(c, config::straggler_keys());
    out[static_cast<std::size_t>(o.at("rank").integer(0, count - 1))] += o.at("delay").time();
  }
  return out;
}

Experiment read_experiment(const config::Document& doc) {
  const Object o(doc.root(), config::experiment_keys());
  Experiment e;
  e.file = doc.file();
  e.name = o.has("name") ? o.at("name").text() : config::stem_of(doc.file());
  if (o.has("summary")) e.summary = o.at("summary").text();
  e.topology = read_machine(o.at("topology"), e.name);
  const std::uint32_t count = e.topology.device_count();
  e.devices = read_devices_by_rank(o.at("device"), count);
  e.workloads = read_workloads(o.at("workloads"), count);
  e.schedules = config::read_schedules(o.at("schedules"));
  if (o.has("cost")) e.cost = config::read_cost(o.at("cost"));
  if (o.has("simulation")) {
    const Object s(o.at("simulation"), config::simulation_keys());
    if (s.has("seed")) e.simulation.seed = static_cast<std::uint64_t>(s.at("seed").integer(0, INT64_MAX));
  }
  if (o.has("background")) {
    for (const Cursor& c : o.at("background").items()) e.background.push_back(read_traffic(c, e.topology));
  }
  if (o.has("stragglers")) e.start_delay = read_delays(o.at("stragglers"), count);
  return e;
}

}  // namespace

Experiment load_experiment(const std::string& path) {
  return read_experiment(config::Document(config::resolve(path, "", "configs")));
}

Experiment parse_experiment(const std::string& text, const std::string& name) {
  return read_experiment(config::Document(text, name));
}

Experiment config::experiment_of(Value root, const std::string& name) {
  return read_experiment(config::Document(std::move(root), name));
}

}  // namespace overlap
