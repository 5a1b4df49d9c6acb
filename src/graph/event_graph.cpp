#include "graph/event_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace overlap {

template <class F>
void EventGraph::edges(const OpGraph& graph, F add) const {
  const auto dep = [&](const Dep& d) { return d.part.valid() ? event_of(d.part) : end_of(d.op); };
  std::vector<OpId> last(graph.lanes().size());
  for (std::uint32_t i = 0; i < ops_; ++i) {
    const OpId id(i);
    const Op& op = graph.op(id);
    for (const Dep& d : graph.deps(op.deps)) add(dep(d), begin_of(id));
    for (const LaneId lane : graph.lane_refs(op.lanes)) {
      if (last[lane.index()].valid()) add(end_of(last[lane.index()]), begin_of(id));
      last[lane.index()] = id;
    }
    add(begin_of(id), end_of(id));
    const auto* gemm = std::get_if<Gemm>(&op.work);
    if (gemm == nullptr) continue;
    for (std::uint32_t p = gemm->parts.begin; p < gemm->parts.end; ++p) {
      const std::uint32_t event = event_of(PartId(p));
      add(begin_of(id), event);
      add(event, end_of(id));
      for (const Dep& d : graph.deps(graph.part(PartId(p)).waits)) add(dep(d), event);
    }
  }
}

EventGraph::EventGraph(const OpGraph& graph) : ops_(static_cast<std::uint32_t>(graph.ops().size())) {
  const std::size_t events = 2 * std::size_t{ops_} + graph.parts().size();
  first_.assign(events + 1, 0);
  waits_.assign(events, 0);
  edges(graph, [&](std::uint32_t a, std::uint32_t b) {
    ++first_[a + 1];
    ++waits_[b];
  });
  for (std::size_t i = 0; i < events; ++i) first_[i + 1] += first_[i];
  successors_.resize(first_[events]);
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  edges(graph, [&](std::uint32_t a, std::uint32_t b) { successors_[next[a]++] = b; });
}

std::vector<std::uint32_t> EventGraph::order() const {
  std::vector<std::uint32_t> missing = waits_;
  std::vector<std::uint32_t> out;
  out.reserve(size());
  for (std::uint32_t e = 0; e < size(); ++e)
    if (missing[e] == 0) out.push_back(e);
  for (std::size_t i = 0; i < out.size(); ++i)
    for (const std::uint32_t s : after(out[i]))
      if (--missing[s] == 0) out.push_back(s);
  return out;
}

std::string EventGraph::cycle(const OpGraph& graph) const {
  const std::vector<std::uint32_t> sorted = order();
  if (sorted.size() == size()) return "";
  std::vector<bool> stuck(size(), true);
  for (const std::uint32_t e : sorted) stuck[e] = false;
  // Every stuck event has a stuck predecessor: walk back until one repeats.
  std::vector<std::uint32_t> before(size(), size());
  for (std::uint32_t e = size(); e-- > 0;)
    if (stuck[e])
      for (const std::uint32_t s : after(e))
        if (stuck[s]) before[s] = e;
  std::uint32_t at = static_cast<std::uint32_t>(std::find(stuck.begin(), stuck.end(), true) - stuck.begin());
  std::vector<bool> seen(size(), false);
  while (!seen[at]) {
    seen[at] = true;
    at = before[at];
  }
  std::vector<OpId> ops;
  const std::uint32_t start = at;
  do {
    const OpId op = is_part(at) ? graph.part(part_at(at)).op : op_at(at);
    if (ops.empty() || ops.back() != op) ops.push_back(op);
    at = before[at];
  } while (at != start);
  if (ops.size() > 1 && ops.front() == ops.back()) ops.pop_back();
  std::reverse(ops.begin(), ops.end());
  std::string text;
  for (const OpId op : ops) text += describe(graph, op) + " -> ";
  return text + describe(graph, ops.front());
}

std::string describe(const OpGraph& graph, OpId op) {
  const Op& o = graph.op(op);
  const std::string label = graph.text(o.label);
  return fmt::format("op {}{} on device {}", op.v, label.empty() ? "" : " '" + label + "'",
                     o.lanes.empty() ? std::string("?") : std::to_string(graph.device_of(o).v));
}

}  // namespace overlap
