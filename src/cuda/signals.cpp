#include "cuda/signals.hpp"

#include <algorithm>

namespace overlap::cuda {
namespace {

using Clock = std::vector<std::uint32_t>;  // by lane: how many of its ops are known to be complete

void join(Clock& into, const Clock& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

struct MemberRef {
  std::size_t step = 0;  // into plan.order
  std::size_t member = 0;
};

class Signals {
 public:
  Signals(const OpGraph& graph, const std::vector<std::vector<Dep>>& more, LaunchPlan& plan)
      : graph_(graph), more_(more), plan_(plan), step_of_(graph.ops().size()), lane_clock_(graph.lanes().size()) {
    for (std::size_t i = 0; i < plan.order.size(); ++i) step_of_[plan.order[i].op.index()] = i;
    std::vector<std::uint32_t> count(graph.lanes().size(), 0);
    for (const PlannedOp& p : plan.order) {
      position_.emplace_back();
      begun_.emplace_back();
      done_.emplace_back();
      for (const PlannedMember& m : p.members) {
        position_.back().push_back(++count[m.lane.index()]);
        begun_.back().emplace_back(graph.lanes().size(), 0);
        done_.back().emplace_back(graph.lanes().size(), 0);
      }
    }
    for (Clock& c : lane_clock_) c.assign(graph.lanes().size(), 0);
  }

  void run() {
    for (std::size_t step = 0; step < plan_.order.size(); ++step) {
      for (std::size_t m = 0; m < plan_.order[step].members.size(); ++m) member(step, m);
    }
  }

 private:
  void member(std::size_t step, std::size_t m) {
    PlannedOp& p = plan_.order[step];
    PlannedMember& self = p.members[m];
    const Op& op = graph_.op(p.op);
    Clock& clock = lane_clock_[self.lane.index()];
    for (const Dep& d : graph_.deps(op.deps)) stream_wait(op, d, self.lane, clock, self.waits, false);
    for (const Dep& d : more_[p.op.index()]) stream_wait(op, d, self.lane, clock, self.waits, false);
    begun_[step][m] = clock;
    if (const auto* gemm = std::get_if<Gemm>(&op.work)) {
      for (std::uint32_t part = gemm->parts.begin; part < gemm->parts.end; ++part) {
        for (const Dep& d : graph_.deps(graph_.parts()[part].waits)) {
          if (p.how == Execution::fused_gemm) {
            kernel_wait(op, d, self.lane, clock, plan_.parts[part].waits);
          } else {
            stream_wait(op, d, self.lane, clock, plan_.parts[part].waits, plan_.stream_memory);
          }
        }
      }
    }
    clock[self.lane.index()] = position_[step][m];
    done_[step][m] = clock;
  }

  // Members of the awaited op that this member must see complete.
  [[nodiscard]] std::vector<MemberRef> awaited(const Op& op, const Dep& d, LaneId lane) const {
    const std::size_t step = step_of_[d.op.index()];
    const auto& members = plan_.order[step].members;
    const DeviceId here = graph_.lane(lane).device;
    std::vector<MemberRef> all;
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (graph_.lane(members[m].lane).device == here && (op.lanes.size() > 1 || touches_only(op, here))) {
        return {{step, m}};
      }
      all.push_back({step, m});
    }
    return all;
  }

  [[nodiscard]] bool touches_only(const Op& op, DeviceId device) const {
    const auto local = [&](Range r) {
      const auto s = graph_.slices(r);
      return std::all_of(s.begin(), s.end(), [&](const Slice& x) { return graph_.buffer(x.buffer).device == device; });
    };
    if (const auto* gemm = std::get_if<Gemm>(&op.work)) {
      const auto parts = graph_.parts_of(*gemm);
      return std::all_of(parts.begin(), parts.end(),
                         [&](const Part& p) { return local(p.a) && local(p.b) && local(p.c); });
    }
    return local(op.reads) && local(op.writes);
  }

  // A part of a kernel, or of launches that signal by stream memory operations.
  [[nodiscard]] bool raises_flag(const Dep& d) const {
    const Execution how = plan_.order[step_of_[d.op.index()]].how;
    return d.part.valid() && (how == Execution::fused_gemm || (how == Execution::chunked_gemm && plan_.stream_memory));
  }

  void stream_wait(const Op& op, const Dep& d, LaneId lane, Clock& clock, std::vector<Signal>& waits, bool by_flag) {
    for (const MemberRef r : awaited(op, d, lane)) {
      const PlannedMember& from = plan_.order[r.step].members[r.member];
      if (clock[from.lane.index()] >= position_[r.step][r.member]) continue;
      if (raises_flag(d)) {
        add(waits, {Signal::Kind::flag, flag(plan_.parts[d.part.index()].done, lane)});
        join(clock, begun_[r.step][r.member]);
      } else if (d.part.valid()) {
        add(waits, {Signal::Kind::event, event(plan_.parts[d.part.index()].done)});
        join(clock, begun_[r.step][r.member]);
      } else {
        Completion& done = plan_.order[r.step].members[r.member].done;
        add(waits, by_flag ? Signal{Signal::Kind::flag, flag(done, lane)} : Signal{Signal::Kind::event, event(done)});
        join(clock, done_[r.step][r.member]);
      }
    }
  }

  // `clock` is what the stream knows at the kernel's start; at its end all these waits are known too.
  void kernel_wait(const Op& op, const Dep& d, LaneId lane, Clock& clock, std::vector<Signal>& waits) {
    const std::size_t self = step_of_[static_cast<std::size_t>(&op - graph_.ops().data())];
    for (const MemberRef r : awaited(op, d, lane)) {
      const PlannedMember& from = plan_.order[r.step].members[r.member];
      if (begun_[self][0][from.lane.index()] >= position_[r.step][r.member]) continue;
      Completion& done = d.part.valid() ? plan_.parts[d.part.index()].done : plan_.order[r.step].members[r.member].done;
      add(waits, {Signal::Kind::flag, flag(done, lane)});
      if (r.step < self) join(clock, d.part.valid() ? begun_[r.step][r.member] : done_[r.step][r.member]);
    }
  }

  static void add(std::vector<Signal>& waits, Signal s) {
    if (std::find(waits.begin(), waits.end(), s) == waits.end()) waits.push_back(s);
  }
  std::uint32_t event(Completion& done) {
    if (done.event == kNoSignal) done.event = plan_.events++;
    return done.event;
  }
  std::uint32_t flag(Completion& done, LaneId listener) {
    if (done.flag == kNoSignal) done.flag = plan_.flags++;
    done.flag_gpus |= 1U << plan_.map.gpu_of[graph_.lane(listener).device.index()];
    return done.flag;
  }

  const OpGraph& graph_;
  const std::vector<std::vector<Dep>>& more_;
  LaunchPlan& plan_;
  std::vector<std::size_t> step_of_;                  // by OpId
  std::vector<std::vector<std::uint32_t>> position_;  // by step, member: 1-based place in its lane
  std::vector<std::vector<Clock>> begun_;             // known complete when it begins
  std::vector<std::vector<Clock>> done_;              // and when it is complete
  std::vector<Clock> lane_clock_;
};

}  // namespace

void plan_signals(const OpGraph& graph, const std::vector<std::vector<Dep>>& more, LaunchPlan& plan) {
  Signals(graph, more, plan).run();
}

}  // namespace overlap::cuda
