#include "report/lane_rows.hpp"

#include <algorithm>

namespace overlap {
namespace {

Seconds admitted_on(const RunView& run, OpId id, DeviceId device) {
  const auto& m = run.timeline.members;
  auto it = std::lower_bound(m.begin(), m.end(), id, [](const MemberTimes& t, OpId o) { return t.op < o; });
  for (; it != m.end() && it->op == id; ++it) {
    if (it->device == device) return it->admitted;
  }
  return run.timeline.ops[id.index()].admitted;
}

}  // namespace

std::vector<LaneRow> lane_rows(const RunView& run, DeviceId device) {
  std::vector<LaneRow> rows(run.graph.lanes().size());
  for (std::size_t i = 0; i < run.graph.ops().size(); ++i) {
    const Op& op = run.graph.ops()[i];
    for (const LaneId l : run.graph.lane_refs(op.lanes)) {
      if (run.graph.lane(l).device != device) continue;
      const OpTimes& t = run.timeline.ops[i];
      rows[l.index()].bars.push_back(
          {OpId(i), activity_of(run.graph, op), admitted_on(run, OpId(i), device), t.begin, t.end});
    }
  }
  std::vector<LaneRow> out;
  for (std::size_t l = 0; l < rows.size(); ++l) {
    if (rows[l].bars.empty()) continue;
    rows[l].lane = LaneId(l);
    rows[l].name = run.graph.text(run.graph.lanes()[l].name);
    out.push_back(std::move(rows[l]));
  }
  std::stable_sort(out.begin(), out.end(), [&](const LaneRow& a, const LaneRow& b) {
    return run.graph.lane(a.lane).index < run.graph.lane(b.lane).index;
  });
  return out;
}

DeviceId last_device_of(const RunView& run) {
  std::vector<Seconds> end(std::max(1U, run.graph.devices()));
  for (std::size_t i = 0; i < run.graph.ops().size(); ++i) {
    for (const LaneId l : run.graph.lane_refs(run.graph.ops()[i].lanes)) {
      Seconds& e = end[run.graph.lane(l).device.index()];
      e = std::max(e, run.timeline.ops[i].end);
    }
  }
  return DeviceId(static_cast<std::size_t>(std::max_element(end.begin(), end.end()) - end.begin()));
}

}  // namespace overlap
