// Decomposition of the makespan, seen from the device that ends last: every instant belongs to one phase.
#include <algorithm>
#include <array>

#include "analysis/fused.hpp"
#include "analysis/intervals.hpp"
#include "analysis/lone.hpp"
#include "overlap/analysis.hpp"

namespace overlap {
namespace {

constexpr std::array<PhaseName, 9> kNames{{
    {"compute floor", "compute_floor", &Phases::floor},
    {"kernel inefficiency", "kernel_inefficiency", &Phases::kernel},
    {"decomposition (DIL)", "decomposition", &Phases::decomposition},
    {"contention (CIL)", "contention", &Phases::contention},
    {"SM waiting", "sm_waiting", &Phases::slot_wait},
    {"launch", "launch", &Phases::launch},
    {"exposed communication", "exposed_communication", &Phases::exposed},
    {"local copies and adds", "local_copies", &Phases::local},
    {"tail", "tail", &Phases::tail},
}};

DeviceId last_device(const RunView& run) {
  std::vector<Seconds> end(run.graph.devices());
  const std::vector<Op>& ops = run.graph.ops();
  const bool one_each = ops.back().lanes.end == ops.size();  // lane references lie in order of ops
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    for (const LaneId l : run.graph.lane_refs(one_each ? Range{i, i + 1} : ops[i].lanes)) {
      Seconds& e = end[run.graph.lane(l).device.index()];
      e = std::max(e, run.timeline.ops[i].end);
    }
  }
  return DeviceId(static_cast<std::size_t>(std::max_element(end.begin(), end.end()) - end.begin()));
}

// Admission and readiness of the op's member on one device.
MemberTimes member_times(const RunView& run, OpId id, DeviceId device) {
  const auto& m = run.timeline.members;
  auto it = std::lower_bound(m.begin(), m.end(), id, [](const MemberTimes& t, OpId o) { return t.op < o; });
  for (; it != m.end() && it->op == id; ++it) {
    if (it->device == device) return *it;
  }
  const OpTimes& t = run.timeline.ops[id.index()];
  return {id, device, t.admitted, t.ready};
}

// What one device's ops did over time.
struct DeviceTrack {
  std::vector<Interval> computing;
  std::vector<Interval> waiting_for_slots;  // GEMMs only
  std::vector<Interval> communicating;
  std::vector<Interval> local;
  std::vector<Interval> launching;
  Seconds end;
  Seconds lone;    // of its GEMMs, one after another
  Seconds stalls;  // inside its fused GEMMs
  Seconds floor;
};

class Tracker {
 public:
  Tracker(const RunView& run, DeviceId device) : run_(run), device_(device), lane_end_(run.graph.lanes().size()) {}

  DeviceTrack track() {
    for (std::size_t i = 0; i < run_.graph.ops().size(); ++i) {
      const OpId id(i);
      const Op& op = run_.graph.op(id);
      const LaneId lane = lane_here(op);
      if (lane.valid()) {
        own(id, op, lane);
      } else if (touches(op)) {
        track_.communicating.push_back({run_.timeline.ops[i].begin, run_.timeline.ops[i].end});
      }
    }
    return std::move(track_);
  }

 private:
  [[nodiscard]] LaneId lane_here(const Op& op) const {
    for (const LaneId l : run_.graph.lane_refs(op.lanes)) {
      if (run_.graph.lane(l).device == device_) return l;
    }
    return {};
  }
  [[nodiscard]] bool touches(const Op& op) const {
    for (const Range r : {op.reads, op.writes}) {
      for (const Slice& s : run_.graph.slices(r)) {
        if (run_.graph.buffer(s.buffer).device == device_) return true;
      }
    }
    return false;
  }

  void own(OpId id, const Op& op, LaneId lane) {
    const OpTimes& t = run_.timeline.ops[id.index()];
    const MemberTimes m = member_times(run_, id, device_);
    Seconds met = lane_end_[lane.index()];
    for (const Dep& d : run_.graph.deps(op.deps)) met = std::max(met, date_of(run_.timeline, d));
    track_.launching.push_back({met, std::min(m.ready, m.admitted)});
    lane_end_[lane.index()] = t.end;
    track_.end = std::max(track_.end, t.end);
    switch (activity_of(run_.graph, op)) {
      case Activity::compute:
        gemm(id, std::get<Gemm>(op.work), m, t);
        break;
      case Activity::communication:
        track_.communicating.push_back({m.admitted, t.end});
        break;
      case Activity::local:
        track_.local.push_back({t.begin, t.end});
        break;
    }
  }
  void gemm(OpId id, const Gemm& g, const MemberTimes& m, const OpTimes& t) {
    track_.computing.push_back({t.begin, t.end});
    track_.waiting_for_slots.push_back({m.ready, m.admitted});
    track_.lone += lone_time(run_.demands.ops[id.index()], run_.demands, run_.resources);
    track_.stalls += stall_of(run_, id);
    if (!run_.devices.empty()) {
      track_.floor += Flops(2.0 * g.m * g.n * g.k) / run_.devices[device_.index()].peak_of(g.dtype);
    }
  }

  const RunView& run_;
  DeviceId device_;
  std::vector<Seconds> lane_end_;
  DeviceTrack track_;
};

// Takes what of `open` lies in `v` out of `open`; returns its length.
Seconds take(std::vector<Interval>& open, std::vector<Interval> v) {
  const Seconds before = length(open);
  open = minus(open, merged(std::move(v)));
  return before - length(open);
}

}  // namespace

std::span<const PhaseName> phase_names() {
  return kNames;
}

Seconds Phases::total() const {
  Seconds sum;
  for (const PhaseName& n : kNames) sum += this->*n.member;
  return sum;
}

Phases phases(const RunView& run) {
  Phases p;
  if (run.graph.ops().empty()) {
    p.device = DeviceId(0U);
    p.tail = run.timeline.makespan;
    return p;
  }
  p.device = last_device(run);
  DeviceTrack t = Tracker(run, p.device).track();
  const std::vector<Interval> computing = merged(std::move(t.computing));
  std::vector<Interval> open = minus({{Seconds{}, t.end}}, computing);

  const bool known = !run.undivided.empty() && run.undivided[p.device.index()] > Seconds{} && t.lone > Seconds{};
  const Seconds undivided = known ? run.undivided[p.device.index()] : t.floor;
  p.floor = t.floor;
  p.kernel = undivided - t.floor;
  p.decomposition = t.lone - undivided;
  p.contention = length(computing) - t.stalls - t.lone;
  p.slot_wait = take(open, std::move(t.waiting_for_slots));
  p.exposed = t.stalls + take(open, std::move(t.communicating));
  p.local = take(open, std::move(t.local));
  p.launch = take(open, std::move(t.launching));
  p.exposed += length(open);  // waiting for what other devices do
  p.tail = run.timeline.makespan - t.end;
  return p;
}

double overlap_efficiency(Seconds serial, Seconds computing, Seconds makespan) {
  const Seconds hideable = std::min(computing, serial - computing);
  return hideable > Seconds{} ? (serial - makespan) / hideable : 0.0;
}

}  // namespace overlap
