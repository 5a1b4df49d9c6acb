// Lanes of a device as rows of characters.
#include <algorithm>
#include <cmath>

#include "overlap/report.hpp"
#include "report/lane_rows.hpp"
#include "report/table.hpp"

namespace overlap {
namespace {

constexpr std::size_t kMostLanes = 10;

struct Glyphs {
  char even;
  char odd;
  Tint tint;
};
Glyphs glyphs(Activity a) {
  switch (a) {
    case Activity::compute:
      return {'#', '=', Tint::green};
    case Activity::communication:
      return {'>', '-', Tint::blue};
    case Activity::local:
      return {'+', '+', Tint::yellow};
  }
  return {' ', ' ', Tint::plain};
}

std::string coloured(const std::string& row, const std::vector<Tint>& tints, bool colour) {
  std::string out;
  for (std::size_t i = 0; i < row.size();) {
    std::size_t j = i;
    while (j < row.size() && tints[j] == tints[i]) ++j;
    out += tinted(std::string_view(row).substr(i, j - i), tints[i], colour);
    i = j;
  }
  return out;
}

}  // namespace

std::string timeline_text(const RunView& run, DeviceId device, std::size_t width, bool colour) {
  const std::vector<LaneRow> rows = without_twins(lane_rows(run, device), run.timeline.makespan);
  std::size_t names = 0;
  for (const LaneRow& r : rows) names = std::max(names, r.name.size());
  const double scale =
      run.timeline.makespan > Seconds{} ? static_cast<double>(width) / run.timeline.makespan.si() : 0.0;
  const auto column = [&](Seconds t) {
    return std::min(width, static_cast<std::size_t>(std::floor(t.si() * scale + 0.5)));
  };
  std::string out;
  for (std::size_t r = 0; r < rows.size() && r < kMostLanes; ++r) {
    std::string text(width, ' ');
    std::vector<Tint> tints(width, Tint::plain);
    bool odd = false;
    for (const Bar& b : rows[r].bars) {
      const Glyphs g = glyphs(b.activity);
      for (std::size_t c = column(b.admitted); c < column(b.begin); ++c) text[c] = '.';
      const std::size_t first = std::min(column(b.begin), width - 1);
      const std::size_t last = std::max(first + 1, column(b.end));  // an op is never invisible
      for (std::size_t c = first; c < last; ++c) {
        text[c] = odd ? g.odd : g.even;
        tints[c] = g.tint;
      }
      odd = !odd;
    }
    out += "  " + rows[r].name + std::string(names - rows[r].name.size(), ' ') + " |" + coloured(text, tints, colour) +
           "|\n";
  }
  if (rows.size() > kMostLanes) out += "  ... and " + std::to_string(rows.size() - kMostLanes) + " more lanes\n";
  const std::string end = to_text(run.timeline.makespan);
  const std::size_t room = width > end.size() + 1 ? width - end.size() - 1 : 0;
  return out + "  " + std::string(names, ' ') + "  0" + std::string(room, ' ') + end + "\n";
}

}  // namespace overlap
