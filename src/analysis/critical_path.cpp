// Walks back from the last completion: at each date the op that was awaited, and what it waited for.
#include <algorithm>

#include "analysis/fused.hpp"
#include "overlap/analysis.hpp"

namespace overlap {
namespace {

class Walk {
 public:
  explicit Walk(const RunView& run) : run_(run), before_(lane_predecessors()) {}

  std::vector<PathStep> walk() {
    const Timeline& t = run_.timeline;
    if (t.ops.empty()) {
      step(StepKind::join, {}, {}, t.makespan);
      return std::move(steps_);
    }
    OpId last(0U);
    for (std::size_t i = 1; i < t.ops.size(); ++i) {
      if (t.ops[i].end > t.ops[last.index()].end) last = OpId(i);
    }
    step(StepKind::join, {}, t.ops[last.index()].end, t.makespan);
    Dep at{last, {}};
    while (at.op.valid()) at = before(at);
    std::reverse(steps_.begin(), steps_.end());
    return std::move(steps_);
  }

 private:
  void step(StepKind kind, OpId op, Seconds begin, Seconds end) {
    if (begin < end) steps_.push_back({kind, op, begin, end});
  }

  // Adds the steps of the completion `at`; returns the completion that it waited for.
  Dep before(const Dep& at) {
    const Op& op = run_.graph.op(at.op);
    const OpTimes& t = run_.timeline.ops[at.op.index()];
    const Seconds end = date_of(run_.timeline, at);
    if (std::holds_alternative<Gemm>(op.work)) {
      const Dep wait = holding_wait(run_, at.op, at.part);
      if (wait.op.valid() && date_of(run_.timeline, wait) > t.begin && date_of(run_.timeline, wait) <= end) {
        step(StepKind::run, at.op, date_of(run_.timeline, wait), end);
        return wait;
      }
    }
    step(StepKind::run, at.op, t.begin, end);
    const Dep from = awaited(op);
    const Seconds met = from.op.valid() ? std::min(date_of(run_.timeline, from), t.begin) : Seconds{};
    const Seconds ready = std::clamp(t.ready, met, t.begin);
    step(StepKind::slots, at.op, ready, t.begin);
    step(StepKind::launch, at.op, met, ready);
    return from;
  }

  // The last completion before the op's admission among its dependencies and lane predecessors; ties: the first.
  [[nodiscard]] Dep awaited(const Op& op) const {
    Dep best;
    Seconds latest{-1.0};
    const auto consider = [&](const Dep& d) {
      const Seconds t = date_of(run_.timeline, d);
      if (t > latest) {
        latest = t;
        best = d;
      }
    };
    for (const Dep& d : run_.graph.deps(op.deps)) consider(d);
    for (std::uint32_t l = op.lanes.begin; l < op.lanes.end; ++l) {
      if (before_[l].valid()) consider({before_[l], {}});
    }
    return best;
  }

  // By index into lane_refs: the previous op of that lane.
  [[nodiscard]] std::vector<OpId> lane_predecessors() const {
    std::vector<OpId> out;
    std::vector<OpId> last(run_.graph.lanes().size());
    for (std::size_t i = 0; i < run_.graph.ops().size(); ++i) {
      const Range r = run_.graph.ops()[i].lanes;
      if (out.size() < r.end) out.resize(r.end);
      for (std::uint32_t l = r.begin; l < r.end; ++l) {
        const LaneId lane = run_.graph.lane_refs(r)[l - r.begin];
        out[l] = last[lane.index()];
        last[lane.index()] = OpId(i);
      }
    }
    return out;
  }

  const RunView& run_;
  std::vector<OpId> before_;
  std::vector<PathStep> steps_;
};

}  // namespace

std::vector<PathStep> critical_path(const RunView& run) {
  return Walk(run).walk();
}

}  // namespace overlap
