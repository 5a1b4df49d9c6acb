// The report that people read.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "analysis/ranking.hpp"
#include "overlap/report.hpp"
#include "report/explain.hpp"
#include "report/lane_rows.hpp"
#include "report/microseconds.hpp"
#include "report/table.hpp"

namespace overlap {
namespace {

constexpr std::size_t kBar = 28;

// One makespan as a bar: '#' compute floor, '=' what GEMMs lose, '-' exposed communication, '.' launch, waiting, the
// rest.
std::string phase_bar(const Phases& p, Seconds longest) {
  const double scale = kBar / longest.si();
  const Seconds bits[] = {p.floor, p.kernel + p.decomposition + p.contention, p.exposed,
                          p.slot_wait + p.launch + p.local + p.tail};
  const char glyph[] = {'#', '=', '-', '.'};
  std::string out;
  Seconds sum;
  for (std::size_t i = 0; i < 4; ++i) {
    sum += bits[i];
    const auto until = static_cast<std::size_t>(std::max(0.0, std::floor(sum.si() * scale + 0.5)));
    if (until > out.size()) out.append(until - out.size(), glyph[i]);
  }
  return out;
}

// A line a reason.
std::string refusals(const WorkloadReport& w, bool colour) {
  std::vector<std::pair<std::string, std::string>> lines;  // reason, schedules
  for (const ScheduleReport& s : w.schedules) {
    if (s.refusal.empty()) continue;
    const auto like = std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.first == s.refusal; });
    if (like != lines.end()) {
      like->second += ", " + s.label;
    } else {
      lines.emplace_back(s.refusal, s.label);
    }
  }
  std::string out;
  for (const auto& [reason, names] : lines) {
    out += tinted(fmt::format("  -  {}: {}\n", names, reason), Tint::dim, colour);
  }
  return out;
}

std::string ranking(const WorkloadReport& w, bool colour) {
  Seconds longest;
  for (const ScheduleReport& s : w.schedules) longest = std::max(longest, s.makespan);
  Table t({{"#", true},
           {"schedule", false},
           {"us", true},
           {"vs serial", true},
           {"hidden", true},
           {"GEMM us", true},
           {"exposed us", true},
           {"other us", true},
           {"extra MiB", true},
           {"where the time goes", false}});
  std::size_t rank = 0;
  for (const ScheduleReport& s : w.schedules) {
    if (!s.refusal.empty()) continue;
    const Phases& p = s.phases;
    ++rank;
    t.row({std::to_string(rank), s.label, microseconds(s.makespan, 1),
           s.speedup > 0.0 ? fmt::format("{:.3f}x", s.speedup) : "",
           s.speedup > 0.0 ? fmt::format("{:.0f} %", std::round(s.efficiency * 100.0) + 0.0) : "",
           microseconds(p.computing(), 1), microseconds(p.exposed, 1),
           microseconds(p.slot_wait + p.launch + p.local + p.tail, 1),
           fmt::format("{:.1f}", s.extra_memory.si() / 1048576.0), phase_bar(p, longest)},
          rank == 1 ? Tint::green : Tint::plain);
  }
  std::string out = t.text(colour);
  return out + refusals(w, colour);
}

const ScheduleReport* find_serial(const WorkloadReport& w) {
  for (const ScheduleReport& s : w.schedules) {
    if (s.schedule == "serial" && s.refusal.empty()) return &s;
  }
  return nullptr;
}

std::string reason(const WorkloadReport& w, bool colour) {
  const ScheduleReport& best = w.schedules.front();
  std::string with;
  std::size_t next = 1;
  for (; next < w.schedules.size() && w.schedules[next].refusal.empty(); ++next) {
    const ScheduleReport& s = w.schedules[next];
    if (!level(best.makespan.si(), s.makespan.si())) break;
    with += (next == 1 ? ", level with " : ", ") + s.label;
  }
  std::string out = "  " + tinted(fmt::format("{} wins{}.", best.label, with), Tint::bold, colour) + "\n";
  const auto against = [&](const ScheduleReport& s) {
    const Seconds gain = s.makespan - best.makespan;
    out += fmt::format("    {} us ahead of {}: {}\n", microseconds(gain, 1), s.label,
                       difference_by_phase(best.phases, s.phases));
  };
  const ScheduleReport* serial = find_serial(w);
  if (serial != nullptr && serial != &best) against(*serial);
  if (next < w.schedules.size() && w.schedules[next].refusal.empty() && &w.schedules[next] != serial) {
    against(w.schedules[next]);
  }
  const Bound bound = strongest(best.bounds);
  out +=
      fmt::format("    {:.1f} % above the lower bound of {} us ({}{}{})\n", (best.makespan / bound.time - 1.0) * 100.0,
                  microseconds(bound.time, 1), to_text(bound.kind), bound.where.empty() ? "" : ", ", bound.where);
  if (w.ideal_overlap > Seconds{}) {
    out += fmt::format("    ideal overlap would take {} us ({:.3f}x): the larger of GEMM and collective, each whole\n",
                       microseconds(w.ideal_overlap, 1), w.ideal_speedup);
  }
  return out;
}

// "launch and stream costs: 27.0 of 27.0 us"
std::string explanation(const ScheduleReport& s) {
  const Seconds difference = s.makespan - reference_of(s);
  if (std::abs(difference.si()) <= 1e-9 * s.makespan.si()) return "equal";
  const EffectOff* e = explaining_effect(s);
  if (e == nullptr) return "no single effect";
  return fmt::format("{}: {} of {} us", e->name, microseconds(difference - (e->makespan - e->reference), 1),
                     microseconds(difference, 1));
}

std::string cross_checks(const WorkloadReport& w, bool colour) {
  Table t({{"schedule", false},
           {"us", true},
           {"closed form us", true},
           {"above", true},
           {"lower bound us", true},
           {"above", true},
           {"bound by", false},
           {"mostly explained by", false}});
  for (const ScheduleReport& s : w.schedules) {
    if (!s.refusal.empty()) continue;
    const auto percent = [&](Seconds reference) {
      return reference > Seconds{} ? fmt::format("{:+.1f} %", (s.makespan / reference - 1.0) * 100.0) : std::string();
    };
    const Bound bound = strongest(s.bounds);
    t.row({s.label, microseconds(s.makespan, 1), s.cross.closed_form ? microseconds(*s.cross.closed_form, 1) : "-",
           s.cross.closed_form ? percent(*s.cross.closed_form) : "", microseconds(bound.time, 1), percent(bound.time),
           fmt::format("{}{}{}", to_text(bound.kind), bound.where.empty() ? "" : " ", bound.where), explanation(s)});
  }
  return t.text(colour);
}

std::string failures(const WorkloadReport& w, bool colour) {
  std::string out;
  for (const ScheduleReport& s : w.schedules) {
    for (const std::string& c : s.checks) out += tinted("  FAILED ", Tint::red, colour) + s.label + ": " + c + "\n";
  }
  if (out.empty() && w.checked) {
    out =
        "  Checks passed: well-formed, no races, reference run equal, bytes delivered, phases and path sum up, no "
        "bound broken.\n";
  }
  return out;
}

}  // namespace

std::string report_text(const RunReport& report, const TextStyle& style) {
  const bool colour = style.colour;
  std::string out = fmt::format("{}: {}; {}\n", report.config, report.machine, report.models);
  for (const std::string& n : report.notes) out += tinted("note: " + n, Tint::yellow, colour) + "\n";
  for (const WorkloadReport& w : report.workloads) {
    out += fmt::format("\n{} ({}): {}\n  per GPU: {}\n\n", tinted(w.name, Tint::bold, colour), w.pattern, w.layer,
                       w.per_gpu);
    out += ranking(w, colour);
    if (w.schedules.empty() || !w.schedules.front().refusal.empty()) {
      out += "  No schedule can run here.\n";
      continue;
    }
    const ScheduleReport& best = w.schedules.front();
    out +=
        tinted("     # compute at peak  = what the GEMMs lose  - exposed communication  . launch, waiting, copies\n\n",
               Tint::dim, colour);
    out += reason(w, colour);
    if (best.run) {
      out += fmt::format("\n  {} on GPU {} (# = GEMM, > - communication, + copy or add, . waiting for peers)\n",
                         best.label, best.phases.device.v);
      out += timeline_text(best.run->view(), best.phases.device, style.width > 40 ? style.width - 26 : 20, colour);
    }
    out += "\n  Cross-check\n" + cross_checks(w, colour) + failures(w, colour);
    if (style.explain) out += explain_text(w, colour);
  }
  return out;
}

}  // namespace overlap
