#include "validate/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "config/paths.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "overlap/report.hpp"
#include "text/json_writer.hpp"
#include "validate/tile_times.hpp"

namespace overlap::validation {
namespace {

void fields(JsonWriter& w, const Accuracy& a) {
  w.key("n").value(a.n);
  w.key("bias_pct").value(a.bias_pct);
  w.key("median_ape_pct").value(a.median_ape_pct);
  w.key("p90_ape_pct").value(a.p90_ape_pct);
  w.key("inside_pct").value(a.inside_pct);
  w.key("covered_pct").value(a.covered_pct);
}

std::string environment_text(const Record& r) {
  return fmt::format("d={} channels={} SMs={}{}", r.d, r.channels == 0 ? "default" : std::to_string(r.channels),
                     r.sms == 0 ? "all" : std::to_string(r.sms), r.priority ? " priority" : "");
}

std::string extras_text(const Validation& v) {
  std::string out;
  std::size_t named = 0;
  for (const auto& s : v.environments.shapes) named += s.named ? 1 : 0;
  if (!v.environments.shapes.empty()) {
    out += fmt::format("\nbest environment and d named in {} of {} shapes (ties within the spread count)\n", named,
                       v.environments.shapes.size());
  }
  for (const auto& s : v.environments.shapes) {
    out += fmt::format("  {:<22} {:<4} named {:<40} best {:<40} regret {:.2f} %\n", s.name, s.named ? "ok" : "MISS",
                       environment_text(s.pick), environment_text(s.best), s.regret_pct);
  }
  if (!v.sustained.empty()) out += "\nsustained load: steady time over cool time, and time until half of the rise\n";
  for (const SustainedScore& s : v.sustained) {
    out += fmt::format("  {:<30} ratio {:.3f} (predicted {:.3f}), onset {:.0f} ms (predicted {:.0f})\n", s.name,
                       s.measured_ratio, s.predicted_ratio, s.measured_onset * 1e3, s.predicted_onset * 1e3);
  }
  if (v.compass.n > 0) {
    out += fmt::format(
        "\nCompass closed form given the measured parts, {} records: {:.2f}/{:.2f} %; simulator: {:.2f}/{:.2f} % "
        "({:.1f} times better)\n",
        v.compass.n, v.compass.form_median, v.compass.form_p90, v.compass.simulator_median, v.compass.simulator_p90,
        v.compass.form_median / std::max(1e-9, v.compass.simulator_median));
  }
  return out;
}

void extras_json(JsonWriter& w, const Validation& v) {
  w.key("environments").begin_list();
  for (const auto& s : v.environments.shapes) {
    w.begin_object().key("shape").value(s.name).key("named").value(s.named);
    w.key("pick").value(environment_text(s.pick)).key("best").value(environment_text(s.best));
    w.key("regret_pct").value(s.regret_pct).end_object();
  }
  w.end_list().key("sustained").begin_list();
  for (const SustainedScore& s : v.sustained) {
    w.begin_object().key("name").value(s.name);
    w.key("measured_ratio").value(s.measured_ratio).key("predicted_ratio").value(s.predicted_ratio);
    w.key("measured_onset_s").value(s.measured_onset).key("predicted_onset_s").value(s.predicted_onset).end_object();
  }
  w.end_list().key("compass").begin_object().key("n").value(v.compass.n);
  w.key("form_median_ape_pct").value(v.compass.form_median).key("form_p90_ape_pct").value(v.compass.form_p90);
  w.key("simulator_median_ape_pct").value(v.compass.simulator_median);
  w.key("simulator_p90_ape_pct").value(v.compass.simulator_p90).end_object();
}

std::string threshold_name(const Threshold& t) {
  return fmt::format("{}: {} {} {:g}", t.group, t.measure, t.at_least ? ">=" : "<=", t.limit);
}
std::string threshold_result(const Threshold& t) {
  return t.found ? fmt::format("{:.3g}", t.value) : std::string("no such records");
}

const Record& find_record(const RecordSet& set, const std::string& which) {
  const bool number = !which.empty() && which.find_first_not_of("0123456789") == std::string::npos;
  if (number && which.size() < 9 && std::stoul(which) < set.records.size()) return set.records[std::stoul(which)];
  for (const Record& r : set.records) {
    if (r.where.ends_with(which)) return r;
  }
  throw InputError("--explain", "no record '" + which + "': give its number (0 to " +
                                    std::to_string(set.records.size() - 1) + ") or the end of its file:line");
}

}  // namespace

std::string json_text(const Validation& v, const std::vector<Threshold>& thresholds) {
  JsonWriter w;
  w.begin_object().key("overall").begin_object();
  fields(w, v.overall);
  w.end_object().key("groups").begin_list();
  for (const Accuracy& a : v.groups) {
    w.begin_object().key("name").value(a.name);
    fields(w, a);
    w.end_object();
  }
  w.end_list().key("picks").begin_object();
  w.key("top1").value(v.picks.top1).key("within_1pct").value(v.picks.within_1pct);
  w.key("regret_mean_pct").value(v.picks.regret_mean_pct).key("regret_max_pct").value(v.picks.regret_max_pct);
  w.key("tau").value(v.picks.tau);
  w.key("best_d").value(v.picks.best_d).key("best_d_regret_pct").value(v.picks.best_d_regret_pct).end_object();
  extras_json(w, v);
  if (!thresholds.empty()) {
    w.key("thresholds").begin_list();
    for (const Threshold& t : thresholds) {
      w.begin_object().key("name").value(threshold_name(t)).key("passed").value(t.passed).key("value");
      t.found ? w.value(t.value) : w.null();
      w.end_object();
    }
    w.end_list();
  }
  w.end_object();
  return w.text() + "\n";
}

std::string table_text(const RecordSet& set, const Validation& v, const std::vector<Threshold>& thresholds) {
  std::string out = fmt::format("{:<43} {:>5} {:>8} {:>8} {:>8} {:>8} {:>9}\n", "records", "n", "bias %", "median %",
                                "p90 %", "inside %", "covered %");
  const auto line = [&](const Accuracy& a) {
    out += fmt::format("{:<43} {:>5} {:>+8.2f} {:>8.2f} {:>8.2f} {:>8.0f} {:>9}\n", a.name, a.n, a.bias_pct,
                       a.median_ape_pct, a.p90_ape_pct, a.inside_pct,
                       a.covered_pct > 0 ? fmt::format("{:.0f}", a.covered_pct) : "");
  };
  for (const Accuracy& a : v.groups) line(a);
  line(v.overall);
  if (v.picks.shapes > 0) {
    out += fmt::format(
        "\npicks over {} shapes: best named {:.0f} %, within 1 % of best {:.0f} %, regret mean {:.2f} % max {:.2f} %, "
        "tau {:.2f}; best d of a DMA family {:.0f} %, regret {:.2f} %\n",
        v.picks.shapes, v.picks.top1, v.picks.within_1pct, v.picks.regret_mean_pct, v.picks.regret_max_pct, v.picks.tau,
        v.picks.best_d, v.picks.best_d_regret_pct);
  }
  out += extras_text(v);
  for (const auto& [kind, n] : set.skipped) out += fmt::format("not replayed: {} lines of kind {}\n", n, kind);
  if (!thresholds.empty()) out += "\n";
  for (const Threshold& t : thresholds) {
    out += fmt::format("{:<6} {} (is {})\n", t.passed ? "ok" : "FAIL", threshold_name(t), threshold_result(t));
  }
  out +=
      "inside %: share of records whose measured minimum..maximum holds the prediction; covered %: share of races "
      "whose measured median lies in minimum..maximum of the seeded runs\n";
  return out;
}

std::string csv_text(const Validation& v) {
  std::string out = "name,n,bias_pct,median_ape_pct,p90_ape_pct,inside_pct,covered_pct\n";
  const auto line = [&](const Accuracy& a) {
    out += fmt::format("{},{},{:.4f},{:.4f},{:.4f},{:.2f},{:.2f}\n", csv_field(a.name), a.n, a.bias_pct,
                       a.median_ape_pct, a.p90_ape_pct, a.inside_pct, a.covered_pct);
  };
  line(v.overall);
  for (const Accuracy& a : v.groups) line(a);
  return out;
}

std::string records_text(const RecordSet& set, const Validation& v) {
  std::string out =
      "where,group,d,m,n,k,bytes,sms,channels,measured_us,min_us,max_us,predicted_us,predicted_min_us,predicted_max_"
      "us\n";
  for (std::size_t i = 0; i < set.records.size(); ++i) {
    const Record& r = set.records[i];
    const Prediction& p = v.predictions[i];
    out += fmt::format("{},{},{},{},{},{},{:.0f},{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f}\n", csv_field(r.where),
                       csv_field(r.group()), r.d, r.shape.m, r.shape.n, r.shape.k, r.bytes.si(), r.sms, r.channels,
                       r.median.si() * 1e6, r.min.si() * 1e6, r.max.si() * 1e6, p.median.si() * 1e6, p.min.si() * 1e6,
                       p.max.si() * 1e6);
  }
  return out;
}

std::string junit_text(const std::string& name, const std::vector<Threshold>& thresholds) {
  const auto failed = std::count_if(thresholds.begin(), thresholds.end(), [](const Threshold& t) { return !t.passed; });
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += fmt::format(
      "<testsuites tests=\"{0}\" failures=\"{1}\">\n<testsuite name=\"{2}\" tests=\"{0}\" failures=\"{1}\">\n",
      thresholds.size(), failed, xml_text(name));
  for (const Threshold& t : thresholds) {
    out += fmt::format("  <testcase classname=\"accuracy\" name=\"{}\"", xml_text(threshold_name(t)));
    out += t.passed ? std::string("/>\n")
                    : fmt::format("><failure message=\"is {}\"/></testcase>\n", xml_text(threshold_result(t)));
  }
  return out + "</testsuite>\n</testsuites>\n";
}

int run(const Request& q, Style style) {
  Budget b;
  if (!q.budget.empty()) {
    b = load_budget(q.budget);
    if (!q.data.empty()) b.data = q.data;
    if (!q.device.empty()) b.device = q.device;
    if (!q.topology.empty()) b.topology = q.topology;
  } else {
    b = {"accuracy", q.data, q.device, q.topology, {}};
    if (b.data.empty()) throw InputError("validate", "a budget file or --data is needed");
    if (b.device.empty() || b.topology.empty()) throw InputError("validate", "--data needs --device and --topology");
  }
  if (q.seeds < 1 || q.seeds > 1000) throw InputError("--seeds", "1 to 1000 are possible");
  const Device device = load_device(b.device);
  const Topology topology = load_topology(b.topology);
  if (topology.device_count() < 2) throw InputError(b.topology, "two devices are needed to replay these records");
  if (q.tiles) {
    fmt::print("{}", tiles_text(read_tiles(b.data), device, topology, {}));
    return 0;
  }
  const RecordSet set = read_records(b.data);
  if (set.records.empty() && set.sustained.empty()) throw InputError(b.data.front(), "no record that can be replayed");
  ReplayOptions options;
  options.seeds = static_cast<std::uint32_t>(q.seeds);
  options.unseen = q.unseen;
  if (!q.explain.empty()) {
    fmt::print("{}", explain_text(find_record(set, q.explain), device, topology, options));
    return 0;
  }
  if (q.ablation) {
    fmt::print("{}", ablation_text(set, device, topology, options));
    return 0;
  }
  const Validation v = validate(set, device, topology, options);
  check(b.thresholds, v);
  if (!q.json_file.empty()) write_file(q.json_file, json_text(v, b.thresholds));
  if (!q.junit_file.empty()) write_file(q.junit_file, junit_text(b.name, b.thresholds));
  if (!q.records_file.empty()) write_file(q.records_file, records_text(set, v));
  switch (style) {
    case Style::json:
      fmt::print("{}", json_text(v, b.thresholds));
      break;
    case Style::csv:
      fmt::print("{}", csv_text(v));
      break;
    case Style::text:
      fmt::print("{}", table_text(set, v, b.thresholds));
      break;
  }
  return std::all_of(b.thresholds.begin(), b.thresholds.end(), [](const Threshold& t) { return t.passed; }) ? 0 : 1;
}

}  // namespace overlap::validation
