#include "schedule/piecewise.hpp"

#include <algorithm>
#include <array>

namespace overlap::blocks {
namespace {

Gemm work_of(const Workload& w, std::uint32_t m, std::uint32_t n, std::uint32_t k, std::uint32_t max_sms) {
  Gemm g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.dtype = w.operand;
  g.max_sms = max_sms;
  return g;
}

std::vector<Slice> columns_of(std::span<const Slice> stack, Extent cols) {
  std::vector<Slice> out;
  for (const Slice& s : stack) push(out, columns(s, cols.begin, cols.size));
  return out;
}

Slice rectangle(BufferId buffer, Extent rows, Extent cols) {
  return {buffer, rows.begin, rows.size, cols.begin, cols.size};
}

std::vector<Dep> joined(std::span<const Dep> a, std::span<const Dep> b) {
  std::vector<Dep> out(a.begin(), a.end());
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

}  // namespace

Extent chunk_rows(const Workload& w, std::uint32_t chunks, std::uint32_t o, std::uint32_t c) {
  const Extent share = piece(w.tokens, w.tp, o);
  const Extent part = piece(share.size, chunks, c);
  return {share.begin + part.begin, part.size};
}

Dep part_of(const GraphBuilder& b, OpId gemm, std::size_t i) {
  const Gemm& g = std::get<Gemm>(b.graph().op(gemm).work);
  return {gemm, PartId(g.parts.begin + i)};
}

OpId copy_rows(GraphBuilder& b, LaneId lane, const Transfer& how, std::span<const Slice> from, const Slice& to,
               std::span<const Dep> deps, Label label) {
  return b.transfer(lane, how, from, std::array{to}, {.deps = deps, .label = label});
}

// ---- AG+GEMM -----------------------------------------------------------------------------------------------------

GatherLayer::GatherLayer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in)
    : b_(b), w_(ctx.workload), in_(in), out_(ctx.workload.tp) {
  for (std::uint32_t r = 0; r < w_.tp; ++r) {
    const DeviceId d(r);
    if (w_.tp > 1) gathered_.push_back(b.buffer(d, w_.tokens, w_.in, w_.wire, BufferRole::scratch, "gathered X"));
    const Extent c = piece(w_.out, w_.tp, r);
    out_[r].device = d;
    out_[r].global_col = c.begin;
    out_[r].slices = {b.all(b.buffer(d, w_.tokens, c.size, w_.output, BufferRole::output, "Y"))};
  }
}

std::vector<Slice> GatherLayer::source(DeviceId owner, Extent rows) const {
  std::vector<Slice> stack;
  push_rows(stack, in_.x[owner.index()].slices, rows.begin - piece(w_.tokens, w_.tp, owner.v).begin, rows.size);
  return stack;
}

Slice GatherLayer::landing(DeviceId holder, Extent rows) const {
  return rectangle(gathered_[holder.index()], rows, {0, w_.in});
}

std::vector<Slice> GatherLayer::at(DeviceId holder, DeviceId owner, Extent rows) const {
  return holder == owner ? source(owner, rows) : std::vector<Slice>{landing(holder, rows)};
}

OpId GatherLayer::gemm(DeviceId d, DeviceId owner, PartWant want, Label label, LaneId lane, std::uint32_t max_sms) {
  Tensor& y = out_[d.index()];
  const auto deps = joined(in_.w[d.index()].ready, want.waits);
  const std::array c{rectangle(y.slices[0].buffer, want.rows, want.cols)};
  const OpId op = b_.gemm(lane, work_of(w_, want.rows.size, want.cols.size, w_.in, max_sms), at(d, owner, want.rows),
                          columns_of(in_.w[d.index()].slices, want.cols), c, {.deps = deps, .label = label});
  y.ready.push_back({op, {}});
  return op;
}

OpId GatherLayer::gemm_whole(DeviceId d, std::vector<Dep> waits, Label label, bool own_too) {
  Tensor& y = out_[d.index()];
  std::vector<Slice> a;
  for (std::uint32_t o = 0; o < w_.tp; ++o) {
    const Extent rows = piece(w_.tokens, w_.tp, o);
    if (own_too) {
      push(a, landing(d, rows));
    } else {
      for (const Slice& s : at(d, DeviceId(o), rows)) push(a, s);
    }
  }
  const auto deps = joined(in_.w[d.index()].ready, waits);
  const OpId op = b_.gemm(compute_lane(b_, d), work_of(w_, w_.tokens, cols(d).size, w_.in, 0), a,
                          in_.w[d.index()].slices, y.slices, {.deps = deps, .label = label});
  y.ready.push_back({op, {}});
  return op;
}

OpId GatherLayer::fused(DeviceId d, std::span<const std::pair<DeviceId, PartWant>> parts, PartOrder order, Label label,
                        std::uint32_t max_sms) {
  Tensor& y = out_[d.index()];
  Gemm work = work_of(w_, w_.tokens, cols(d).size, w_.in, max_sms);
  work.order = order;
  const OpId op = b_.fused_gemm(compute_lane(b_, d), work, {.deps = in_.w[d.index()].ready, .label = label});
  for (const auto& [owner, p] : parts) {
    const std::array c{rectangle(y.slices[0].buffer, p.rows, p.cols)};
    b_.part(op, {.rect = {p.rows.begin, p.rows.size, p.cols.begin, p.cols.size},
                 .waits = p.waits,
                 .a = at(d, owner, p.rows),
                 .b = columns_of(in_.w[d.index()].slices, p.cols),
                 .c = c});
  }
  y.ready.push_back({op, {}});
  return op;
}

// ---- GEMM+RS, GEMM+AR --------------------------------------------------------------------------------------------

ScatterLayer::ScatterLayer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in)
    : b_(b), w_(ctx.workload), in_(in), out_(ctx.workload.tp) {
  for (std::uint32_t r = 0; r < w_.tp; ++r) {
    const DeviceId d(r);
    const Extent rows = reduces_all() ? Extent{0, w_.tokens} : piece(w_.tokens, w_.tp, r);
    if (w_.tp > 1) partial_.push_back(b.buffer(d, w_.tokens, w_.out, w_.wire, BufferRole::scratch, "partial Y"));
    out_[r].device = d;
    out_[r].global_row = rows.begin;
    out_[r].slices = {b.all(b.buffer(d, rows.size, w_.out, w_.output, BufferRole::output, "Y"))};
  }
}

Slice ScatterLayer::partial(DeviceId d, Extent rows) const {
  return w_.tp > 1 ? rectangle(partial_[d.index()], rows, cols()) : result(d, rows);
}

Slice ScatterLayer::result(DeviceId holder, Extent rows) const {
  const Tensor& y = out_[holder.index()];
  return rectangle(y.slices[0].buffer, {rows.begin - y.global_row, rows.size}, cols());
}

Slice ScatterLayer::scratch(DeviceId d, std::uint32_t rows) {
  return b_.all(b_.buffer(d, rows, w_.out, w_.wire, BufferRole::scratch, "received partial"));
}

OpId ScatterLayer::gemm(DeviceId d, PartWant want, Label label, LaneId lane, std::uint32_t max_sms) {
  const auto& x = in_.x[d.index()];
  std::vector<Slice> a;
  push_rows(a, x.slices, want.rows.begin, want.rows.size);
  const auto deps = joined(joined(x.ready, in_.w[d.index()].ready), want.waits);
  const std::array c{columns(partial(d, want.rows), want.cols.begin, want.cols.size)};
  const OpId op = b_.gemm(lane, work_of(w_, want.rows.size, want.cols.size, piece(w_.in, w_.tp, d.v).size, max_sms), a,
                          columns_of(in_.w[d.index()].slices, want.cols), c, {.deps = deps, .label = label});
  if (w_.tp == 1) done(d, op);
  return op;
}

OpId ScatterLayer::gemm_bands(DeviceId d, std::span<const Extent> bands, Extent cols, Label label, LaneId lane,
                              std::uint32_t max_sms) {
  const auto& x = in_.x[d.index()];
  std::vector<Slice> a;
  std::vector<Slice> c;
  for (const Extent& e : bands) {
    push_rows(a, x.slices, e.begin, e.size);
    push(c, columns(partial(d, e), cols.begin, cols.size));
  }
  const auto deps = joined(x.ready, in_.w[d.index()].ready);
  const OpId op = b_.gemm(lane, work_of(w_, rows_of(c), cols.size, piece(w_.in, w_.tp, d.v).size, max_sms), a,
                          columns_of(in_.w[d.index()].slices, cols), c, {.deps = deps, .label = label});
  if (w_.tp == 1) done(d, op);
  return op;
}

OpId ScatterLayer::fused(DeviceId d, std::span<const PartWant> parts, PartOrder order, Label label,
                         std::uint32_t max_sms) {
  const auto& x = in_.x[d.index()];
  Gemm work = work_of(w_, w_.tokens, w_.out, piece(w_.in, w_.tp, d.v).size, max_sms);
  work.order = order;
  const auto deps = joined(x.ready, in_.w[d.index()].ready);
  const OpId op = b_.fused_gemm(compute_lane(b_, d), work, {.deps = deps, .label = label});
  for (const PartWant& p : parts) {
    std::vector<Slice> a;
    push_rows(a, x.slices, p.rows.begin, p.rows.size);
    const std::array c{columns(partial(d, p.rows), p.cols.begin, p.cols.size)};
    b_.part(op, {.rect = {p.rows.begin, p.rows.size, p.cols.begin, p.cols.size},
                 .waits = p.waits,
                 .a = a,
                 .b = columns_of(in_.w[d.index()].slices, p.cols),
                 .c = c});
  }
  if (w_.tp == 1) done(d, op);
  return op;
}

}  // namespace overlap::blocks
