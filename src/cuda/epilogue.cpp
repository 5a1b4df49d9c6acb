#include "cuda/epilogue.hpp"

#include <algorithm>

namespace overlap::cuda {
namespace {

bool overlaps(const Slice& a, const Slice& b) {
  return a.buffer == b.buffer && a.row < b.row + b.rows && b.row < a.row + a.rows && a.col < b.col + b.cols &&
         b.col < a.col + a.cols;
}

// Whether some op but `except` reads the slice, or an output lies in it.
bool read_elsewhere(const OpGraph& graph, const Slice& s, OpId except) {
  const auto touches = [&](Range r) {
    const auto all = graph.slices(r);
    return std::any_of(all.begin(), all.end(), [&](const Slice& x) { return overlaps(x, s); });
  };
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = graph.ops()[i];
    if (OpId(i) != except && touches(op.reads)) return true;
    if (const auto* gemm = std::get_if<Gemm>(&op.work)) {
      for (const Part& p : graph.parts_of(*gemm)) {
        if (touches(p.a) || touches(p.b)) return true;
      }
    }
  }
  const auto& outputs = graph.outputs();
  return std::any_of(outputs.begin(), outputs.end(), [&](const Placement& p) { return overlaps(p.slice, s); });
}

bool suits(const OpGraph& graph, const Gemm& gemm) {
  if (gemm.parts.size() != 1 || gemm.dtype != DType::bf16 || gemm.accumulate) return false;
  const Part& part = graph.parts()[gemm.parts.begin];
  if (!graph.deps(part.waits).empty() || graph.slices(part.b).size() != 1 || graph.slices(part.c).size() != 1) {
    return false;
  }
  for (const Range r : {part.a, part.b, part.c}) {
    for (const Slice& s : graph.slices(r)) {
      if (graph.buffer(s.buffer).dtype != DType::bf16) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<EpilogueStore> epilogue_stores(const OpGraph& graph) {
  std::vector<EpilogueStore> out;
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = graph.ops()[i];
    const auto* t = std::get_if<Transfer>(&op.work);
    if (t == nullptr || t->mover != Mover::remote_store || t->fan != Fan::copy || t->accumulate ||
        t->codec != Codec::none) {
      continue;
    }
    const auto reads = graph.slices(op.reads);
    const auto writes = graph.slices(op.writes);
    if (reads.size() != 1 || writes.size() != 1 || reads[0].rows != writes[0].rows || reads[0].cols != writes[0].cols ||
        graph.buffer(writes[0].buffer).dtype != DType::bf16) {
      continue;
    }
    for (const Dep& d : graph.deps(op.deps)) {
      const auto* gemm = std::get_if<Gemm>(&graph.op(d.op).work);
      if (gemm == nullptr || !suits(graph, *gemm)) continue;
      const Slice& c = graph.slices(graph.parts()[gemm->parts.begin].c)[0];
      if (!(c == reads[0]) || read_elsewhere(graph, c, OpId(i))) continue;
      out.push_back({d.op, OpId(i), PartId(gemm->parts.begin), writes[0]});
      break;
    }
  }
  return out;
}

}  // namespace overlap::cuda
