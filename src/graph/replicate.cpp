#include "overlap/replicate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "overlap/error.hpp"
#include "overlap/graph_builder.hpp"

namespace overlap {
namespace {

class Copies {
 public:
  Copies(const OpGraph& layer, std::uint32_t devices) : layer_(layer), b_(devices) {
    for (const auto* placed : {&layer.inputs(), &layer.outputs()})
      for (const Placement& p : *placed) problems_ = std::max(problems_, p.problem + 1);
  }

  void add(std::span<const DeviceId> group) {
    first_op_ = b_.upcoming().v;
    first_part_ = b_.upcoming_part().v;
    first_buffer_ = static_cast<std::uint32_t>(b_.graph().buffers().size());
    for (const Buffer& m : layer_.buffers())
      b_.buffer(group[m.device.index()], m.rows, m.cols, m.dtype, m.role, layer_.text(m.name));
    lanes_.clear();
    for (const Lane& l : layer_.lanes())
      lanes_.push_back(b_.lane(group[l.device.index()], l.index, layer_.text(l.name), l.priority));
    for (const Op& op : layer_.ops()) copy(op);
    const auto first_token = static_cast<std::uint32_t>(b_.graph().token_counts().size());
    for (const std::uint32_t count : layer_.token_counts()) b_.token(count);
    for (const TokenUse& u : layer_.token_uses())
      b_.use_token(OpId(u.op.v + first_op_), TokenId(u.token.v + first_token), u.take, u.give);
    for (const Placement& p : layer_.inputs()) b_.input(moved(p));
    for (const Placement& p : layer_.outputs()) b_.output(moved(p));
    ++copies_;
  }

  OpGraph finish() && { return std::move(b_).finish(); }

 private:
  [[nodiscard]] Slice moved(Slice s) const {
    s.buffer = BufferId(s.buffer.v + first_buffer_);
    return s;
  }
  [[nodiscard]] Placement moved(Placement p) const {
    p.slice = moved(p.slice);
    p.problem += copies_ * problems_;
    return p;
  }
  [[nodiscard]] Dep moved(Dep d) const {
    return {OpId(d.op.v + first_op_), d.part.valid() ? PartId(d.part.v + first_part_) : PartId()};
  }
  template <class T>
  std::span<const T> moved(std::span<const T> items, std::vector<T>& room) const {
    room.clear();
    for (const T& t : items) room.push_back(moved(t));
    return room;
  }

  void copy(const Op& op) {
    std::vector<LaneId> lanes;
    for (const LaneId l : layer_.lane_refs(op.lanes)) lanes.push_back(lanes_[l.index()]);
    const OpArgs args{.deps = moved(layer_.deps(op.deps), deps_),
                      .label = b_.label(layer_.text(op.label.text), op.label.a, op.label.b),
                      .commutative = op.commutative};
    const auto reads = moved(layer_.slices(op.reads), reads_);
    const auto writes = moved(layer_.slices(op.writes), writes_);
    if (const auto* g = std::get_if<Gemm>(&op.work)) {
      const OpId gemm = b_.fused_gemm(lanes[0], *g, args);
      for (const Part& p : layer_.parts_of(*g)) part(gemm, p);
    } else if (const auto* t = std::get_if<Transfer>(&op.work)) {
      b_.transfer(lanes[0], *t, reads, writes, args);
    } else if (const auto* c = std::get_if<Collective>(&op.work)) {
      b_.collective(lanes, *c, reads, writes, args);
    } else {
      b_.elementwise(lanes[0], std::get<Elementwise>(op.work), reads, writes, args);
    }
  }

  void part(OpId gemm, const Part& p) {
    b_.part(gemm, {.rect = p.rect,
                   .waits = moved(layer_.deps(p.waits), deps_),
                   .a = moved(layer_.slices(p.a), reads_),
                   .b = moved(layer_.slices(p.b), writes_),
                   .c = moved(layer_.slices(p.c), results_)});
  }

  const OpGraph& layer_;
  GraphBuilder b_;
  std::uint32_t problems_ = 0;
  std::uint32_t copies_ = 0;
  std::uint32_t first_op_ = 0, first_part_ = 0, first_buffer_ = 0;
  std::vector<LaneId> lanes_;
  std::vector<Dep> deps_;
  std::vector<Slice> reads_, writes_, results_;
};

}  // namespace

OpGraph replicate(const OpGraph& layer, std::span<const std::vector<DeviceId>> groups, std::uint32_t devices) {
  Copies copies(layer, devices);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].size() < layer.devices())
      throw CheckError(
          fmt::format("group {} has {} devices, the layer needs {}", g, groups[g].size(), layer.devices()));
    for (const DeviceId d : groups[g])
      if (d.v >= devices) throw CheckError(fmt::format("group {} names device {} of {}", g, d.v, devices));
    copies.add(groups[g]);
  }
  return std::move(copies).finish();
}

}  // namespace overlap
