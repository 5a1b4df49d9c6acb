// Reads study files.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "config/paths.hpp"
#include "config/reader.hpp"
#include "overlap/error.hpp"
#include "overlap/sweep.hpp"
#include "sweep/axis_text.hpp"
#include "sweep/keys.hpp"

namespace overlap {

namespace fs = std::filesystem;

namespace {

using config::Cursor;
using config::Object;

// "20 GB/s" -> 20 and "GB/s"; a plain number -> itself and "".
std::pair<double, std::string> split_number(const Cursor& at) {
  if (!at.is_string()) return {at.ratio(-1e300, 1e300), ""};
  const std::string& text = at.text();
  std::size_t used = 0;
  double number = 0;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || !std::isfinite(number)) at.fail("'" + text + "' does not begin with a finite number");
  while (used < text.size() && text[used] == ' ') ++used;
  return {number, text.substr(used)};
}

Axis read_axis(const Cursor& at) {
  const Object o(at, sweep::axis_keys());
  Axis axis;
  axis.pointer = o.at("pointer").text();
  if (axis.pointer.front() != '/') o.at("pointer").fail("a JSON pointer begins with '/'");
  axis.name = o.has("name") ? o.at("name").text() : axis.pointer.substr(axis.pointer.rfind('/') + 1);
  if (o.has("values") == o.has("range")) o.fail("an axis has either 'values' or 'range'");
  if (o.has("values")) {
    for (const Cursor& v : o.at("values").items()) axis.values.push_back(config::json_text(v.value()));
    if (axis.values.empty()) o.at("values").fail("the list is empty, so the study has no cell");
    return axis;
  }
  const std::vector<Cursor> ends = o.at("range").items();
  if (ends.size() != 2) o.at("range").fail("a range is [low, high]");
  const auto [low, unit] = split_number(ends[0]);
  const auto [high, unit2] = split_number(ends[1]);
  if (unit != unit2) ends[1].fail("both ends need the same unit ('" + unit + "')");
  if (!(low < high)) ends[1].fail("the high end must be above the low end");
  axis.sampled = true;
  axis.low = low;
  axis.high = high;
  axis.unit = unit;
  axis.whole = o.has("whole") && o.at("whole").boolean();
  return axis;
}

std::vector<AxisGroup> read_axes(const Cursor& at) {
  std::vector<AxisGroup> groups;
  for (const Cursor& item : at.items()) {
    AxisGroup group;
    if (item.value().find("zip") != nullptr) {
      const Object o(item, sweep::zip_keys());
      for (const Cursor& inner : o.at("zip").items()) group.axes.push_back(read_axis(inner));
      if (group.axes.empty()) o.at("zip").fail("names no axis");
      for (const Axis& a : group.axes) {
        if (a.sampled) o.at("zip").fail("a sampled axis cannot be zipped");
        if (a.values.size() != group.size()) {
          o.at("zip").fail("axis '" + a.name + "' has " + std::to_string(a.values.size()) + " values, '" +
                           group.axes.front().name + "' has " + std::to_string(group.size()));
        }
      }
    } else {
      group.axes.push_back(read_axis(item));
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<std::string> names_of_axes(const Study& s) {
  std::vector<std::string> names;
  for (const AxisGroup& g : s.groups) {
    for (const Axis& a : g.axes) names.push_back(a.name);
  }
  return names;
}

void read_filters(const Cursor& at, Study& s) {
  constexpr std::string_view kRelations[] = {"<", "<=", ">", ">=", "==", "!="};
  const std::vector<std::string> names = names_of_axes(s);
  for (const Cursor& item : at.items()) {
    const Object o(item, sweep::filter_keys());
    Filter f;
    f.left = o.at("left").text();
    if (std::find(names.begin(), names.end(), f.left) == names.end()) {
      o.at("left").fail(config::unknown_name("axis", f.left, names));
    }
    f.relation = kRelations[o.at("is").choice(kRelations)];
    const Cursor right = o.at("right");
    const bool axis = right.is_string() && std::find(names.begin(), names.end(), right.text()) != names.end();
    f.right = axis ? right.text() : config::json_text(right.value());
    s.filters.push_back(std::move(f));
  }
}

void read_uncertain(const Cursor& at, Study& s) {
  for (const Cursor& item : at.items()) {
    const Object o(item, sweep::uncertain_keys());
    s.uncertain.push_back({o.at("name").text(), o.at("pointer").text(), config::json_text(o.at("low").value()),
                           config::json_text(o.at("high").value())});
  }
}

std::vector<std::string> read_names(const Cursor& at, std::string_view what, const std::vector<std::string>& known) {
  std::vector<std::string> given;
  for (const Cursor& item : at.items()) {
    const std::string& name = item.text();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      item.fail(config::unknown_name(what, name, known));
    }
    given.push_back(name);
  }
  std::vector<std::string> out;  // in the order of the table, whatever the file's
  for (const std::string& name : known) {
    if (std::find(given.begin(), given.end(), name) != given.end()) out.push_back(name);
  }
  return out;
}

void read_experiment(const Object& o, Study& s) {
  const Cursor at = o.at("experiment");
  if (at.is_object()) {
    s.experiment_text = config::json_text(at.value());
    s.experiment_name = o.has("origin") ? o.at("origin").text() : s.file;
    return;
  }
  s.experiment_name = config::resolve(at.text(), s.file, "configs");
  s.experiment_text = config::read_text(s.experiment_name);
}

// The study file with its experiment inside, and where that came from (for paths beside it).
std::string whole_text(const config::Value& root, const Study& s) {
  config::Value whole = root;
  bool origin = false;
  for (auto& [key, member] : whole.members) {
    if (key == "experiment") member = config::parse_text(s.experiment_text, s.experiment_name);
    origin = origin || key == "origin";
  }
  if (!origin) {
    config::Value place;
    place.kind = config::Value::Kind::string;
    place.string = fs::absolute(s.experiment_name).string();
    whole.members.emplace_back("origin", std::move(place));
  }
  return config::json_text(whole) + "\n";
}

void read_sample(const Object& o, Study& s) {
  bool any = false;
  for (const AxisGroup& g : s.groups) any = any || g.axes.front().sampled;
  if (!any) {
    if (o.has("sample")) o.at("sample").fail("no axis has a 'range' to sample");
    return;
  }
  const Object sample(o.at("sample"), sweep::sample_keys());
  constexpr std::string_view kMethods[] = {"latin_hypercube"};
  (void)sample.at("method").choice(kMethods);
  s.sample_points = sample.at("points").count();
  s.sample_seed = static_cast<std::uint64_t>(sample.at("seed").integer(0, std::int64_t{1} << 62));
}

}  // namespace

Study study_of_folder(const std::string& out) {
  if (fs::exists(out + "/study.json")) return load_study(out + "/study.json");
  if (fs::is_directory(out)) {
    std::vector<std::string> shards;
    for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
      const std::string mark = entry.path().string() + "/study.json";
      if (entry.path().filename().string().rfind("shard-", 0) == 0 && fs::exists(mark)) shards.push_back(mark);
    }
    if (!shards.empty()) return load_study(*std::min_element(shards.begin(), shards.end()));
  }
  throw InputError(out, "holds no study; make one with: overlapsim sweep STUDY.json --out FOLDER");
}

const std::vector<std::string>& metric_names() {
  static const std::vector<std::string> names = {"makespan_us",    "p10_us",           "p90_us",
                                                 "speedup",        "lower_bound_us",   "gap_pct",
                                                 "closed_form_us", "communication_us", "extra_memory_bytes",
                                                 "floor_us",       "kernel_us",        "decomposition_us",
                                                 "contention_us",  "slot_wait_us",     "launch_us",
                                                 "exposed_us",     "local_us",         "tail_us"};
  return names;
}

Study load_study(const std::string& path) {
  const config::Document doc(path);
  const Object o(doc.root(), sweep::study_keys());
  Study s;
  s.file = path;
  s.name = o.has("name") ? o.at("name").text() : config::stem_of(path);
  if (o.has("summary")) s.summary = o.at("summary").text();
  if (o.has("source")) s.source = o.at("source").text();
  read_experiment(o, s);
  if (o.has("axes")) s.groups = read_axes(o.at("axes"));
  read_sample(o, s);
  if (o.has("filters")) read_filters(o.at("filters"), s);
  s.baseline = o.has("baseline") ? o.at("baseline").text() : "serial";
  (void)find_schedule(s.baseline);
  s.metrics = o.has("metrics") ? read_names(o.at("metrics"), "metric", metric_names()) : metric_names();
  if (std::find(s.metrics.begin(), s.metrics.end(), "makespan_us") == s.metrics.end()) {
    s.metrics.insert(s.metrics.begin(), "makespan_us");
  }
  if (o.has("seeds")) s.seeds = o.at("seeds").count(1000);
  if (o.has("uncertain")) read_uncertain(o.at("uncertain"), s);
  if (o.has("uncertain_cells")) s.uncertain_cells = o.at("uncertain_cells").count(10000);
  if (o.has("selectors")) s.selectors = read_names(o.at("selectors"), "selector", sweep::selector_names());
  if (o.has("timelines")) s.timelines = static_cast<std::uint32_t>(o.at("timelines").integer(0, 200));
  if (o.has("findings")) {
    for (const Cursor& item : o.at("findings").items()) s.findings.push_back(item.text());
  }
  s.text = whole_text(doc.root().value(), s);
  return s;
}

}  // namespace overlap
