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

std::vector<LaneRow> without_twins(std::vector<LaneRow> rows, Seconds makespan) {
  const auto near = [&](Seconds a, Seconds b) { return a - b < makespan * 0.01 && b - a < makespan * 0.01; };
  const auto twins = [&](const LaneRow& a, const LaneRow& b) {
    return std::equal(a.bars.begin(), a.bars.end(), b.bars.begin(), b.bars.end(), [&](const Bar& x, const Bar& y) {
      return x.activity == y.activity && near(x.begin, y.begin) && near(x.end, y.end);
    });
  };
  std::vector<LaneRow> out;
  std::vector<std::size_t> alike;
  for (LaneRow& r : rows) {
    const auto like = std::find_if(out.begin(), out.end(), [&](const LaneRow& o) { return twins(o, r); });
    if (like != out.end()) {
      ++alike[static_cast<std::size_t>(like - out.begin())];
    } else {
      out.push_back(std::move(r));
      alike.push_back(1);
    }
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (alike[i] > 1) out[i].name += " (" + std::to_string(alike[i]) + " alike)";
  }
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
