#include "engine/plan.hpp"

#include <fmt/format.h>

#include "overlap/error.hpp"

namespace overlap::engine {
namespace {

bool tiled(const Demands& demands, std::uint32_t op) {
  return demands.ops[op].kind == DemandKind::tiles;
}

// Finds the targets of dependencies; `visit(source, target)`.
template <class Visit>
class Walk {
 public:
  Walk(const OpGraph& graph, const Demands& demands, Visit visit)
      : graph_(graph), demands_(demands), visit_(visit), member_on_(graph.devices(), kNone) {}

  void visit_op(std::uint32_t i) {
    const Op& op = graph_.ops()[i];
    if (op.lanes.size() > 1) enter(op);
    for (const Dep& d : graph_.deps(op.deps)) dependency(i, op, d);
    if (const Gemm* gemm = std::get_if<Gemm>(&op.work)) {
      whole_gemms_ = whole_gemms_ || !tiled(demands_, i);
      parts(i, op, *gemm);
    }
    if (op.lanes.size() > 1) leave(op);
  }
  [[nodiscard]] bool whole_gemms() const { return whole_gemms_; }

 private:
  void enter(const Op& op) {
    for (std::uint32_t m = op.lanes.begin; m < op.lanes.end; ++m) member_on_[device(m)] = m;
  }
  void leave(const Op& op) {
    for (std::uint32_t m = op.lanes.begin; m < op.lanes.end; ++m) member_on_[device(m)] = kNone;
  }
  [[nodiscard]] std::uint32_t device(std::uint32_t member) const {
    return graph_.lane(graph_.lane_refs({member, member + 1})[0]).device.v;
  }

  void parts(std::uint32_t i, const Op& op, const Gemm& gemm) {
    for (std::uint32_t p = gemm.parts.begin; p < gemm.parts.end; ++p) {
      for (const Dep& d : graph_.deps(graph_.parts()[p].waits)) {
        if (tiled(demands_, i)) {
          visit_(source(i, d), kPartBit | p);
        } else {
          dependency(i, op, d);
        }
      }
    }
  }

  void dependency(std::uint32_t i, const Op& op, const Dep& d) {
    const std::uint32_t from = source(i, d);
    if (op.lanes.size() == 1) {
      visit_(from, op.lanes.begin);
      return;
    }
    const Range others = graph_.op(d.op).lanes;
    bool here = false;
    for (std::uint32_t m = others.begin; m < others.end; ++m) {
      const std::uint32_t mine = member_on_[device(m)];
      if (mine == kNone) continue;
      here = true;
      visit_(from, mine);
    }
    if (here) return;
    for (std::uint32_t m = op.lanes.begin; m < op.lanes.end; ++m) visit_(from, m);
  }

  [[nodiscard]] std::uint32_t source(std::uint32_t i, const Dep& d) const {
    const std::size_t ops = graph_.ops().size();
    if (d.op.index() >= ops) {
      throw CheckError(fmt::format("op {} ({}) waits for op {}, which does not exist", i,
                                   graph_.text(graph_.ops()[i].label), d.op.v));
    }
    if (!d.part.valid() || !tiled(demands_, d.op.v)) return d.op.v;
    if (d.part.index() >= graph_.parts().size() || graph_.part(d.part).op != d.op) {
      throw CheckError(fmt::format("op {} ({}) waits for part {}, which is no part of op {}", i,
                                   graph_.text(graph_.ops()[i].label), d.part.v, d.op.v));
    }
    return static_cast<std::uint32_t>(ops + d.part.index());
  }

  const OpGraph& graph_;
  const Demands& demands_;
  Visit visit_;
  bool whole_gemms_ = false;
  std::vector<std::uint32_t> member_on_;  // by device: member of the current op
};

// Appends an op to its lanes.
void link_lanes(const OpGraph& graph, std::uint32_t i, std::vector<std::uint32_t>& last, Plan& plan) {
  const Op& op = graph.ops()[i];
  if (op.lanes.empty()) throw CheckError(fmt::format("op {} ({}) runs on no lane", i, graph.text(op.label)));
  for (std::uint32_t m = op.lanes.begin; m < op.lanes.end; ++m) {
    plan.member_op[m] = i;
    const std::size_t lane = graph.lane_refs({m, m + 1})[0].index();
    if (last[lane] == kNone) {
      plan.lane_first[lane] = m;
    } else {
      plan.lane_next[last[lane]] = m;
      ++plan.member_pending[m];
    }
    last[lane] = m;
  }
}

struct Edge {
  std::uint32_t source;
  std::uint32_t target;
};

// Sources of neighbouring edges lie anywhere: loops this short have many of those accesses under way at once.
void order_by_source(const std::vector<Edge>& edges, std::size_t sources, Plan& plan) {
  // Counts at source + 2, so that after the sum source + 1 holds where the source's targets begin; filling moves it to
  // where they end.
  std::vector<std::uint32_t>& begin = plan.successor_begin;
  begin.assign(sources + 2, 0);
  for (const Edge& e : edges) ++begin[e.source + 2];
  for (std::size_t s = 0; s < sources; ++s) begin[s + 2] += begin[s + 1];
  plan.successors.resize(edges.size());
  for (const Edge& e : edges) plan.successors[begin[e.source + 1]++] = e.target;
}

}  // namespace

std::vector<std::uint32_t> previous_in_lane(const Plan& plan) {
  std::vector<std::uint32_t> previous(plan.lane_next.size(), kNone);
  for (std::uint32_t m = 0; m < plan.lane_next.size(); ++m) {
    if (plan.lane_next[m] != kNone) previous[plan.lane_next[m]] = m;
  }
  return previous;
}

Plan make_plan(const OpGraph& graph, const Demands& demands) {
  const auto ops = static_cast<std::uint32_t>(graph.ops().size());
  Plan plan;
  const std::size_t members = ops == 0 ? 0 : graph.ops().back().lanes.end;  // lane references lie in order of ops
  plan.member_op.assign(members, kNone);
  plan.lane_next.assign(members, kNone);
  plan.member_pending.assign(members, 0);
  plan.lane_first.assign(graph.lanes().size(), kNone);
  plan.parts.reserve(graph.parts().size() + graph.lanes().size() + 1);  // and a slot for each kernel at work
  plan.parts.resize(graph.parts().size());

  std::vector<Edge> edges;
  edges.reserve(graph.ops().size() + graph.parts().size());
  Walk walk(graph, demands, [&](std::uint32_t source, std::uint32_t target) {
    edges.push_back({source, target});
    ++((target & kPartBit) != 0 ? plan.parts[target & ~kPartBit].pending : plan.member_pending[target]);
  });
  std::vector<std::uint32_t> last(graph.lanes().size(), kNone);
  for (std::uint32_t i = 0; i < ops; ++i) {
    link_lanes(graph, i, last, plan);
    walk.visit_op(i);
  }
  plan.whole_gemms = walk.whole_gemms();
  order_by_source(edges, graph.ops().size() + graph.parts().size(), plan);
  return plan;
}

}  // namespace overlap::engine
