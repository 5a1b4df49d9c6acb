#include <fmt/format.h>

#include <algorithm>

#include "measure/measure.hpp"

namespace overlap::cuda {

// Sorted v: median v[n/2], p10 v[n/10], p90 v[9n/10].
std::string statistics(const std::vector<double>& raw_us) {
  std::vector<double> v = raw_us;
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return fmt::format(
      "\"reps\": {}, \"median_us\": {:.3f}, \"min_us\": {:.3f}, \"max_us\": {:.3f}, \"p10_us\": {:.3f}, "
      "\"p90_us\": {:.3f}",
      n, v[n / 2], v.front(), v.back(), v[n / 10], v[9 * n / 10]);
}

std::string spans_text(const OpGraph& graph, const LaunchPlan& plan, const Timeline& t) {
  std::string out;
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = graph.ops()[i];
    for (const LaneId lane : graph.lane_refs(op.lanes)) {
      Seconds begin = t.ops[i].admitted;
      for (const MemberTimes& m : t.members) {
        if (m.op == OpId(i) && m.device == graph.lane(lane).device) begin = m.admitted;
      }
      out += fmt::format("{}[{}, \"{}\", {:.2f}, {:.2f}]", out.empty() ? "" : ", ", plan.streams[lane.index()].gpu,
                         graph.text(op.label), begin.si() * 1e6, t.ops[i].end.si() * 1e6);
    }
  }
  return out;
}

}  // namespace overlap::cuda
