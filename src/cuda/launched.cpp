// as_launched: the graph that a launch plan runs.
#include <algorithm>
#include <array>

#include "cuda/copy_ctas.hpp"
#include "overlap/cuda.hpp"
#include "overlap/graph_builder.hpp"

namespace overlap {
namespace {

class Launched {
 public:
  Launched(const OpGraph& graph, const LaunchPlan& plan) : graph_(graph), b_(graph.devices()) {
    how_.resize(graph.ops().size());
    sms_.resize(graph.ops().size());
    for (const PlannedOp& p : plan.order) {
      how_[p.op.index()] = p.how;
      sms_[p.op.index()] = p.sms;
    }
    number();
  }

  OpGraph make() && {
    for (const Buffer& m : graph_.buffers()) b_.buffer(m.device, m.rows, m.cols, m.dtype, m.role, graph_.text(m.name));
    for (const Lane& l : graph_.lanes()) b_.lane(l.device, l.index, graph_.text(l.name), l.priority);
    for (std::size_t i = 0; i < how_.size(); ++i) add(i);
    for (const std::uint32_t count : graph_.token_counts()) b_.token(count);
    for (const TokenUse& u : graph_.token_uses()) {
      if (u.take > 0) b_.use_token(OpId(first_[u.op.index()]), u.token, u.take, 0);
      if (u.give > 0) b_.use_token(OpId(first_[u.op.index() + 1] - 1), u.token, 0, u.give);
    }
    for (const Placement& p : graph_.inputs()) b_.input(p);
    for (const Placement& p : graph_.outputs()) b_.output(p);
    return std::move(b_).finish();
  }

 private:
  // Ops that stand for op i: first_[i] to first_[i + 1]. Parts keep their Gemm, or are ops.
  void number() {
    std::uint32_t next = 0;
    std::uint32_t parts = 0;
    part_.resize(graph_.parts().size());
    for (std::size_t i = 0; i < how_.size(); ++i) {
      first_.push_back(next);
      const Op& op = graph_.ops()[i];
      if (const auto* g = std::get_if<Gemm>(&op.work)) {
        const bool ops = how_[i] == Execution::chunked_gemm;
        for (std::uint32_t p = g->parts.begin; p < g->parts.end; ++p) {
          part_[p] = ops ? Dep{OpId(next + p - g->parts.begin), {}} : Dep{OpId(next), PartId(parts)};
          ++parts;
        }
        next += ops ? g->parts.size() : 1;
      } else {
        next += by_sums(op, how_[i]) ? op.lanes.size() : 1;
      }
    }
    first_.push_back(next);
  }

  static bool by_sums(const Op& op, Execution how) {
    const auto* c = std::get_if<Collective>(&op.work);
    return how == Execution::copy_collective && c != nullptr && c->kind == CollectiveKind::reduce_scatter &&
           op.lanes.size() > 1;
  }

  // A dependency on several ops of one lane is one on the last; on the sums of a collective, on all of them.
  std::vector<Dep> moved(Range deps) const {
    std::vector<Dep> out;
    for (const Dep& d : graph_.deps(deps)) {
      const std::size_t i = d.op.index();
      if (d.part.valid()) {
        out.push_back(part_[d.part.index()]);
      } else if (by_sums(graph_.ops()[i], how_[i])) {
        for (std::uint32_t o = first_[i]; o < first_[i + 1]; ++o) out.push_back({OpId(o), {}});
      } else {
        out.push_back({OpId(first_[i + 1] - 1), {}});
      }
    }
    return out;
  }

  void add(std::size_t i) {
    const Op& op = graph_.ops()[i];
    const Execution how = how_[i];
    const std::vector<Dep> deps = moved(op.deps);
    const OpArgs args{.deps = deps,
                      .label = b_.label(graph_.text(op.label.text), op.label.a, op.label.b),
                      .commutative = op.commutative};
    const auto lanes = graph_.lane_refs(op.lanes);
    const auto reads = graph_.slices(op.reads), writes = graph_.slices(op.writes);
    if (const auto* g = std::get_if<Gemm>(&op.work)) {
      Gemm work = *g;
      work.max_sms = sms_[i];
      gemm(lanes[0], work, args, how);
    } else if (const auto* t = std::get_if<Transfer>(&op.work)) {
      Transfer work = *t;
      if (how == Execution::sm_copy) {
        work.mover = Mover::sm;
        if (work.ctas == 0) work.ctas = cuda::kCopyCtas;
      }
      b_.transfer(lanes[0], work, reads, writes, args);
    } else if (const auto* c = std::get_if<Collective>(&op.work)) {
      if (by_sums(op, how)) {
        sums(op, args);
      } else {
        b_.collective(lanes, *c, reads, writes, args);
      }
    } else {
      b_.elementwise(lanes[0], std::get<Elementwise>(op.work), reads, writes, args);
    }
  }

  void gemm(LaneId lane, const Gemm& g, const OpArgs& args, Execution how) {
    if (how != Execution::chunked_gemm) {
      const OpId id = b_.fused_gemm(lane, g, args);
      for (const Part& p : graph_.parts_of(g)) {
        const std::vector<Dep> waits = moved(p.waits);
        b_.part(id, {p.rect, waits, graph_.slices(p.a), graph_.slices(p.b), graph_.slices(p.c)});
      }
      return;
    }
    bool begun = false;
    for (const Part& p : graph_.parts_of(g)) {
      std::vector<Dep> deps = moved(p.waits);
      if (!begun) deps.insert(deps.end(), args.deps.begin(), args.deps.end());
      begun = true;
      Gemm piece = g;
      piece.m = p.rect.rows;
      piece.n = p.rect.cols;
      piece.parts = {};
      b_.gemm(lane, piece, graph_.slices(p.a), graph_.slices(p.b), graph_.slices(p.c),
              {.deps = deps, .label = args.label});
    }
  }

  // Every member adds what all hold for it, as its kernel reads it out of their memories.
  void sums(const Op& op, const OpArgs& args) {
    const auto lanes = graph_.lane_refs(op.lanes);
    const auto n = static_cast<std::uint32_t>(lanes.size());
    const auto reads = graph_.slices(op.reads), writes = graph_.slices(op.writes);
    const std::size_t each = reads.size() / n;
    for (std::uint32_t i = 0; i < n; ++i) {
      std::vector<Slice> terms;
      for (std::uint32_t from = 0; from < n; ++from) {
        const auto stack = reads.subspan(from * each, each);
        std::uint32_t rows = 0;
        for (const Slice& s : stack) rows += s.rows;
        const std::uint32_t share = rows / n, mine = share * i;
        std::uint32_t at = 0;
        for (Slice s : stack) {
          const std::uint32_t begin = std::max(at, mine), end = std::min(at + s.rows, mine + share);
          if (begin < end) {
            s.row += begin - at;
            at += s.rows;
            s.rows = end - begin;
            terms.push_back(s);
          } else {
            at += s.rows;
          }
        }
      }
      Elementwise add;
      add.kind = ElementwiseKind::add;
      add.ctas = cuda::kSumCtas;
      b_.elementwise(lanes[i], add, terms, writes.subspan(i * writes.size() / n, writes.size() / n), args);
    }
  }

  const OpGraph& graph_;
  GraphBuilder b_;
  std::vector<Execution> how_;
  std::vector<std::uint32_t> sms_;
  std::vector<std::uint32_t> first_;
  std::vector<Dep> part_;
};

}  // namespace

OpGraph as_launched(const OpGraph& graph, const LaunchPlan& plan) {
  return Launched(graph, plan).make();
}

}  // namespace overlap
