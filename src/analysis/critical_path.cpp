// Walks back from the last completion: at each date the op that was awaited, and what it waited for.
#include <algorithm>
#include <utility>

#include "analysis/fused.hpp"
#include "analysis/lone.hpp"
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
    Awaited at{{last, {}}, t.ops[last.index()].end};
    while (at.what.op.valid()) at = before(at);
    std::reverse(steps_.begin(), steps_.end());
    return std::move(steps_);
  }

 private:
  void step(StepKind kind, OpId op, Seconds begin, Seconds end) {
    if (begin < end) steps_.push_back({kind, op, begin, end});
  }

  // A completion and the date at which it freed the next step; of a store in a lane, the date of its issue.
  struct Awaited {
    Dep what;
    Seconds date;
  };

  // Adds the steps of what was awaited; returns what it waited for.
  Awaited before(const Awaited& at) {
    const OpId id = at.what.op;
    const Op& op = run_.graph.op(id);
    const OpTimes& t = run_.timeline.ops[id.index()];
    if (std::holds_alternative<Gemm>(op.work)) {
      const Dep wait = holding_wait(run_, id, at.what.part);
      const Seconds held = wait.op.valid() ? date_of(run_.timeline, wait) : Seconds{};
      if (wait.op.valid() && held > t.begin && held <= at.date) {
        step(StepKind::run, id, held, at.date);
        return {wait, held};
      }
    }
    step(StepKind::run, id, t.begin, at.date);
    const Awaited from = awaited(op, t);
    const Seconds ready = std::clamp(t.ready, from.date, t.begin);
    step(StepKind::slots, id, ready, t.begin);
    step(StepKind::launch, id, from.date, ready);
    return from;
  }

  // The last completion before the op's begin among its dependencies and lane predecessors; ties: the first.
  [[nodiscard]] Awaited awaited(const Op& op, const OpTimes& t) const {
    Awaited best;
    const auto consider = [&](const Dep& d, Seconds date) {
      date = std::min(date, t.begin);
      if (!best.what.op.valid() || date > best.date) best = {d, date};
    };
    for (const Dep& d : run_.graph.deps(op.deps)) consider(d, date_of(run_.timeline, d));
    for (std::uint32_t l = op.lanes.begin; l < op.lanes.end; ++l) {
      if (!before_[l].valid()) continue;
      const std::size_t b = before_[l].index();
      const Demand& d = run_.demands.ops[b];
      const OpTimes& times = run_.timeline.ops[b];
      const bool store = d.kind == DemandKind::store;
      const Seconds issued = times.begin + lane_time(d, run_.demands, run_.resources);
      consider({before_[l], {}}, store ? std::min(times.end, issued) : times.end);
    }
    return best;
  }

  // By index into lane_refs: the previous op of that lane.
  [[nodiscard]] std::vector<OpId> lane_predecessors() const {
    const std::vector<Op>& ops = run_.graph.ops();
    const std::uint32_t members = ops.empty() ? 0 : ops.back().lanes.end;  // lane references lie in order of ops
    std::vector<OpId> out(members);
    std::vector<OpId> last(run_.graph.lanes().size());
    if (members == ops.size()) {  // one each: the ops themselves need not be read
      const auto lanes = run_.graph.lane_refs({0, members});
      for (std::uint32_t i = 0; i < members; ++i) out[i] = std::exchange(last[lanes[i].index()], OpId(i));
      return out;
    }
    for (std::size_t i = 0; i < ops.size(); ++i) {
      std::uint32_t l = ops[i].lanes.begin;
      for (const LaneId lane : run_.graph.lane_refs(ops[i].lanes)) {
        out[l++] = last[lane.index()];
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
