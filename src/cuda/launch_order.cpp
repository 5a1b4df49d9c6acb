#include "cuda/launch_order.hpp"

#include <algorithm>
#include <set>

#include "overlap/error.hpp"

namespace overlap::cuda {
namespace {

void sort_unique(std::vector<OpId>& v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
}

struct Pending {
  std::vector<std::uint32_t> hard;
  std::vector<std::uint32_t> soft;
  std::vector<std::vector<OpId>> hard_next;
  std::vector<std::vector<OpId>> soft_next;
};

Pending invert(const LaunchEdges& edges) {
  const std::size_t n = edges.hard.size();
  Pending p{std::vector<std::uint32_t>(n), std::vector<std::uint32_t>(n), std::vector<std::vector<OpId>>(n),
            std::vector<std::vector<OpId>>(n)};
  for (std::size_t i = 0; i < n; ++i) {
    p.hard[i] = static_cast<std::uint32_t>(edges.hard[i].size());
    p.soft[i] = static_cast<std::uint32_t>(edges.soft[i].size());
    for (const OpId before : edges.hard[i]) p.hard_next[before.index()].push_back(OpId(i));
    for (const OpId before : edges.soft[i]) p.soft_next[before.index()].push_back(OpId(i));
  }
  return p;
}

}  // namespace

LaunchEdges launch_edges(const OpGraph& graph, const std::vector<bool>& fused,
                         const std::vector<std::vector<Dep>>& more) {
  const std::size_t n = graph.ops().size();
  LaunchEdges e{std::vector<std::vector<OpId>>(n), std::vector<std::vector<OpId>>(n)};
  std::vector<OpId> last(graph.lanes().size());
  for (std::size_t i = 0; i < n; ++i) {
    const Op& op = graph.ops()[i];
    for (const LaneId lane : graph.lane_refs(op.lanes)) {
      if (last[lane.index()].valid()) e.hard[i].push_back(last[lane.index()]);
      last[lane.index()] = OpId(i);
    }
    for (const Dep& d : graph.deps(op.deps)) e.hard[i].push_back(d.op);
    if (i < more.size()) {
      for (const Dep& d : more[i]) e.hard[i].push_back(d.op);
    }
    if (const auto* gemm = std::get_if<Gemm>(&op.work)) {
      for (const Part& part : graph.parts_of(*gemm)) {
        for (const Dep& d : graph.deps(part.waits)) {
          if (d.op != OpId(i)) (fused[i] ? e.soft : e.hard)[i].push_back(d.op);
        }
      }
    }
    sort_unique(e.hard[i]);
    sort_unique(e.soft[i]);
  }
  return e;
}

std::vector<OpId> launch_order(const OpGraph& graph, const LaunchEdges& edges) {
  Pending pending = invert(edges);
  const std::size_t n = graph.ops().size();
  std::set<OpId> ready;    // nothing outstanding
  std::set<OpId> waiting;  // only tile groups wait for something not yet launched
  const auto enter = [&](OpId op) {
    if (pending.hard[op.index()] == 0) (pending.soft[op.index()] == 0 ? ready : waiting).insert(op);
  };
  for (std::size_t i = 0; i < n; ++i) enter(OpId(i));
  std::vector<OpId> order;
  order.reserve(n);
  std::vector<bool> launched(n, false);
  while (!ready.empty() || !waiting.empty()) {
    std::set<OpId>& from = ready.empty() ? waiting : ready;
    const OpId op = *from.begin();
    from.erase(from.begin());
    launched[op.index()] = true;
    order.push_back(op);
    for (const OpId next : pending.soft_next[op.index()]) {
      if (--pending.soft[next.index()] == 0 && waiting.erase(next) > 0) ready.insert(next);
    }
    for (const OpId next : pending.hard_next[op.index()]) {
      --pending.hard[next.index()];
      if (!launched[next.index()]) enter(next);
    }
  }
  if (order.size() == n) return order;
  const auto stuck = static_cast<std::size_t>(std::find(launched.begin(), launched.end(), false) - launched.begin());
  throw CheckError("no launch order exists: op '" + graph.text(graph.ops()[stuck].label) +
                   "' waits, through others, for itself");
}

}  // namespace overlap::cuda
