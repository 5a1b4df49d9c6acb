// Lower bounds: longest chain, FLOPs over peak, bytes over rate, cuts.
#include <algorithm>

#include "analysis/cut_bytes.hpp"
#include "analysis/lone.hpp"
#include "overlap/analysis.hpp"
#include "overlap/error.hpp"

namespace overlap {
namespace {

// Nodes of the chain graph: begin of op i is 2i, its end 2i+1, completion of part p is 2n+p.
class LongestChain {
 public:
  LongestChain(const OpGraph& graph, const Demands& demands, const Resources& resources)
      : graph_(graph), n_(graph.ops().size()) {
    const std::size_t nodes = 2 * n_ + graph.parts().size();
    edges_.reserve(nodes * 3);
    std::vector<OpId> last(graph.lanes().size());
    for (std::size_t i = 0; i < n_; ++i) {
      const Op& op = graph.ops()[i];
      for (const Dep& d : graph.deps(op.deps)) edge(done(d), 2 * i, {});
      for (const LaneId lane : graph.lane_refs(op.lanes)) {
        if (last[lane.index()].valid()) after_in_lane(last[lane.index()], OpId(i), demands, resources);
        last[lane.index()] = OpId(i);
      }
      const Demand& d = demands.ops[i];
      edge(2 * i, 2 * i + 1, lone_time(d, demands, resources));
      if (const Gemm* g = std::get_if<Gemm>(&op.work)) parts(i, *g, d, demands);
    }
  }

  Seconds solve() const {
    const std::size_t nodes = 2 * n_ + graph_.parts().size();
    std::vector<std::uint32_t> first(nodes + 1, 0);
    std::vector<std::uint32_t> waiting(nodes, 0);
    for (const Edge& e : edges_) {
      ++first[e.from + 1];
      ++waiting[e.to];
    }
    for (std::size_t i = 0; i < nodes; ++i) first[i + 1] += first[i];
    std::vector<std::uint32_t> order(edges_.size());
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    for (std::size_t e = 0; e < edges_.size(); ++e) order[next[edges_[e].from]++] = static_cast<std::uint32_t>(e);
    std::vector<Seconds> date(nodes);
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < nodes; ++i) {
      if (waiting[i] == 0) ready.push_back(i);
    }
    std::size_t visited = 0;
    Seconds longest;
    while (!ready.empty()) {
      const std::size_t node = ready.back();
      ready.pop_back();
      ++visited;
      longest = std::max(longest, date[node]);
      for (std::uint32_t k = first[node]; k < first[node + 1]; ++k) {
        const Edge& e = edges_[order[k]];
        date[e.to] = std::max(date[e.to], date[node] + e.time);
        if (--waiting[e.to] == 0) ready.push_back(e.to);
      }
    }
    if (visited != nodes) throw CheckError("the graph has a cycle of dependencies: it has no critical path");
    return longest;
  }

 private:
  struct Edge {
    std::size_t from;
    std::size_t to;
    Seconds time;
  };
  void edge(std::size_t from, std::size_t to, Seconds time) { edges_.push_back({from, to, time}); }
  void after_in_lane(OpId before, OpId op, const Demands& demands, const Resources& resources) {
    const Demand& d = demands.ops[before.index()];
    const std::size_t from = 2 * before.index();
    if (d.kind == DemandKind::store) {
      edge(from, 2 * op.index(), lane_time(d, demands, resources));
    } else {
      edge(from + 1, 2 * op.index(), {});
    }
  }
  [[nodiscard]] std::size_t done(const Dep& d) const {
    return d.part.valid() ? 2 * n_ + d.part.index() : 2 * d.op.index() + 1;
  }
  // A part takes at least its own waves on all workers after its last wait.
  void parts(std::size_t i, const Gemm& g, const Demand& d, const Demands& demands) {
    for (std::uint32_t p = g.parts.begin; p < g.parts.end; ++p) {
      Seconds time;
      if (d.kind == DemandKind::tiles) {
        const TileDemand& t = demands.tiles[d.tiles];
        const std::uint32_t index = t.part_tiles.begin + (p - g.parts.begin);
        // Equal tiles: the shortest way to finish k of them is k / workers tile times, and one tile at the least.
        if (index < t.part_tiles.end && demands.part_tiles[index] > 0) {
          const double waves = static_cast<double>(demands.part_tiles[index]) / tile_workers(t);
          time = t.tile_time * std::max(std::min(1.0, t.last_wave), waves * std::min(1.0, t.last_wave));
        }
      }
      edge(2 * i, 2 * n_ + p, time);
      for (const Dep& w : graph_.deps(graph_.parts()[p].waits)) edge(done(w), 2 * n_ + p, time);
      edge(2 * n_ + p, 2 * i + 1, {});
    }
  }

  const OpGraph& graph_;
  std::size_t n_;
  std::vector<Edge> edges_;
};

Bound flops_bound(const RunView& run) {
  std::vector<Seconds> time(run.graph.devices());
  for (const Op& op : run.graph.ops()) {
    const Gemm* g = std::get_if<Gemm>(&op.work);
    if (g == nullptr) continue;
    const std::size_t d = run.graph.device_of(op).index();
    time[d] += Flops(2.0 * g->m * g->n * g->k) / run.devices[d].peak_of(g->dtype);
  }
  const auto worst = std::max_element(time.begin(), time.end());
  return {BoundKind::flops, *worst, "gpu " + std::to_string(worst - time.begin())};
}

Bound rate_bound(const RunView& run) {
  Bound best{BoundKind::rate, {}, ""};
  const std::vector<Bytes> bytes = resource_bytes(run.demands, run.resources);
  for (std::size_t r = 0; r < bytes.size(); ++r) {
    const Seconds t = bytes[r] / run.resources.fluids[r].capacity;
    if (t > best.time) best = {BoundKind::rate, t, run.resources.fluids[r].name};
  }
  return best;
}

Bound cut_bound(const RunView& run) {
  Bound best{BoundKind::cut, {}, ""};
  for (const CutLimit& cut : run.cuts) {
    const CutBytes b = cut_bytes(run.graph, run.demands, cut.left);
    Seconds t;
    if (b.left_to_right > Bytes{}) t = std::max(t, b.left_to_right / cut.left_to_right);
    if (b.right_to_left > Bytes{}) t = std::max(t, b.right_to_left / cut.right_to_left);
    if (t > best.time) best = {BoundKind::cut, t, cut.name};
  }
  return best;
}

}  // namespace

std::vector<Bound> lower_bounds(const RunView& run) {
  std::vector<Bound> out;
  out.push_back({BoundKind::path, LongestChain(run.graph, run.demands, run.resources).solve(), ""});
  if (!run.devices.empty()) out.push_back(flops_bound(run));
  out.push_back(rate_bound(run));
  if (!run.cuts.empty()) out.push_back(cut_bound(run));
  return out;
}

Bound strongest(std::span<const Bound> bounds) {
  Bound best;
  for (const Bound& b : bounds) {
    if (b.time > best.time) best = b;
  }
  return best;
}

}  // namespace overlap
