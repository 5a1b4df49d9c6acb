// Race check by vector clocks. A clock has one entry a lane (ops of the lane that are complete) and, where Gemms have
// several parts, one entry for the k-th part of a lane's Gemms: those form a chain too, since Gemms of a lane follow
// one another. Access X is ordered before Y when the clock at Y's begin has passed X's place in X's lane.
#include <fmt/format.h>

#include <algorithm>

#include "graph/event_graph.hpp"
#include "overlap/graph_check.hpp"

namespace overlap {
namespace {

struct Access {
  Slice slice;
  std::uint32_t event = 0;  // begin of an op, or a part
  bool write = false;
  bool commutative = false;
};

class RaceCheck {
 public:
  RaceCheck(const OpGraph& g, std::size_t limit) : g_(g), events_(g), limit_(limit) {}

  std::vector<std::string> run() {
    const std::vector<std::uint32_t> order = events_.order();
    if (order.size() != events_.size()) return {"the graph waits for itself: " + events_.cycle(g_)};
    assign_places();
    compute_clocks(order);
    collect();
    for (auto& list : accesses_) check_buffer(list);
    return std::move(found_);
  }

 private:
  using Clock = std::uint32_t*;

  void assign_places() {
    const std::size_t lanes = g_.lanes().size();
    place_.assign(g_.ops().size(), 0);
    std::vector<std::uint32_t> count(lanes, 0);
    std::vector<std::uint32_t> most_parts(lanes, 0);
    for (std::size_t i = 0; i < g_.ops().size(); ++i) {
      const Op& op = g_.ops()[i];
      const LaneId lane = g_.lane_refs(op.lanes)[0];
      for (const LaneId l : g_.lane_refs(op.lanes)) ++count[l.index()];
      place_[i] = count[lane.index()];
      if (const auto* gemm = std::get_if<Gemm>(&op.work); gemm != nullptr && gemm->parts.size() > 1)
        most_parts[lane.index()] = std::max(most_parts[lane.index()], gemm->parts.size());
    }
    part_column_.assign(lanes, 0);
    width_ = lanes;
    for (std::size_t l = 0; l < lanes; ++l) {
      part_column_[l] = static_cast<std::uint32_t>(width_);
      width_ += most_parts[l];
    }
  }

  // Clock entry of an event's completion, and the value it has afterwards.
  struct Mark {
    std::uint32_t column;
    std::uint32_t value;
  };
  [[nodiscard]] Mark mark(std::uint32_t event) const {
    const OpId op = events_.is_part(event) ? g_.part(events_.part_at(event)).op : events_.op_at(event);
    const LaneId lane = g_.lane_refs(g_.op(op).lanes)[0];
    if (!events_.is_part(event)) return {lane.v, place_[op.index()]};
    const Gemm& gemm = std::get<Gemm>(g_.op(op).work);
    if (gemm.parts.size() == 1) return {lane.v, place_[op.index()]};
    return {part_column_[lane.index()] + events_.part_at(event).v - gemm.parts.begin, place_[op.index()]};
  }

  Clock clock(std::uint32_t event) { return clocks_.data() + std::size_t{event} * width_; }

  void compute_clocks(const std::vector<std::uint32_t>& order) {
    // One clock an event: what is known complete when it happens. Ends and parts add themselves for their successors.
    clocks_.assign(std::size_t{events_.size()} * width_, 0);
    std::vector<std::uint32_t> done(width_);
    for (const std::uint32_t e : order) {
      const Clock mine = clock(e);
      std::copy(mine, mine + width_, done.begin());
      if (!events_.is_begin(e)) {
        const Mark m = mark(e);
        done[m.column] = std::max(done[m.column], m.value);
        if (!events_.is_part(e)) add_members(events_.op_at(e), done);
      }
      for (const std::uint32_t s : events_.after(e)) {
        const Clock next = clock(s);
        for (std::size_t i = 0; i < width_; ++i) next[i] = std::max(next[i], done[i]);
      }
    }
  }

  // A collective advances the lanes of all its members. Places count from 1 a lane; the first member's place is known,
  // the others advance by what their lane has seen.
  void add_members(OpId id, std::vector<std::uint32_t>& done) const {
    const auto lanes = g_.lane_refs(g_.op(id).lanes);
    for (std::size_t i = 1; i < lanes.size(); ++i) ++done[lanes[i].index()];
  }

  void collect() {
    accesses_.resize(g_.buffers().size());
    const auto note = [&](Range range, std::uint32_t event, bool write, bool commutative) {
      for (const Slice& s : g_.slices(range))
        if (s.elements() > 0) accesses_[s.buffer.index()].push_back({s, event, write, commutative});
    };
    for (std::uint32_t i = 0; i < g_.ops().size(); ++i) {
      const Op& op = g_.ops()[i];
      const std::uint32_t begin = events_.begin_of(OpId(i));
      note(op.reads, begin, false, false);
      note(op.writes, begin, true, op.commutative);
      const auto* gemm = std::get_if<Gemm>(&op.work);
      if (gemm == nullptr) continue;
      for (std::uint32_t p = gemm->parts.begin; p < gemm->parts.end; ++p) {
        const Part& part = g_.part(PartId(p));
        const std::uint32_t event = events_.event_of(PartId(p));
        note(part.a, event, false, false);
        note(part.b, event, false, false);
        note(part.c, event, true, op.commutative);
      }
    }
  }

  bool before(std::uint32_t x, std::uint32_t y) {
    const Mark m = mark(x);
    return clock(y)[m.column] >= m.value;
  }

  void check_buffer(std::vector<Access>& list) {
    if (std::none_of(list.begin(), list.end(), [](const Access& a) { return a.write; })) return;
    std::stable_sort(list.begin(), list.end(),
                     [](const Access& a, const Access& b) { return a.slice.row < b.slice.row; });
    std::vector<std::size_t> live;  // accesses whose rows reach the current one
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Access& now = list[i];
      std::size_t kept = 0;
      for (const std::size_t j : live) {
        const Access& old = list[j];
        if (old.slice.row + old.slice.rows <= now.slice.row) continue;
        live[kept++] = j;
        pair(old, now);
      }
      live.resize(kept);
      live.push_back(i);
      if (found_.size() >= limit_) return;
    }
  }

  void pair(const Access& a, const Access& b) {
    if (!a.write && !b.write) return;
    if (a.event == b.event || (a.commutative && b.commutative && a.write && b.write)) return;
    if (a.slice.col + a.slice.cols <= b.slice.col || b.slice.col + b.slice.cols <= a.slice.col) return;
    if (before(a.event, b.event) || before(b.event, a.event) || found_.size() >= limit_) return;
    found_.push_back(fmt::format("{} {} and {} {} the same rows of buffer {} '{}' on device {} in no order",
                                 name(a.event), a.write ? "writes" : "reads", name(b.event),
                                 b.write ? "writes" : "reads", a.slice.buffer.v,
                                 g_.text(g_.buffer(a.slice.buffer).name), g_.buffer(a.slice.buffer).device.v));
  }

  [[nodiscard]] std::string name(std::uint32_t event) const {
    if (!events_.is_part(event)) return describe(g_, events_.op_at(event));
    const PartId part = events_.part_at(event);
    const OpId op = g_.part(part).op;
    const Gemm& gemm = std::get<Gemm>(g_.op(op).work);
    if (gemm.parts.size() == 1) return describe(g_, op);
    return fmt::format("part {} of {}", part.v - gemm.parts.begin, describe(g_, op));
  }

  const OpGraph& g_;
  EventGraph events_;
  std::size_t limit_;
  std::size_t width_ = 0;
  std::vector<std::uint32_t> place_;        // by op: place in its first lane, from 1
  std::vector<std::uint32_t> part_column_;  // by lane: first clock entry of its parts
  std::vector<std::uint32_t> clocks_;
  std::vector<std::vector<Access>> accesses_;  // by buffer
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> find_races(const OpGraph& graph, std::size_t limit) {
  if (graph.ops().empty()) return {};
  return RaceCheck(graph, limit).run();
}

}  // namespace overlap
