#include "overlap/graph_builder.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace overlap {
namespace {

std::uint32_t size32(std::size_t n) {
  return static_cast<std::uint32_t>(n);
}

// Doubles at least, so that many calls of reserve() in a row stay linear.
template <class T>
void make_room(std::vector<T>& pool, std::size_t more) {
  if (pool.size() + more > pool.capacity()) pool.reserve(std::max(pool.size() + more, 2 * pool.capacity()));
}

template <class T>
[[gnu::noinline]] void append_several(std::vector<T>& pool, std::span<const T> items) {
  pool.insert(pool.end(), items.begin(), items.end());
}

template <class T>
Range append_to(std::vector<T>& pool, std::span<const T> items) {
  const std::size_t begin = pool.size();
  if (items.size() == 1 && begin < pool.capacity()) {  // mostly: a call of insert() would cost more
    pool.push_back(items[0]);
  } else if (!items.empty()) {
    append_several(pool, items);
  }
  return {size32(begin), size32(begin + items.size())};
}

}  // namespace

GraphBuilder::GraphBuilder(std::uint32_t devices) {
  graph_.devices_ = devices;
  low_lanes_.resize(devices);
}

void GraphBuilder::reserve(const GraphSize& more) {
  make_room(graph_.ops_, more.ops);
  make_room(graph_.lane_refs_, more.ops);
  make_room(graph_.parts_, more.parts);
  make_room(graph_.slices_, more.slices);
  make_room(graph_.deps_, more.deps);
}

LabelId GraphBuilder::intern(std::string_view text) {
  if (const auto it = texts_.find(text); it != texts_.end()) return it->second;
  const LabelId id(graph_.texts_.size());
  graph_.texts_.emplace_back(text);
  texts_.emplace(std::string(text), id);
  return id;
}

Label GraphBuilder::label(std::string_view text, std::uint32_t a, std::uint32_t b) {
  return {intern(text), a, b};
}

BufferId GraphBuilder::buffer(DeviceId device, std::uint32_t rows, std::uint32_t cols, DType dtype, BufferRole role,
                              std::string_view name) {
  assert(device.index() < graph_.devices_);
  graph_.buffers_.push_back({device, rows, cols, dtype, role, intern(name)});
  return BufferId(graph_.buffers_.size() - 1);
}

Slice GraphBuilder::all(BufferId b) const {
  const Buffer& buf = graph_.buffer(b);
  return {b, 0, buf.rows, 0, buf.cols};
}
Slice GraphBuilder::rows(BufferId b, std::uint32_t row, std::uint32_t count) const {
  return {b, row, count, 0, graph_.buffer(b).cols};
}
Slice GraphBuilder::cols(BufferId b, std::uint32_t col, std::uint32_t count) const {
  return {b, 0, graph_.buffer(b).rows, col, count};
}

LaneId GraphBuilder::lane(DeviceId device, std::uint32_t index, std::string_view name, std::int32_t priority) {
  constexpr std::uint32_t kLow = 2048;
  auto& low = low_lanes_[device.index()];
  if (index < kLow && index >= low.size()) low.resize(index + 1);
  LaneId& known = index < kLow ? low[index] : high_lanes_[{device.v, index}];
  if (!known.valid()) {
    known = LaneId(graph_.lanes_.size());
    graph_.lanes_.push_back({device, index, priority, intern(name)});
  }
  return known;
}

TokenId GraphBuilder::token(std::uint32_t count) {
  graph_.token_counts_.push_back(count);
  return TokenId(graph_.token_counts_.size() - 1);
}

void GraphBuilder::use_token(OpId op, TokenId token, std::int32_t take, std::int32_t give) {
  graph_.token_uses_.push_back({op, token, take, give});
}

Range GraphBuilder::append(std::span<const Slice> s) {
  return append_to(graph_.slices_, s);
}
Range GraphBuilder::append(std::span<const Dep> d) {
  return append_to(graph_.deps_, d);
}

OpId GraphBuilder::add(Work work, std::span<const LaneId> lanes, std::span<const Slice> reads,
                       std::span<const Slice> writes, const OpArgs& args) {
  if (host_launch_.si() <= 0.0) return append_op(work, lanes, reads, writes, args);
  constexpr std::uint32_t kHostLane = 4095;
  Elementwise gap;
  gap.kind = ElementwiseKind::delay;
  gap.delay = host_launch_;
  std::vector<Dep> deps(args.deps.begin(), args.deps.end());
  for (const LaneId l : lanes) {
    const std::array host{lane(graph_.lane(l).device, kHostLane, "host")};
    deps.push_back({append_op(gap, host, {}, {}, {.deps = {}, .label = label("launch")}), {}});
  }
  OpArgs launched = args;
  launched.deps = deps;
  return append_op(work, lanes, reads, writes, launched);
}

OpId GraphBuilder::append_op(Work work, std::span<const LaneId> lanes, std::span<const Slice> reads,
                             std::span<const Slice> writes, const OpArgs& args) {
  Op& op = graph_.ops_.emplace_back();
  op.work = work;
  op.lanes = append_to(graph_.lane_refs_, lanes);
  op.deps = append(args.deps);
  op.reads = append(reads);
  op.writes = append(writes);
  op.label = args.label;
  op.commutative = args.commutative;
  return OpId(graph_.ops_.size() - 1);
}

OpId GraphBuilder::gemm(LaneId lane, Gemm work, std::span<const Slice> a, std::span<const Slice> b,
                        std::span<const Slice> c, const OpArgs& args) {
  const OpId id = fused_gemm(lane, work, args);
  part(id, {.rect = {0, work.m, 0, work.n}, .waits = {}, .a = a, .b = b, .c = c});
  return id;
}

OpId GraphBuilder::fused_gemm(LaneId lane, Gemm work, const OpArgs& args) {
  const std::uint32_t first = size32(graph_.parts_.size());
  work.parts = {first, first};
  return add(work, std::array{lane}, {}, {}, args);
}

PartId GraphBuilder::part(OpId gemm, const PartSpec& spec) {
  Gemm& work = std::get<Gemm>(graph_.ops_[gemm.index()].work);
  assert(work.parts.end == graph_.parts_.size());  // parts of one Gemm lie together
  Part& p = graph_.parts_.emplace_back();
  p.op = gemm;
  p.rect = spec.rect;
  p.waits = append(spec.waits);
  p.a = append(spec.a);
  // Parts of one Gemm mostly multiply the same B: one range serves them all.
  const Range before = work.parts.empty() ? Range() : graph_.parts_[work.parts.end - 1].b;
  const auto known = graph_.slices(before);
  p.b = std::equal(known.begin(), known.end(), spec.b.begin(), spec.b.end()) ? before : append(spec.b);
  p.c = append(spec.c);
  ++work.parts.end;
  return PartId(graph_.parts_.size() - 1);
}

OpId GraphBuilder::transfer(LaneId lane, Transfer work, std::span<const Slice> reads, std::span<const Slice> writes,
                            const OpArgs& args) {
  if (hook_ && !in_hook_) {
    in_hook_ = true;
    const OpId done = hook_(lane, work, reads, writes, args);
    in_hook_ = false;
    return done;
  }
  return add(work, std::array{lane}, reads, writes, args);
}

OpId GraphBuilder::collective(std::span<const LaneId> members, Collective work, std::span<const Slice> reads,
                              std::span<const Slice> writes, const OpArgs& args) {
  return add(work, members, reads, writes, args);
}

OpId GraphBuilder::elementwise(LaneId lane, Elementwise work, std::span<const Slice> reads,
                               std::span<const Slice> writes, const OpArgs& args) {
  return add(work, std::array{lane}, reads, writes, args);
}

OpGraph GraphBuilder::finish() && {
  texts_.clear();
  low_lanes_.clear();
  high_lanes_.clear();
  hook_ = nullptr;
  return std::move(graph_);
}

}  // namespace overlap
