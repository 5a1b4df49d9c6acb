// Extra memory of a schedule: live ranges of its scratch buffers.
#include <algorithm>

#include "overlap/analysis.hpp"

namespace overlap {
namespace {

struct Life {
  Seconds first = kForever;
  Seconds last{-1.0};
};

struct Change {
  Seconds at;
  Bytes delta;
};

}  // namespace

std::vector<Bytes> peak_scratch(const RunView& run) {
  const OpGraph& g = run.graph;
  std::vector<Life> life(g.buffers().size());
  const auto touch = [&](Range slices, const OpTimes& t) {
    for (const Slice& s : g.slices(slices)) {
      Life& l = life[s.buffer.index()];
      l.first = std::min(l.first, t.begin);
      l.last = std::max(l.last, t.end);
    }
  };
  for (std::size_t i = 0; i < g.ops().size(); ++i) {
    const Op& op = g.ops()[i];
    touch(op.reads, run.timeline.ops[i]);
    touch(op.writes, run.timeline.ops[i]);
    if (const Gemm* gemm = std::get_if<Gemm>(&op.work)) {
      Range last;
      for (const Part& p : g.parts_of(*gemm)) {
        touch(p.a, run.timeline.ops[i]);
        if (p.b != last) touch(p.b, run.timeline.ops[i]);  // mostly the same for all
        touch(p.c, run.timeline.ops[i]);
        last = p.b;
      }
    }
  }
  std::vector<std::vector<Change>> changes(g.devices());
  for (std::size_t b = 0; b < life.size(); ++b) {
    const Buffer& buffer = g.buffers()[b];
    if (buffer.role != BufferRole::scratch || life[b].last < life[b].first) continue;
    const Bytes size = size_of(buffer.dtype) * (static_cast<double>(buffer.rows) * buffer.cols);
    changes[buffer.device.index()].push_back({life[b].first, size});
    changes[buffer.device.index()].push_back({life[b].last, -size});
  }
  std::vector<Bytes> peak(g.devices());
  for (std::size_t d = 0; d < changes.size(); ++d) {
    auto& c = changes[d];
    // Frees before allocations of the same instant.
    std::sort(c.begin(), c.end(),
              [](const Change& a, const Change& b) { return a.at < b.at || (a.at == b.at && a.delta < b.delta); });
    Bytes now;
    for (const Change& x : c) {
      now += x.delta;
      peak[d] = std::max(peak[d], now);
    }
  }
  return peak;
}

}  // namespace overlap
