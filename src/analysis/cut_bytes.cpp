#include "analysis/cut_bytes.hpp"

#include <algorithm>

#include "analysis/lone.hpp"

namespace overlap {
namespace {

// Bytes that go from one device to another.
struct Piece {
  DeviceId from;
  DeviceId to;
  Bytes bytes;
};

// Reads, concatenated, go to the writes, concatenated: walk both.
void pieces_of(const OpGraph& graph, const Op& op, std::vector<Piece>& out) {
  out.clear();
  const auto writes = graph.slices(op.writes);
  std::size_t w = 0;
  Bytes room = writes.empty() ? Bytes{} : graph.bytes(writes[0]);
  for (const Slice& r : graph.slices(op.reads)) {
    Bytes rest = graph.bytes(r);
    while (rest > Bytes{} && w < writes.size()) {
      const Bytes b = std::min(rest, room);
      out.push_back({graph.buffer(r.buffer).device, graph.buffer(writes[w].buffer).device, b});
      rest -= b;
      room -= b;
      if (!(room > Bytes{}) && ++w < writes.size()) room = graph.bytes(writes[w]);
    }
  }
}

class Counter {
 public:
  Counter(const OpGraph& graph, const std::vector<bool>& left) : graph_(graph), left_(left) {}

  [[nodiscard]] bool is_left(DeviceId d) const { return left_[d.index()]; }
  [[nodiscard]] bool is_left(const Slice& s) const { return is_left(graph_.buffer(s.buffer).device); }
  void cross(bool from_left, Bytes b) { (from_left ? out_.left_to_right : out_.right_to_left) += b; }
  [[nodiscard]] CutBytes result() const { return out_; }

  // Bytes of a group of slices on the left and on the right.
  [[nodiscard]] CutBytes split(std::span<const Slice> slices) const {
    CutBytes b;
    for (const Slice& s : slices) (is_left(s) ? b.left_to_right : b.right_to_left) += graph_.bytes(s);
    return b;
  }

  // Copies, and what they carry (on the wire).
  void copies(std::span<const Piece> pieces, double scale) {
    for (const Piece& p : pieces)
      if (is_left(p.from) != is_left(p.to)) cross(is_left(p.from), p.bytes * scale);
  }

  // Multicast or reduction; `scale`: wire bytes a byte of the slices (codec).
  void fan(const Op& op, const Transfer& t, double scale) {
    const auto reads = graph_.slices(op.reads);
    const auto writes = graph_.slices(op.writes);
    // Multicast: each byte read on one side crosses once when anyone on the other side wants it. Reduce: mirrored.
    const std::span<const Slice> one = t.fan == Fan::multicast ? reads : writes;
    const std::span<const Slice> many = t.fan == Fan::multicast ? writes : reads;
    const CutBytes m = split(many);
    const CutBytes o = split(one);
    const bool forward = t.fan == Fan::multicast;
    if (m.right_to_left > Bytes{}) cross(forward, o.left_to_right * scale);
    if (m.left_to_right > Bytes{}) cross(!forward, o.right_to_left * scale);
  }

  void collective(const Op& op, const Collective& c) {
    const auto lanes = graph_.lane_refs(op.lanes);
    const auto reads = graph_.slices(op.reads);
    const auto writes = graph_.slices(op.writes);
    const std::size_t n = lanes.size();
    const std::size_t per_read = n == 0 ? 0 : reads.size() / n;
    const std::size_t per_write = n == 0 ? 0 : writes.size() / n;
    bool any_left = false;
    bool any_right = false;
    for (const LaneId l : lanes) (is_left(graph_.lane(l).device) ? any_left : any_right) = true;
    if (!any_left || !any_right) return;
    for (std::size_t i = 0; i < n; ++i) {
      const bool side = is_left(graph_.lane(lanes[i]).device);
      const auto mine = reads.subspan(i * per_read, per_read);
      switch (c.kind) {
        case CollectiveKind::all_gather:
          cross(side, sum(mine));
          break;
        case CollectiveKind::broadcast:
          if (i == 0) cross(side, sum(mine));
          break;
        case CollectiveKind::reduce_scatter:
          cross(!side, sum(writes.subspan(i * per_write, per_write)));
          break;
        case CollectiveKind::all_reduce:
          if (i == 0) {
            cross(true, sum(mine));
            cross(false, sum(mine));
          }
          break;
        case CollectiveKind::all_to_all:
          for (std::size_t j = 0; j < n && j < mine.size(); ++j) {
            if (is_left(graph_.lane(lanes[j]).device) != side) cross(side, graph_.bytes(mine[j]));
          }
          break;
      }
    }
  }

 private:
  [[nodiscard]] Bytes sum(std::span<const Slice> slices) const {
    Bytes b;
    for (const Slice& s : slices) b += graph_.bytes(s);
    return b;
  }
  const OpGraph& graph_;
  const std::vector<bool>& left_;
  CutBytes out_;
};

}  // namespace

Bytes work_of(const Demand& d, const Demands& demands) {
  if (d.kind == DemandKind::fixed) return {};
  if (d.kind != DemandKind::tiles) return d.work;
  const TileDemand& t = demands.tiles[d.tiles];
  return t.tile_traffic * static_cast<double>(tile_count(t, demands));
}

std::vector<Bytes> resource_bytes(const Demands& demands, const Resources& resources) {
  std::vector<Bytes> bytes(resources.fluids.size());
  for (const Demand& d : demands.ops) {
    const Bytes work = work_of(d, demands);
    for (std::uint32_t u = d.uses.begin; u < d.uses.end; ++u) {
      bytes[demands.uses[u].resource.index()] += work * demands.uses[u].weight;
    }
  }
  return bytes;
}

std::vector<CutBytes> cut_bytes(const OpGraph& graph, const Demands& demands, std::span<const CutLimit> cuts) {
  std::vector<Counter> counters;
  for (const CutLimit& cut : cuts) counters.emplace_back(graph, cut.left);
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = graph.ops()[i];
    if (const Collective* c = std::get_if<Collective>(&op.work))
      for (Counter& counter : counters) counter.collective(op, *c);
    const Transfer* t = std::get_if<Transfer>(&op.work);
    if (t == nullptr) continue;
    const Bytes sliced = graph.bytes(op.reads);
    const bool coded = t->codec != Codec::none && sliced > Bytes{};
    const double scale = coded ? std::min(1.0, demands.ops[i].work / sliced) : 1.0;
    if (t->fan == Fan::copy) {
      pieces_of(graph, op, pieces);
      for (Counter& counter : counters) counter.copies(pieces, scale);
    } else {
      for (Counter& counter : counters) counter.fan(op, *t, scale);
    }
  }
  std::vector<CutBytes> out;
  out.reserve(counters.size());
  for (const Counter& counter : counters) out.push_back(counter.result());
  return out;
}

}  // namespace overlap
