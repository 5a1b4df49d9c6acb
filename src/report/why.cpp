// Why one run is faster than another: the phases that differ most; and which effect of the model matters most.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "overlap/report.hpp"

namespace overlap {

std::string difference_by_phase(const Phases& winner, const Phases& other) {
  struct Item {
    std::string_view name;
    double us;
  };
  std::vector<Item> items;
  double all = 0.0;
  for (const PhaseName& p : phase_names()) {
    const double d = (winner.*p.member - other.*p.member).si() * 1e6;
    items.push_back({p.name, d});
    all += std::abs(d);
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return std::abs(a.us) > std::abs(b.us); });
  std::string out;
  for (std::size_t i = 0; i < items.size() && i < 4; ++i) {
    if (std::abs(items[i].us) < 0.01 * all || all == 0.0) break;
    if (!out.empty()) out += ", ";
    out += fmt::format("{} {:+.1f} us", items[i].name, items[i].us);
  }
  return out.empty() ? "no phase differs" : out;
}

Seconds reference_of(const ScheduleReport& s) {
  return s.cross.closed_form ? *s.cross.closed_form : strongest(s.bounds).time;
}

const EffectOff* explaining_effect(const ScheduleReport& s) {
  const EffectOff* best = nullptr;
  double least = std::abs((s.makespan - reference_of(s)).si()) - 1e-9 * s.makespan.si();
  for (const EffectOff& e : s.cross.effects) {
    const double left = std::abs((e.makespan - e.reference).si());
    if (left < least) {
      least = left;
      best = &e;
    }
  }
  return best;
}

}  // namespace overlap
