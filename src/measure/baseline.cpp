#include "measure/baseline.hpp"

#include <algorithm>
#include <array>

#include "overlap/graph_builder.hpp"

namespace overlap::cuda {
namespace {

constexpr std::uint32_t kWidth = 1024;  // columns of a plain buffer: 2 KiB a row

struct Operands {
  Slice x;
  Slice w;
  Slice y;
};

Operands operands(GraphBuilder& g, DeviceId d, GemmShape s, std::uint32_t global_row, std::uint32_t global_col) {
  const BufferId x = g.buffer(d, s.m, s.k, DType::bf16, BufferRole::input, "x");
  const BufferId w = g.buffer(d, s.k, s.n, DType::bf16, BufferRole::weight, "w");
  const BufferId y = g.buffer(d, s.m, s.n, DType::bf16, BufferRole::output, "y");
  const Operands o{g.all(x), g.all(w), g.all(y)};
  g.input({Matrix::x, d.v, global_row, 0, o.x});
  g.input({Matrix::w, d.v, 0, global_col, o.w});
  g.output({Matrix::y, d.v, global_row, global_col, o.y});
  return o;
}

Gemm work_of(GemmShape s, bool accumulate) {
  Gemm g;
  g.m = s.m;
  g.n = s.n;
  g.k = s.k;
  g.accumulate = accumulate;
  return g;
}

void pieces_of(GraphBuilder& g, LaneId lane, GemmShape s, const Operands& o, Cut cut, std::uint32_t pieces) {
  for (std::uint32_t i = 0; i < pieces; ++i) {
    const Extent e = piece(cut == Cut::rows ? s.m : s.k, pieces, i);
    if (e.size == 0) continue;
    Slice a = o.x;
    Slice b = o.w;
    Slice c = o.y;
    GemmShape part = s;
    if (cut == Cut::rows) {
      a.row += e.begin;
      c.row += e.begin;
      a.rows = c.rows = part.m = e.size;
    } else {
      a.col += e.begin;
      b.row += e.begin;
      a.cols = b.rows = part.k = e.size;
    }
    g.gemm(lane, work_of(part, cut == Cut::k && i > 0), std::array{a}, std::array{b}, std::array{c},
           {.label = g.label("gemm {}", i)});
  }
}

std::uint32_t rows_of(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, bytes / (std::uint64_t{2} * kWidth)));
}

BufferId plain(GraphBuilder& g, DeviceId d, std::uint64_t bytes, BufferRole role) {
  const auto cols = static_cast<std::uint32_t>(std::min<std::uint64_t>(kWidth, std::max<std::uint64_t>(1, bytes / 2)));
  return g.buffer(d, rows_of(bytes), cols, DType::bf16, role, role == BufferRole::input ? "from" : "to");
}

void one_way(GraphBuilder& g, DeviceId from, DeviceId to, const CopyCase& c) {
  for (std::uint32_t i = 0; i < c.chunks; ++i) {
    const BufferId src = plain(g, from, c.bytes, BufferRole::input);
    const BufferId dst = plain(g, to, c.bytes, BufferRole::output);
    g.input({Matrix::x, from.v * c.chunks + i, 0, 0, g.all(src)});
    g.output({Matrix::x, from.v * c.chunks + i, 0, 0, g.all(dst)});
    g.transfer(g.lane(from, 1 + i % c.streams, "comm"), {}, std::array{g.all(src)}, std::array{g.all(dst)},
               {.label = g.label("copy {}", i)});
  }
}

OpId tick(GraphBuilder& g, LaneId lane, BufferId from, BufferId to, std::span<const Dep> deps, std::uint32_t i) {
  return g.elementwise(lane, {}, std::array{g.all(from)}, std::array{g.all(to)},
                       {.deps = deps, .label = g.label("tick {}", i)});
}

}  // namespace

OpGraph gemm_only(const Workload& w, Cut cut, std::uint32_t pieces) {
  GraphBuilder g(w.tp);
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const DeviceId d(r);
    const GemmShape s = local_gemm(w, r);
    pieces_of(g, g.lane(d, 0, "compute"), s, operands(g, d, s, 0, 0), cut, pieces);
  }
  return std::move(g).finish();
}

OpGraph collective_only(const Workload& w, bool library) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(collective_bytes(w).si());
  if (library) {
    const auto kind = w.pattern == Pattern::ag_gemm   ? CollectiveKind::all_gather
                      : w.pattern == Pattern::gemm_rs ? CollectiveKind::reduce_scatter
                                                      : CollectiveKind::all_reduce;
    return collective(kind, bytes, w.tp);
  }
  CopyCase c;
  c.bytes = bytes / w.tp;
  c.both_ways = true;
  return copies(c);
}

OpGraph single_gemm(GemmShape shape) {
  GraphBuilder g(1);
  const DeviceId d(0U);
  pieces_of(g, g.lane(d, 0, "compute"), shape, operands(g, d, shape, 0, 0), Cut::rows, 1);
  return std::move(g).finish();
}

OpGraph tiled_gemm(GemmShape shape, GemmShape tile) {
  GraphBuilder g(1);
  const DeviceId d(0U);
  const Operands o = operands(g, d, shape, 0, 0);
  Gemm work = work_of(shape, false);
  work.order = PartOrder::fixed;
  const OpId op = g.fused_gemm(g.lane(d, 0, "compute"), work, {.label = g.label("tiles")});
  for (std::uint32_t row = 0; row < shape.m; row += tile.m) {
    for (std::uint32_t col = 0; col < shape.n; col += tile.n) {
      const Rect r{row, std::min(tile.m, shape.m - row), col, std::min(tile.n, shape.n - col)};
      Slice a = o.x;
      a.row = r.row;
      a.rows = r.rows;
      Slice b = o.w;
      b.col = r.col;
      b.cols = r.cols;
      g.part(op, {r, {}, std::array{a}, std::array{b}, std::array{Slice{o.y.buffer, r.row, r.rows, r.col, r.cols}}});
    }
  }
  return std::move(g).finish();
}

OpGraph copies(const CopyCase& c) {
  GraphBuilder g(c.same_device ? 1 : 2);
  const DeviceId a(0U);
  const DeviceId b(c.same_device ? 0U : 1U);
  one_way(g, a, b, c);
  if (c.both_ways) one_way(g, b, a, c);
  return std::move(g).finish();
}

OpGraph collective(CollectiveKind kind, std::uint64_t bytes, std::uint32_t devices, std::uint32_t channels) {
  GraphBuilder g(devices);
  std::vector<LaneId> lanes;
  std::vector<Slice> reads;
  std::vector<Slice> writes;
  const std::uint64_t shard = bytes / devices;
  for (std::uint32_t r = 0; r < devices; ++r) {
    const DeviceId d(r);
    lanes.push_back(g.lane(d, 1, "comm"));
    const bool small_in = kind == CollectiveKind::all_gather;
    const bool small_out = kind == CollectiveKind::reduce_scatter;
    const BufferId in = plain(g, d, small_in ? shard : bytes, BufferRole::input);
    const BufferId out = plain(g, d, small_out ? shard : bytes, BufferRole::output);
    const std::uint32_t pieces = kind == CollectiveKind::all_to_all ? devices : 1;
    for (std::uint32_t i = 0; i < pieces; ++i) {
      const Extent from = piece(g.all(in).rows, pieces, i);
      const Extent to = piece(g.all(out).rows, pieces, i);
      reads.push_back(g.rows(in, from.begin, from.size));
      writes.push_back(g.rows(out, to.begin, to.size));
    }
    g.input({Matrix::x, 0, small_in ? r * g.all(in).rows : 0, 0, g.all(in)});
    if (small_in) g.output({Matrix::x, 0, 0, 0, g.all(out)});
  }
  Collective work{.kind = kind};
  work.channels = static_cast<std::uint16_t>(channels);
  g.collective(lanes, work, reads, writes, {.label = g.label("collective")});
  return std::move(g).finish();
}

OpGraph gather_in_place(std::uint64_t bytes, std::uint32_t devices, std::uint32_t channels) {
  GraphBuilder g(devices);
  std::vector<LaneId> lanes;
  std::vector<Slice> reads;
  std::vector<Slice> writes;
  for (std::uint32_t r = 0; r < devices; ++r) {
    const DeviceId d(r);
    lanes.push_back(g.lane(d, 1, "comm"));
    const BufferId whole = plain(g, d, bytes, BufferRole::output);
    const Extent own = piece(g.all(whole).rows, devices, r);
    reads.push_back(g.rows(whole, own.begin, own.size));
    writes.push_back(g.all(whole));
    g.input({Matrix::x, 0, own.begin, 0, reads.back()});
    g.output({Matrix::x, 0, 0, 0, g.all(whole)});
  }
  Collective work{.kind = CollectiveKind::all_gather};
  work.channels = static_cast<std::uint16_t>(channels);
  g.collective(lanes, work, reads, writes, {.label = g.label("collective")});
  return std::move(g).finish();
}

OpGraph empty(std::uint32_t devices) {
  GraphBuilder g(devices);
  for (std::uint32_t r = 0; r < devices; ++r) {
    const DeviceId d(r);
    for (std::uint32_t lane = 0; lane < 2; ++lane) {
      const BufferId b = g.buffer(d, 1, 8, DType::bf16, BufferRole::scratch, "nothing");
      tick(g, g.lane(d, lane, lane == 0 ? "compute" : "comm"), b, b, {}, lane);
    }
  }
  return std::move(g).finish();
}

OpGraph event_chain(Chain kind, std::uint32_t hops) {
  GraphBuilder g(2);
  std::vector<Dep> last;
  for (std::uint32_t i = 0; i < hops; ++i) {
    const DeviceId d(kind == Chain::remote ? i % 2 : 0U);
    const BufferId from = g.buffer(d, 1, 64, DType::bf16, BufferRole::scratch, "from");
    const BufferId to = g.buffer(d, 1, 64, DType::bf16, BufferRole::scratch, "to");
    const LaneId lane = g.lane(d, kind == Chain::local ? i % 2 : 0, "tick");
    const OpId op = tick(g, lane, from, to, kind == Chain::lane ? std::span<const Dep>{} : last, i);
    last = {Dep{op, {}}};
  }
  return std::move(g).finish();
}

OpGraph contention(GemmShape shape, std::uint32_t gemms, Beside beside, std::uint64_t bytes, std::uint32_t chunks) {
  GraphBuilder g(2);
  const DeviceId here(0U);
  const DeviceId there(1U);
  const LaneId compute = g.lane(here, 0, "compute");
  const Operands o = operands(g, here, shape, 0, 0);
  for (std::uint32_t i = 0; i < gemms; ++i) {
    g.gemm(compute, work_of(shape, false), std::array{o.x}, std::array{o.w}, std::array{o.y},
           {.label = g.label("gemm {}", i)});
  }
  const auto send = [&](DeviceId from, DeviceId to) {
    const BufferId src = plain(g, from, bytes, BufferRole::input);
    const BufferId dst = plain(g, to, bytes, BufferRole::scratch);
    g.input({Matrix::x, 2 + from.v, 0, 0, g.all(src)});
    for (std::uint32_t i = 0; i < chunks; ++i) {
      g.transfer(g.lane(from, 1, "comm"), {}, std::array{g.all(src)}, std::array{g.all(dst)},
                 {.label = g.label("comm {}", i)});
    }
  };
  if (beside == Beside::dma_out || beside == Beside::dma_both) send(here, there);
  if (beside == Beside::dma_in || beside == Beside::dma_both) send(there, here);
  if (beside == Beside::gather || beside == Beside::reduce) {
    const bool gather = beside == Beside::gather;
    std::vector<LaneId> lanes;
    std::vector<Slice> reads;
    std::vector<Slice> writes;
    for (const DeviceId d : {here, there}) {
      lanes.push_back(g.lane(d, 1, "comm"));
      const BufferId in = plain(g, d, gather ? bytes / 2 : bytes, BufferRole::input);
      reads.push_back(g.all(in));
      writes.push_back(g.all(plain(g, d, gather ? bytes : bytes / 2, BufferRole::scratch)));
      g.input({Matrix::x, 2 + d.v, 0, 0, g.all(in)});
    }
    const auto kind = gather ? CollectiveKind::all_gather : CollectiveKind::reduce_scatter;
    for (std::uint32_t i = 0; i < chunks; ++i) {
      g.collective(lanes, {.kind = kind}, reads, writes, {.label = g.label("comm {}", i)});
    }
  }
  return std::move(g).finish();
}

}  // namespace overlap::cuda
