// The longest chain of lanes and dependencies through a graph, each op as fast as alone.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/lone.hpp"
#include "overlap/analysis.hpp"
#include "overlap/error.hpp"

namespace overlap {

// Parts of a Gemm take at least their own waves on all workers after their last wait.
class PartTime {
 public:
  PartTime(const Demands& demands, std::uint32_t op, const Gemm& g)
      : demands_(demands),
        tiles_(demands.ops[op].kind == DemandKind::tiles ? &demands.tiles[demands.ops[op].tiles] : nullptr),
        first_(g.parts.begin) {}

  [[nodiscard]] Seconds of(std::uint32_t part) const {
    if (tiles_ == nullptr) return {};
    const std::uint32_t index = tiles_->part_tiles.begin + (part - first_);
    if (index >= tiles_->part_tiles.end || demands_.part_tiles[index] == 0) return {};
    // Equal tiles: the shortest way to finish k of them is k / workers tile times, and one tile at the least.
    const double waves = static_cast<double>(demands_.part_tiles[index]) / tile_workers(*tiles_);
    return tiles_->tile_time * std::max(std::min(1.0, tiles_->last_wave), waves * std::min(1.0, tiles_->last_wave));
  }

 private:
  const Demands& demands_;
  const TileDemand* tiles_;
  std::uint32_t first_;
};

// Nodes of the chain graph: begin of op i is 2i, its end 2i+1, completion of part p is 2n+p.
class LongestChain {
 public:
  LongestChain(const OpGraph& graph, const Demands& demands, const Resources& resources)
      : graph_(graph), demands_(demands), n_(graph.ops().size()), nodes_(2 * n_ + graph.parts().size()) {
    lone_.reserve(n_);
    share_ = shares_sms(resources);
    LoneTimes lone(demands, resources);
    bool stores = false;
    for (const Demand& d : demands.ops) {
      lone_.push_back(lone.of(d) - saved_by_late_workers(d));
      stores = stores || d.kind == DemandKind::store;
    }
    if (!stores) return;
    for (const Demand& d : demands.ops) issue_.push_back(lane_time(d, demands, resources));
  }

  // Kernels of several lanes want the SMs of one device, or something that is no tiled kernel does: then workers may
  // come late.
  [[nodiscard]] bool shares_sms(const Resources& resources) const {
    std::vector<LaneId> user(resources.pools.size());
    for (std::size_t i = 0; i < n_; ++i) {
      const Demand& d = demands_.ops[i];
      for (std::uint32_t s = d.slots.begin; s < d.slots.end; ++s) {
        const SlotNeed& need = demands_.slots[s];
        if (need.count > 0 && resources.pools[need.pool.index()].kind == PoolKind::sm) return true;
      }
      if (d.kind != DemandKind::tiles || !demands_.tiles[d.tiles].pool.valid()) continue;
      LaneId& lane = user[demands_.tiles[d.tiles].pool.index()];
      const LaneId mine = graph_.lane_refs(graph_.ops()[i].lanes).front();
      if (lane.valid() && lane != mine) return true;
      lane = mine;
    }
    return false;
  }

  // Workers of a persistent kernel that come late run the two tiles that are theirs faster than in its lone run.
  [[nodiscard]] Seconds saved_by_late_workers(const Demand& d) const {
    if (d.kind != DemandKind::tiles || !share_) return {};
    const TileDemand& t = demands_.tiles[d.tiles];
    if (t.scheduler != TileScheduler::persistent || t.last_wave >= 1.0) return {};
    return t.tile_time * (1.0 - t.last_wave) * (tile_count(t, demands_) > tile_workers(t) ? 2.0 : 1.0);
  }

  // Longest chains behind the ends of ops: the edges of in_order() the other way round.
  [[nodiscard]] ChainTails tails() const {
    ChainTails out;
    std::vector<Seconds> after(n_);
    std::vector<Seconds> part_after(graph_.parts().size());
    std::vector<Seconds> next(graph_.lanes().size());  // from the begin of the lane's next op
    const auto raise = [&](const Dep& d, Seconds t) {
      Seconds& known = d.part.valid() ? part_after[d.part.index()] : after[d.op.index()];
      known = std::max(known, t);
    };
    for (std::uint32_t i = static_cast<std::uint32_t>(n_); i-- > 0;) {
      const Op& op = graph_.ops()[i];
      const bool stores = demands_.ops[i].kind == DemandKind::store;
      Seconds whole;  // from its begin
      for (const LaneId lane : graph_.lane_refs(op.lanes)) {
        if (stores) {
          whole = std::max(whole, issue_[i] + next[lane.index()]);
        } else {
          after[i] = std::max(after[i], next[lane.index()]);
        }
      }
      whole = std::max(whole, lone_[i] + after[i]);
      if (const Gemm* g = std::get_if<Gemm>(&op.work)) {
        const PartTime times(demands_, i, *g);
        for (std::uint32_t p = g->parts.end; p-- > g->parts.begin;) {
          const Seconds rest = times.of(p) + std::max(part_after[p], after[i]);
          whole = std::max(whole, rest);
          for (const Dep& w : graph_.deps(graph_.parts()[p].waits)) {
            if (!(w.op.v < i || (w.op.v == i && w.part.valid() && w.part.v < p))) return {};
            raise(w, rest);
          }
        }
      }
      for (const Dep& d : graph_.deps(op.deps)) {
        if (d.op.v >= i) return {};
        raise(d, whole);
      }
      for (const LaneId lane : graph_.lane_refs(op.lanes)) next[lane.index()] = whole;
      out.longest = std::max(out.longest, whole);
    }
    out.after = std::move(after);
    return out;
  }

  [[nodiscard]] Seconds solve() const {
    // Ops are mostly added after what they wait for: then dates are final in that order.
    if (const std::optional<Seconds> longest = in_order()) return *longest;
    return in_any_order();
  }

 private:
  // The edges of edges_of(), taken together by where they lead. Nothing if an op comes before what it waits for.
  [[nodiscard]] std::optional<Seconds> in_order() const {
    std::vector<Seconds> begins(issue_.empty() ? 0 : n_);
    std::vector<Seconds> ends(n_);
    std::vector<Seconds> part_ends(graph_.parts().size());
    const auto date = [&](const Dep& d) { return d.part.valid() ? part_ends[d.part.index()] : ends[d.op.index()]; };
    last_.assign(graph_.lanes().size(), OpId());
    Seconds longest;
    for (std::uint32_t i = 0; i < n_; ++i) {
      const Op& op = graph_.ops()[i];
      Seconds begin;
      for (const Dep& d : graph_.deps(op.deps)) {
        if (d.op.v >= i) return std::nullopt;
        begin = std::max(begin, date(d));
      }
      for (const LaneId lane : graph_.lane_refs(op.lanes)) {
        const OpId before = std::exchange(last_[lane.index()], OpId(i));
        if (before.valid()) begin = std::max(begin, left_lane(before, begins, ends));
      }
      Seconds end = begin + lone_[i];
      if (const Gemm* g = std::get_if<Gemm>(&op.work)) {
        const PartTime times(demands_, i, *g);
        for (std::uint32_t p = g->parts.begin; p < g->parts.end; ++p) {
          Seconds start = begin;
          for (const Dep& w : graph_.deps(graph_.parts()[p].waits)) {
            if (!(w.op.v < i || (w.op.v == i && w.part.valid() && w.part.v < p))) return std::nullopt;
            start = std::max(start, date(w));
          }
          part_ends[p] = start + times.of(p);
          end = std::max(end, part_ends[p]);
        }
      }
      if (!begins.empty()) begins[i] = begin;
      ends[i] = end;
      longest = std::max(longest, end);
    }
    return longest;
  }

  // When the lanes of an op go on.
  [[nodiscard]] Seconds left_lane(OpId op, std::span<const Seconds> begins, std::span<const Seconds> ends) const {
    if (demands_.ops[op.index()].kind != DemandKind::store) return ends[op.index()];
    return begins[op.index()] + issue_[op.index()];
  }

  [[nodiscard]] Seconds in_any_order() const {
    std::vector<std::uint32_t> first(nodes_ + 1, 0);
    std::vector<std::uint32_t> waiting(nodes_, 0);
    edges([&](std::size_t from, std::size_t to, Seconds, bool) {
      ++first[from + 1];
      ++waiting[to];
    });
    for (std::size_t i = 0; i < nodes_; ++i) first[i + 1] += first[i];
    struct Edge {
      std::size_t to;
      Seconds time;
    };
    std::vector<Edge> out(first[nodes_]);
    std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
    edges([&](std::size_t from, std::size_t to, Seconds time, bool) { out[next[from]++] = {to, time}; });
    std::vector<Seconds> date(nodes_);
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < nodes_; ++i) {
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
        date[out[k].to] = std::max(date[out[k].to], date[node] + out[k].time);
        if (--waiting[out[k].to] == 0) ready.push_back(out[k].to);
      }
    }
    if (visited != nodes_) throw CheckError("the graph has a cycle of dependencies: it has no critical path");
    return longest;
  }

  template <class F>
  void edges(F add) const {
    last_.assign(graph_.lanes().size(), OpId());
    for (std::uint32_t i = 0; i < n_; ++i) edges_of(i, add);
  }

  // Edges that lead to op i and within it, for i = 0, 1, ... in turn: `add(from, to, time, known)`, where `known` says
  // that all edges that lead to `from` were listed before.
  template <class F>
  void edges_of(std::uint32_t i, F add) const {
    if (i == 0) last_.assign(graph_.lanes().size(), OpId());
    const Op& op = graph_.ops()[i];
    const std::size_t begin = 2 * std::size_t{i};
    for (const Dep& d : graph_.deps(op.deps)) add(done(d), begin, Seconds{}, d.op.v < i);
    for (const LaneId lane : graph_.lane_refs(op.lanes)) {
      OpId& last = last_[lane.index()];
      if (last.valid()) {
        const std::size_t before = 2 * last.index();
        if (demands_.ops[last.index()].kind == DemandKind::store)
          add(before, begin, issue_[last.index()], true);
        else
          add(before + 1, begin, Seconds{}, true);
      }
      last = OpId(i);
    }
    if (const Gemm* g = std::get_if<Gemm>(&op.work)) parts(i, *g, add);
    add(begin, begin + 1, lone_[i], true);
  }

  [[nodiscard]] std::size_t done(const Dep& d) const {
    return d.part.valid() ? 2 * n_ + d.part.index() : 2 * d.op.index() + 1;
  }
  // Edges to and from the parts of a Gemm.
  template <class F>
  void parts(std::uint32_t i, const Gemm& g, F add) const {
    const std::size_t begin = 2 * std::size_t{i};
    const PartTime times(demands_, i, g);
    for (std::uint32_t p = g.parts.begin; p < g.parts.end; ++p) {
      const Seconds time = times.of(p);
      const std::size_t part = 2 * n_ + p;
      add(begin, part, time, true);
      for (const Dep& w : graph_.deps(graph_.parts()[p].waits))
        add(done(w), part, time, w.op.v < i || (w.op.v == i && w.part.valid() && w.part.v < p));
      add(part, begin + 1, Seconds{}, true);
    }
  }

  const OpGraph& graph_;
  const Demands& demands_;
  std::size_t n_;
  std::size_t nodes_;
  bool share_ = false;
  std::vector<Seconds> lone_;       // by op
  std::vector<Seconds> issue_;      // by op, where there are stores: until its lane goes on
  mutable std::vector<OpId> last_;  // by lane, while edges are listed
};

}  // namespace overlap
