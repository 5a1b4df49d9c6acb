#include "report/explain.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/microseconds.hpp"
#include "report/table.hpp"

namespace overlap {
namespace {

// Heads of the phases, short enough for ten columns.
constexpr std::string_view kPhaseHeads[] = {"floor",  "kernel",  "DIL",   "CIL", "SM wait",
                                            "launch", "exposed", "local", "tail"};

std::string phase_table(const WorkloadReport& w, bool colour) {
  std::vector<Column> columns{{"us", false}};
  for (const std::string_view head : kPhaseHeads) columns.push_back({std::string(head), true});
  for (const char* head : {"= makespan", "algbw GB/s", "busbw GB/s"}) columns.push_back({head, true});
  Table t(columns);
  for (const ScheduleReport& s : w.schedules) {
    if (!s.refusal.empty()) continue;
    std::vector<std::string> cells{s.label};
    for (const PhaseName& p : phase_names()) cells.push_back(microseconds(s.phases.*p.member, 2));
    cells.push_back(microseconds(s.phases.total(), 2));
    cells.push_back(fmt::format("{:.1f}", s.bandwidth.algorithm.si() / 1e9));
    cells.push_back(fmt::format("{:.1f}", s.bandwidth.bus.si() / 1e9));
    t.row(std::move(cells));
  }
  return t.text(colour, "    ");
}

std::string loss_table(const WorkloadReport& w, bool colour) {
  Table t({{"", false},
           {"GEMM us", true},
           {"DIL", true},
           {"CIL", true},
           {"communication us", true},
           {"DIL", true},
           {"CIL", true},
           {"of ideal overlap", true}});
  const auto factor = [](Seconds of, double v) { return of > Seconds{} ? fmt::format("{:.3f}", v) : std::string("-"); };
  for (const ScheduleReport& s : w.schedules) {
    if (!s.losses) continue;
    const SideLoss& g = s.losses->gemm;
    const SideLoss& c = s.losses->communication;
    t.row({s.label, microseconds(g.whole, 2), factor(g.whole, g.dil()), factor(g.pieces, g.cil()),
           microseconds(c.whole, 2), factor(c.whole, c.dil()), factor(c.pieces, c.cil()),
           w.ideal_overlap > Seconds{} ? fmt::format("{:.0f} %", w.ideal_overlap / s.makespan * 100.0) : "-"});
  }
  return t.text(colour, "    ");
}

std::string link_table(const ScheduleReport& s, bool colour) {
  Table t({{"resource", false},
           {"GB/s", true},
           {"MB", true},
           {"busy us", true},
           {"full", true},
           {"flows", true},
           {"sharing", false}});
  // Resources that did the same share a line: the JSON report has each.
  using Line = std::vector<std::string>;
  std::vector<std::pair<Line, std::size_t>> lines;
  for (const LinkUse& l : s.links) {
    const FluidResource& r = s.run->resources.fluids[l.resource.index()];
    Line line{r.name,
              fmt::format("{:.1f}", r.capacity.si() / 1e9),
              fmt::format("{:.3f}", l.bytes.si() / 1e6),
              microseconds(l.busy, 2),
              fmt::format("{:.0f} %", l.utilisation * 100.0),
              std::to_string(l.peak_flows),
              sharing_rule(r)};
    const auto like = std::find_if(lines.begin(), lines.end(), [&](const auto& x) {
      return std::equal(line.begin() + 1, line.end(), x.first.begin() + 1, x.first.end());
    });
    if (like != lines.end()) {
      ++like->second;
    } else {
      lines.emplace_back(std::move(line), 0);
    }
  }
  for (auto& [line, alike] : lines) {
    if (alike > 0) line[0] += fmt::format(" and {} alike", alike);
    t.row(std::move(line));
  }
  return t.text(colour, "    ");
}

std::string path_table(const ScheduleReport& s, bool colour) {
  Table t({{"from us", true}, {"us", true}, {"step", false}, {"op", false}, {"gpu", true}});
  for (const PathStep& p : s.path) {
    const bool op = p.op.valid();
    const Op* o = op ? &s.run->graph.op(p.op) : nullptr;
    t.row({microseconds(p.begin, 2), microseconds(p.end - p.begin, 2), std::string(to_text(p.kind)),
           op ? s.run->graph.text(o->label) : "", op ? std::to_string(s.run->graph.device_of(*o).v) : ""});
  }
  return t.text(colour, "    ");
}

std::string effect_table(const WorkloadReport& w, bool colour) {
  std::vector<std::string> names;
  for (const ScheduleReport& s : w.schedules) {
    for (const EffectOff& e : s.cross.effects) {
      if (std::find(names.begin(), names.end(), e.name) == names.end()) names.push_back(e.name);
    }
  }
  std::vector<Column> columns{{"us", false}};
  for (const std::string& n : names) columns.push_back({n, true});
  Table t(columns);
  for (const ScheduleReport& s : w.schedules) {
    if (!s.refusal.empty()) continue;
    std::vector<std::string> cells{s.label};
    for (const std::string& n : names) {
      const auto it =
          std::find_if(s.cross.effects.begin(), s.cross.effects.end(), [&](const EffectOff& e) { return e.name == n; });
      cells.push_back(it == s.cross.effects.end() ? "-" : microseconds(s.makespan - it->makespan, 2));
    }
    t.row(std::move(cells));
  }
  return t.text(colour, "    ");
}

std::string sensitivity_text(const WorkloadReport& w, bool colour) {
  Table t({{"input, 1 % larger", false}, {"makespan", true}});
  std::string none;
  for (const Sensitivity& s : w.sensitivities) {
    if (s.effect == 0.0) {
      none += (none.empty() ? "" : ", ") + s.input;
    } else {
      t.row({s.input, fmt::format("{:+.4f} %", s.effect * 100.0)});
    }
  }
  std::string out = t.text(colour, "    ");
  if (!none.empty()) out += "    No effect on the winner: " + none + "\n";
  return out;
}

}  // namespace

std::string explain_text(const WorkloadReport& w, bool colour) {
  const ScheduleReport& best = w.schedules.front();
  const auto head = [&](const std::string& text) { return "\n  " + tinted(text, Tint::bold, colour) + "\n"; };
  std::string out = head("Phases, on the GPU that ends last") + phase_table(w, colour);
  if (best.losses) {
    out += head("Losses as FiCCO splits them: whole op alone, x DIL = its pieces alone, x CIL = as they ran") +
           loss_table(w, colour);
  }
  out += head("What each effect of the model costs (makespan with it, less without)") + effect_table(w, colour);
  if (best.run) {
    out += head("Resources under " + best.label) + link_table(best, colour);
    out += head("Critical path of " + best.label) + path_table(best, colour);
  }
  for (const ScheduleReport& s : w.schedules) {
    if (s.cross.closed_form) {
      out += head("Closed form of " + s.label) + "    " + s.cross.formula + "\n    assumes " + s.cross.assumes + "\n";
    }
  }
  if (!w.sensitivities.empty()) {
    out += head("Which numeric inputs matter to " + best.label) + sensitivity_text(w, colour);
  }
  return out;
}

}  // namespace overlap
