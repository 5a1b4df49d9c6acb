// Timelines as an SVG picture: one panel a run, lanes of the device that ends last, one time axis for all.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "overlap/report.hpp"
#include "report/lane_rows.hpp"
#include "text/quote.hpp"

namespace overlap {
namespace {

constexpr double kWidth = 1000;
constexpr double kLeft = 190;
constexpr double kRight = 90;
constexpr double kLane = 16;
constexpr double kPanelHead = 24;
constexpr double kTop = 44;
constexpr std::size_t kMostDrawn = 6;

std::string_view fill(Activity a, bool odd) {
  switch (a) {
    case Activity::compute:
      return odd ? "#4caf7a" : "#2e8b57";
    case Activity::communication:
      return odd ? "#7aa6e8" : "#3f78d1";
    case Activity::local:
      return "#e0a030";
  }
  return "";
}

// A round step that cuts `span` in about six.
double tick_step(double span) {
  double step = 1e-9;
  while (step * 60 < span) step *= 10;
  for (const double f : {1.0, 2.0, 5.0, 10.0}) {
    if (step * f * 7 >= span) return step * f;
  }
  return step * 10;
}

class Picture {
 public:
  explicit Picture(Seconds longest) : scale_((kWidth - kLeft - kRight) / std::max(longest.si(), 1e-12)) {}
  [[nodiscard]] double x(Seconds t) const { return kLeft + t.si() * scale_; }

  void text(double x, double y, std::string_view anchor, std::string_view weight, std::string_view body) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-weight=\"{}\">{}</text>\n", x, y,
                        anchor, weight, xml_text(body));
  }
  void panel(const TracedRun& r) {
    const RunView view = r.run->view();
    const DeviceId device = last_device_of(view);
    y_ += kPanelHead;
    text(kLeft, y_ - 6, "start", "bold", r.name);
    const std::vector<LaneRow> rows = without_twins(lane_rows(view, device), view.timeline.makespan);
    const double top = y_;
    for (std::size_t i = 0; i < rows.size() && i < kMostDrawn; ++i) lane(view, rows[i]);
    if (rows.size() > kMostDrawn) {
      text(kLeft - 8, y_ + 12, "end", "normal", fmt::format("and {} more lanes", rows.size() - kMostDrawn));
      y_ += kLane;
    }
    const double end = x(r.run->timeline.makespan);
    out_ += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#888\"/>\n", end,
                        top, y_);
    text(end + 5, top + 12, "start", "bold", to_text(r.run->timeline.makespan));
  }
  void axis(Seconds longest) {
    y_ += 8;
    const double step = tick_step(longest.si());
    for (int i = 0; i * step <= longest.si() * (1 + 1e-9); ++i) {
      const double at = x(Seconds(i * step));
      out_ += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#888\"/>\n", at,
                          y_, y_ + 5);
      text(at, y_ + 18, "middle", "normal", i == 0 ? "0" : to_text(Seconds(i * step)));
    }
    y_ += 26;
  }
  [[nodiscard]] std::string finish(std::string_view title) const {
    std::string head = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        kWidth, y_);
    head += fmt::format("<text x=\"12\" y=\"20\" font-size=\"14\" font-weight=\"bold\">{}</text>\n", xml_text(title));
    double x = 12;
    for (const auto& [name, colour] : {std::pair{"GEMM", "#2e8b57"},
                                       {"communication", "#3f78d1"},
                                       {"copy, add", "#e0a030"},
                                       {"waiting", "#d8d8d8"}}) {
      head += fmt::format(
          "<rect x=\"{:.0f}\" y=\"28\" width=\"10\" height=\"10\" fill=\"{}\"/>"
          "<text x=\"{:.0f}\" y=\"37\">{}</text>\n",
          x, colour, x + 14, name);
      x += 24 + 8.0 * static_cast<double>(std::string_view(name).size());
    }
    return head + out_ + "</svg>\n";
  }

 private:
  void box(Seconds from, Seconds to, std::string_view colour, std::string_view title) {
    const double width = std::max(0.5, x(to) - x(from));
    out_ += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\"><title>{}</title></rect>\n",
        x(from), y_ + 2, width, kLane - 4, colour, xml_text(title));
  }
  void lane(const RunView& view, const LaneRow& row) {
    text(kLeft - 8, y_ + 12, "end", "normal", row.name);
    bool odd = false;
    for (const Bar& b : row.bars) {
      if (b.admitted < b.begin) box(b.admitted, b.begin, "#d8d8d8", "waits for peers");
      box(b.begin, b.end, fill(b.activity, odd),
          view.graph.text(view.graph.op(b.op).label) + ": " + to_text(b.begin) + " to " + to_text(b.end));
      odd = !odd;
    }
    y_ += kLane;
  }

  double scale_;
  double y_ = kTop;
  std::string out_;
};

}  // namespace

std::string timeline_svg(std::string_view title, const std::vector<TracedRun>& runs) {
  Seconds longest;
  for (const TracedRun& r : runs) longest = std::max(longest, r.run->timeline.makespan);
  Picture p(longest);
  for (const TracedRun& r : runs) p.panel(r);
  p.axis(longest);
  return p.finish(title);
}

}  // namespace overlap
