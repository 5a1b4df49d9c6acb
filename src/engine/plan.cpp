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

  void run() {
    const auto n = static_cast<std::uint32_t>(graph_.ops().size());
    for (std::uint32_t i = 0; i < n; ++i) {
      const Op& op = graph_.ops()[i];
      if (op.lanes.size() > 1) enter(op);
      for (const Dep& d : graph_.deps(op.deps)) dependency(i, op, d);
      if (const Gemm* gemm = std::get_if<Gemm>(&op.work)) parts(i, op, *gemm);
      if (op.lanes.size() > 1) leave(op);
    }
  }

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
  std::vector<std::uint32_t> member_on_;  // by device: member of the current op
};

template <class Visit>
void walk(const OpGraph& graph, const Demands& demands, Visit visit) {
  Walk<Visit>(graph, demands, visit).run();
}

void link_lanes(const OpGraph& graph, Plan& plan) {
  std::vector<std::uint32_t> last(graph.lanes().size(), kNone);
  plan.lane_first.assign(graph.lanes().size(), kNone);
  for (std::uint32_t i = 0; i < graph.ops().size(); ++i) {
    const Range lanes = graph.ops()[i].lanes;
    for (std::uint32_t m = lanes.begin; m < lanes.end; ++m) {
      plan.member_op[m] = i;
      const std::size_t lane = graph.lane_refs({m, m + 1})[0].index();
      if (last[lane] == kNone) {
        plan.lane_first[lane] = m;
      } else {
        plan.lane_next[last[lane]] = m;
        plan.lane_previous[m] = last[lane];
        ++plan.member_pending[m];
      }
      last[lane] = m;
    }
  }
}

}  // namespace

Plan make_plan(const OpGraph& graph, const Demands& demands) {
  if (demands.ops.size() != graph.ops().size()) {
    throw CheckError(fmt::format("{} ops but {} demands", graph.ops().size(), demands.ops.size()));
  }
  Plan plan;
  std::size_t members = 0;
  for (const Op& op : graph.ops()) {
    if (op.lanes.empty()) throw CheckError(fmt::format("op {} runs on no lane", graph.text(op.label)));
    members = std::max<std::size_t>(members, op.lanes.end);
  }
  plan.member_op.assign(members, kNone);
  plan.lane_next.assign(members, kNone);
  plan.lane_previous.assign(members, kNone);
  plan.member_pending.assign(members, 0);
  plan.part_pending.assign(graph.parts().size(), 0);
  link_lanes(graph, plan);

  const std::size_t sources = graph.ops().size() + graph.parts().size();
  plan.successor_begin.assign(sources + 1, 0);
  walk(graph, demands, [&plan](std::uint32_t source, std::uint32_t target) {
    ++plan.successor_begin[source + 1];
    ++((target & kPartBit) != 0 ? plan.part_pending[target & ~kPartBit] : plan.member_pending[target]);
  });
  for (std::size_t s = 0; s < sources; ++s) plan.successor_begin[s + 1] += plan.successor_begin[s];
  plan.successors.resize(plan.successor_begin[sources]);
  std::vector<std::uint32_t> next(plan.successor_begin.begin(), plan.successor_begin.end() - 1);
  walk(graph, demands, [&](std::uint32_t source, std::uint32_t target) { plan.successors[next[source]++] = target; });
  return plan;
}

}  // namespace overlap::engine
