// run CONFIG --best: for each layer of an experiment the best of all schedules and settings, and how far from physics
// it is.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/best.hpp"
#include "cli/sheet.hpp"
#include "overlap/error.hpp"

namespace overlap::cli {
namespace {

// A quantity on the command line; the message names the option.
template <class F>
auto quantity(const char* option, const std::string& text, F parse) {
  try {
    return parse(text);
  } catch (const UnitError& error) {
    throw InputError(option, error.what());
  }
}

Sheet ranking(const Best& best, std::size_t show) {
  Sheet s{{{"schedule and setting", "setting"},
           {"time", "makespan_s"},
           {"over best", "over_best"},
           {"extra memory", "extra_memory_bytes"},
           {"launches", "launches"},
           {"", "standing"}},
          {}};
  for (std::size_t i = 0; i < best.ranked.size() && i < show; ++i) {
    const Candidate& c = best.ranked[i];
    s.rows.push_back({label_of(c), c.makespan, percent(c.makespan / best.ranked[0].makespan - 1.0), c.extra_memory,
                      static_cast<std::uint32_t>(c.launches), i == 0 ? "best" : (c.tied ? "tied" : "")});
  }
  return s;
}

// The fastest setting of each schedule.
Sheet per_schedule(const Best& best) {
  Sheet s{{{"schedule", "schedule"}, {"best setting", "setting"}, {"time", "makespan_s"}, {"over best", "over_best"}},
          {}};
  std::vector<const ScheduleInfo*> seen;
  for (const Candidate& c : best.ranked) {
    if (std::find(seen.begin(), seen.end(), c.info) != seen.end()) continue;
    seen.push_back(c.info);
    s.rows.push_back({c.info->name, label_of(c), c.makespan, percent(c.makespan / best.ranked[0].makespan - 1.0)});
  }
  for (const auto& [name, reason] : best.refused) s.rows.push_back({name, "refuses: " + reason, "-", "-"});
  return s;
}

Sheet bounds(const Best& best) {
  Sheet s{{{"no schedule is faster than", "bound"}, {"time", "time_s"}, {"best over it", "gap"}}, {}};
  for (const PhysicalBound& b : best.bounds) {
    s.rows.push_back({b.what, b.time, percent(best.ranked[0].makespan / b.time - 1.0)});
  }
  return s;
}

Sheet knobs(const Best& best) {
  Sheet s{{{"set", "knob"}}, {}};
  for (const std::string& k : best.knobs) s.rows.push_back({k});
  return s;
}

std::string summary(const Best& best, const Workload& w) {
  std::size_t tied = 0;
  for (const Candidate& c : best.ranked) tied += c.tied ? 1 : 0;
  const Candidate& first = best.ranked[0];
  std::string out = fmt::format("{} ({}, {} tokens, {} -> {}, TP {}): {} in {}\n", w.name, to_text(w.pattern), w.tokens,
                                w.in, w.out, w.tp, label_of(first), to_text(first.makespan));
  out += fmt::format("  {} settings tried, {} over the memory limit; gap to the strongest bound ({}, {}): {}\n",
                     best.ranked.size() + best.too_large.size(), best.too_large.size(), best.bounds[0].what,
                     to_text(best.bounds[0].time), percent(best.gap));
  out += fmt::format("  the tensor moves at {} (bytes of the whole over the makespan); bound {}\n",
                     to_text(collective_bytes(w) / first.makespan), to_text(collective_bytes(w) / best.bounds[0].time));
  out += best.error > 0.0 ? fmt::format("  {} settings are tied within the device file's validated error of {}\n", tied,
                                        percent(best.error))
                          : std::string("  the device was never validated: ties are exact ones only\n");
  return out;
}

}  // namespace

int show_best(const Experiment& e, const BestArgs& args) {
  BestOptions options;
  if (!args.schedule.empty()) options.schedules = {std::string(find_schedule(args.schedule).name)};
  if (!args.memory.empty()) options.memory_limit = quantity("--memory", args.memory, parse_bytes);
  if (!args.host_launch.empty()) options.host_launch = quantity("--host-launch", args.host_launch, parse_seconds);
  if (isatty(STDERR_FILENO) != 0) {
    options.progress = [](std::size_t done, std::size_t total) {
      if (done % 16 == 0 || done == total) {
        fmt::print(stderr, "\r{} of {} settings{}", done, total, done == total ? "\r\033[K" : "");
      }
    };
  }
  const Machine machine{e.topology, e.devices, e.background};
  std::vector<NamedSheet> sheets;
  std::string text;
  for (const Workload& w : e.workloads) {
    const Best best = find_best(w, machine, e.cost, e.simulation, options);
    const std::size_t show_rows = args.format == Format::text ? 12 : best.ranked.size();
    const std::string key = w.name + " " + std::string(to_text(w.pattern));
    std::vector<NamedSheet> mine{{"ranking", key + " ranking", ranking(best, show_rows)},
                                 {"best of each schedule", key + " schedules", per_schedule(best)},
                                 {"what physics allows", key + " bounds", bounds(best)},
                                 {"knobs", key + " knobs", knobs(best)}};
    if (args.format == Format::text) {
      text += summary(best, w) + "\n" + print(mine, Format::text) + "\n";
    } else {
      sheets.insert(sheets.end(), std::make_move_iterator(mine.begin()), std::make_move_iterator(mine.end()));
    }
  }
  if (args.format != Format::text) text = print(sheets, args.format);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace overlap::cli
