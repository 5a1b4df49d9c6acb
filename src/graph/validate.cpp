#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/event_graph.hpp"
#include "overlap/graph_check.hpp"

namespace overlap {
namespace {

class Validator {
 public:
  explicit Validator(const OpGraph& g) : g_(g) {}

  std::vector<std::string> run() {
    lanes();
    placements();
    for (std::uint32_t i = 0; i < g_.ops().size(); ++i) op(OpId(i));
    tokens();
    if (!bad_index_) {
      if (const std::string cycle = EventGraph(g_).cycle(g_); !cycle.empty())
        problem("the graph waits for itself: " + cycle);
    }
    return std::move(problems_);
  }

 private:
  void problem(std::string text) { problems_.push_back(std::move(text)); }
  void at(OpId id, const std::string& text) { problem(describe(g_, id) + ": " + text); }
  void broken(OpId id, const std::string& text) {
    bad_index_ = true;
    problem(fmt::format("op {}: {}", id.v, text));
  }

  void lanes() {
    for (std::size_t i = 0; i < g_.lanes().size(); ++i)
      if (g_.lanes()[i].device.v >= g_.devices())
        problem(fmt::format("lane {} is on device {} of {}", i, g_.lanes()[i].device.v, g_.devices()));
  }

  void placements() {
    for (const auto* list : {&g_.inputs(), &g_.outputs()})
      for (const Placement& p : *list)
        if (!inside(p.slice)) problem("an input or output placement lies outside its buffer");
  }

  // Members of a collective may have nothing to give: their slices may be empty.
  [[nodiscard]] bool inside(const Slice& s, bool empty_allowed = false) const {
    if (!s.buffer.valid() || s.buffer.index() >= g_.buffers().size()) return false;
    const Buffer& b = g_.buffer(s.buffer);
    return (empty_allowed || (s.rows > 0 && s.cols > 0)) && std::uint64_t{s.row} + s.rows <= b.rows &&
           std::uint64_t{s.col} + s.cols <= b.cols;
  }

  bool check_deps(OpId id, Range range) {
    for (const Dep& d : g_.deps(range)) {
      if (!d.op.valid() || d.op.index() >= g_.ops().size()) {
        broken(id, "waits for an op that does not exist");
        return false;
      }
      if (!d.part.valid()) continue;
      if (d.part.index() >= g_.parts().size() || g_.part(d.part).op != d.op) {
        broken(id, fmt::format("waits for a part that is not one of op {}", d.op.v));
        return false;
      }
    }
    return true;
  }

  bool check_slices(OpId id, Range range) {
    const bool empty_allowed = std::holds_alternative<Collective>(g_.op(id).work);
    for (const Slice& s : g_.slices(range)) {
      if (inside(s, empty_allowed)) continue;
      at(id, fmt::format("slice rows {}+{} columns {}+{} lies outside its buffer or is empty", s.row, s.rows, s.col,
                         s.cols));
      return false;
    }
    return true;
  }

  [[nodiscard]] bool all_on(Range range, DeviceId d) const {
    for (const Slice& s : g_.slices(range))
      if (g_.buffer(s.buffer).device != d) return false;
    return true;
  }

  [[nodiscard]] std::uint64_t elements(std::span<const Slice> stack) const {
    std::uint64_t n = 0;
    for (const Slice& s : stack) n += s.elements();
    return n;
  }
  [[nodiscard]] std::uint64_t elements(Range range) const { return elements(g_.slices(range)); }

  void op(OpId id) {
    const Op& o = g_.op(id);
    if (o.lanes.empty()) return broken(id, "runs in no lane");
    std::vector<DeviceId> members;
    for (const LaneId lane : g_.lane_refs(o.lanes)) {
      if (lane.index() >= g_.lanes().size()) return broken(id, "runs in a lane that does not exist");
      members.push_back(g_.lane(lane).device);
    }
    std::sort(members.begin(), members.end());
    if (std::adjacent_find(members.begin(), members.end()) != members.end()) at(id, "has two members on one device");
    if (!check_deps(id, o.deps) || !check_slices(id, o.reads) || !check_slices(id, o.writes)) return;
    std::visit([&](const auto& work) { check(id, o, work); }, o.work);
  }

  void check(OpId id, const Op&, const Gemm& g) {
    if (g.m == 0 || g.n == 0 || g.k == 0) at(id, "is a GEMM without extent");
    if (g.parts.empty()) return at(id, "is a GEMM without parts");
    const DeviceId d = g_.device_of(g_.op(id));
    for (const Part& p : g_.parts_of(g)) {
      if (!check_deps(id, p.waits)) return;
      if (!check_slices(id, p.a) || !check_slices(id, p.b) || !check_slices(id, p.c)) return;
      if (!all_on(p.a, d) || !all_on(p.b, d) || !all_on(p.c, d)) at(id, "reads or writes another device's buffer");
      stack(id, "A", p.a, p.rect.rows, g.k);
      stack(id, "B", p.b, g.k, p.rect.cols);
      stack(id, "C", p.c, p.rect.rows, p.rect.cols);
    }
    tiling(id, g);
  }

  void stack(OpId id, const char* name, Range range, std::uint32_t rows, std::uint32_t cols) {
    std::uint64_t have = 0;
    for (const Slice& s : g_.slices(range)) {
      have += s.rows;
      if (s.cols != cols) return at(id, fmt::format("{} has {} columns where {} belong", name, s.cols, cols));
    }
    if (have != rows) at(id, fmt::format("{} has {} rows where {} belong", name, have, rows));
  }

  // Parts tile the output: areas add up and no two overlap (sweep over rows, live column intervals in a map).
  void tiling(OpId id, const Gemm& g) {
    std::uint64_t area = 0;
    struct Edge {
      std::uint32_t row;
      bool opens;
      Rect rect;
    };
    std::vector<Edge> edges;
    for (const Part& p : g_.parts_of(g)) {
      const Rect& r = p.rect;
      if (std::uint64_t{r.row} + r.rows > g.m || std::uint64_t{r.col} + r.cols > g.n || r.rows == 0 || r.cols == 0)
        return at(id, "a part lies outside the output or is empty");
      area += std::uint64_t{r.rows} * r.cols;
      edges.push_back({r.row, true, r});
      edges.push_back({r.row + r.rows, false, r});
    }
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
      return a.row != b.row ? a.row < b.row : (a.opens != b.opens ? !a.opens : a.rect.col < b.rect.col);
    });
    std::map<std::uint32_t, std::uint32_t> live;  // column begin -> end
    for (const Edge& e : edges) {
      if (!e.opens) {
        live.erase(e.rect.col);
        continue;
      }
      const auto next = live.lower_bound(e.rect.col);
      const bool hits_next = next != live.end() && next->first < e.rect.col + e.rect.cols;
      const bool hits_last = next != live.begin() && std::prev(next)->second > e.rect.col;
      if (hits_next || hits_last) return at(id, "two parts overlap");
      live[e.rect.col] = e.rect.col + e.rect.cols;
    }
    if (area != std::uint64_t{g.m} * g.n) at(id, "the parts do not cover the output");
  }

  void check(OpId id, const Op& o, const Transfer& t) {
    if (o.reads.empty() || o.writes.empty()) return at(id, "is a transfer without source or destination");
    const std::uint64_t in = elements(o.reads);
    const std::uint64_t out = elements(o.writes);
    const std::uint64_t ways = std::max<std::uint64_t>(t.ways, 1);
    const bool fits = t.fan == Fan::copy ? in == out : (t.fan == Fan::multicast ? in * ways == out : in == out * ways);
    if (!fits) at(id, fmt::format("reads {} elements and writes {}", in, out));
    if (t.fan != Fan::copy && (g_.slices(o.reads).size() % ways != 0 && g_.slices(o.writes).size() % ways != 0))
      at(id, fmt::format("its slices do not fall into {} groups", ways));
    const DeviceId d = g_.device_of(o);
    const auto touches = [&](Range r) {
      for (const Slice& s : g_.slices(r))
        if (g_.buffer(s.buffer).device == d) return true;
      return false;
    };
    if (!touches(o.reads) && !touches(o.writes)) at(id, "its lane's device owns neither source nor destination");
    if (t.mover == Mover::sm && t.ctas == 0) at(id, "is moved by SMs but has no CTAs");
  }

  void check(OpId id, const Op& o, const Collective& c) {
    const std::size_t n = o.lanes.size();
    const auto reads = g_.slices(o.reads);
    const auto writes = g_.slices(o.writes);
    const std::size_t readers = c.kind == CollectiveKind::broadcast ? 1 : n;
    if (reads.size() % readers != 0 || writes.size() % n != 0) return at(id, "members have unequal numbers of slices");
    const auto share = [&](std::span<const Slice> all, std::size_t count, std::size_t i) {
      return all.subspan(i * (all.size() / count), all.size() / count);
    };
    std::uint64_t read_sum = 0;
    std::uint64_t write_sum = 0;
    for (std::size_t i = 0; i < readers; ++i) read_sum += elements(share(reads, readers, i));
    for (std::size_t i = 0; i < n; ++i) write_sum += elements(share(writes, n, i));
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t mine = i < readers ? elements(share(reads, readers, i)) : 0;
      const std::uint64_t out = elements(share(writes, n, i));
      bool fits = true;
      if (c.kind == CollectiveKind::all_gather || c.kind == CollectiveKind::broadcast) fits = out == read_sum;
      if (c.kind == CollectiveKind::reduce_scatter) fits = mine == write_sum;
      if (c.kind == CollectiveKind::all_reduce) fits = mine == out && mine * n == read_sum;
      if (!fits) return at(id, fmt::format("member {} reads {} elements and writes {}", i, mine, out));
      const DeviceId d = g_.lane(g_.lane_refs(o.lanes)[i]).device;
      for (const Slice& s : share(writes, n, i))
        if (g_.buffer(s.buffer).device != d) return at(id, fmt::format("member {} writes another device", i));
      for (const Slice& s : i < readers ? share(reads, readers, i) : std::span<const Slice>{})
        if (g_.buffer(s.buffer).device != d) return at(id, fmt::format("member {} reads another device", i));
    }
    if (c.kind == CollectiveKind::all_to_all) all_to_all(id, reads, writes, n);
  }

  void all_to_all(OpId id, std::span<const Slice> reads, std::span<const Slice> writes, std::size_t n) {
    if (reads.size() != n * n || writes.size() != n * n) return at(id, "an all-to-all needs n pieces a member");
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (reads[i * n + j].elements() != writes[j * n + i].elements())
          return at(id, fmt::format("piece {} of member {} does not fit its place", j, i));
  }

  void check(OpId id, const Op& o, const Elementwise& e) {
    const DeviceId d = g_.device_of(o);
    const bool adds = e.kind == ElementwiseKind::add;  // its terms may lie in peers' memories
    if (!(adds || all_on(o.reads, d)) || !all_on(o.writes, d)) at(id, "reads or writes another device's buffer");
    if (e.kind == ElementwiseKind::copy && elements(o.reads) != elements(o.writes))
      at(id, "copies a different number of elements than it reads");
    if (!adds) return;
    const auto writes = g_.slices(o.writes);
    if (writes.size() != 1) return at(id, "an add writes one slice");
    for (const Slice& s : g_.slices(o.reads))
      if (s.rows != writes[0].rows || s.cols != writes[0].cols) return at(id, "an add reads a slice of another shape");
  }

  void tokens() {
    const std::size_t n = g_.token_counts().size();
    std::vector<std::int64_t> balance(g_.token_counts().begin(), g_.token_counts().end());
    for (const TokenUse& u : g_.token_uses()) {
      if (u.token.index() >= n || u.op.index() >= g_.ops().size())
        return problem("a token use names a token or op that does not exist");
      if (u.take > static_cast<std::int64_t>(g_.token_counts()[u.token.index()]))
        at(u.op, fmt::format("takes {} of token {}, of which there are {}", u.take, u.token.v,
                             g_.token_counts()[u.token.index()]));
      balance[u.token.index()] += u.give - u.take;
    }
    for (std::size_t i = 0; i < n; ++i)
      if (balance[i] < 0)
        problem(fmt::format("token {} is taken more often than there are and than it is given back", i));
  }

  const OpGraph& g_;
  std::vector<std::string> problems_;
  bool bad_index_ = false;
};

}  // namespace

std::vector<std::string> validate(const OpGraph& graph) {
  return Validator(graph).run();
}

bool same_structure(const OpGraph& a, const OpGraph& b) {
  if (a.devices() != b.devices() || a.ops().size() != b.ops().size() || a.parts().size() != b.parts().size() ||
      a.lanes().size() != b.lanes().size() || a.buffers().size() != b.buffers().size())
    return false;
  const auto equal = [](auto x, auto y) { return std::equal(x.begin(), x.end(), y.begin(), y.end()); };
  for (std::size_t i = 0; i < a.ops().size(); ++i) {
    const Op& x = a.ops()[i];
    const Op& y = b.ops()[i];
    if (x.work.index() != y.work.index() || x.reads.size() != y.reads.size() || x.writes.size() != y.writes.size() ||
        !equal(a.lane_refs(x.lanes), b.lane_refs(y.lanes)) || !equal(a.deps(x.deps), b.deps(y.deps)))
      return false;
    const auto* g = std::get_if<Gemm>(&x.work);
    if (g != nullptr && g->parts != std::get<Gemm>(y.work).parts) return false;
  }
  for (std::size_t i = 0; i < a.parts().size(); ++i) {
    const Part& x = a.parts()[i];
    const Part& y = b.parts()[i];
    if (x.a.size() != y.a.size() || x.b.size() != y.b.size() || x.c.size() != y.c.size() ||
        !equal(a.deps(x.waits), b.deps(y.waits)))
      return false;
  }
  return true;
}

}  // namespace overlap
