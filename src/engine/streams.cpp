// What a stream adds before an op is ready: gaps behind the previous op of the lane, waits on events, start costs.
#include <algorithm>

#include "engine/run.hpp"

namespace overlap::engine {
namespace {

struct LaunchKindOf {
  LaunchKind operator()(const Gemm&) const { return LaunchKind::kernel; }
  LaunchKind operator()(const Transfer& t) const {
    if (t.mover == Mover::copy_engine) return LaunchKind::copy;
    return t.mover == Mover::sm ? LaunchKind::kernel : LaunchKind::other;  // remote stores are part of a kernel
  }
  LaunchKind operator()(const Collective&) const { return LaunchKind::collective; }
  LaunchKind operator()(const Elementwise& e) const {
    return e.kind == ElementwiseKind::delay ? LaunchKind::gap : LaunchKind::kernel;
  }
};

bool is_kernel(LaunchKind k) {
  return k == LaunchKind::kernel || k == LaunchKind::collective;
}

// A number in [0, 1) from a seed and an index (splitmix64).
double uniform(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  z ^= z >> 31U;
  return static_cast<double>(z >> 11U) * 0x1.0p-53;
}

}  // namespace

void Run::make_streams() {
  if (resources_.streams.empty()) return;
  lanes_.resize(graph_.lanes().size());
  satisfied_.assign(plan_.member_op.size(), 0);
  launch_kinds_.reserve(graph_.ops().size());
  for (const Op& op : graph_.ops()) launch_kinds_.push_back(std::visit(LaunchKindOf{}, op.work));
}

// The member's lane comes to it at this date.
void Run::reach(std::uint32_t member, std::uint32_t behind) {
  lanes_[lane_id(member).index()] = {now_, -1.0, member, behind};
}

// One wait of the member was met by `source` at this date. Waits within a lane are free.
void Run::wait_met(std::uint32_t member, std::uint32_t source) {
  const auto ops = static_cast<std::uint32_t>(graph_.ops().size());
  const std::uint32_t from = source < ops ? source : graph_.parts()[source - ops].op.v;
  const LaneId mine = lane_id(member);
  const DeviceId device = graph_.lane(mine).device;
  // A host gap is no event: a launch that the host has made is there.
  if (launch_kinds_[from] == LaunchKind::gap) return;
  bool local = false;
  for (const LaneId other : graph_.lane_refs(lanes_of(from))) {
    if (other == mine) return;
    local = local || graph_.lane(other).device == device;
  }
  LaneState& state = lanes_[mine.index()];
  if (state.member != member || now_ <= state.reached) {
    ++satisfied_[member];
    return;
  }
  const StreamCosts& costs = resources_.streams[device.index()];
  state.late = std::max(state.late, now_ + (local ? costs.local_wait : costs.remote_wait).si());
}

// An op of another lane waits for this one: an event lies behind it.
bool Run::records_event(std::uint32_t i, LaneId lane) const {
  for (const std::uint32_t target : plan_.targets(i)) {
    if ((target & kPartBit) != 0) return true;
    if (lane_id(target) != lane) return true;
  }
  return false;
}

// Date at which the stream is done with the waits and gaps before this member.
double Run::stream_ready(std::uint32_t member) const {
  if (lanes_.empty()) return now_;
  const LaneId mine = lane_id(member);
  const StreamCosts& costs = resources_.streams[graph_.lane(mine).device.index()];
  const LaunchKind kind = launch_kinds_[plan_.member_op[member]];
  const LaneState& state = lanes_[mine.index()];
  const LaunchKind before = state.before == kNone ? LaunchKind::other : launch_kinds_[state.before];
  double ready = state.reached + satisfied_[member] * costs.satisfied_wait.si();
  if (is_kernel(kind) && is_kernel(before)) ready += costs.kernel_gap.si();
  const Seconds event = kind == LaunchKind::copy     ? costs.copy_event
                        : kind == LaunchKind::kernel ? costs.kernel_event
                                                     : Seconds();
  if (event.si() > 0.0 && kind == before && records_event(state.before, mine)) {
    ready += event.si();
  }
  double late = state.late;
  if (kind == LaunchKind::copy) {
    ready += (before == LaunchKind::copy ? costs.copy_gap : costs.copy_start).si();
    if (late >= 0.0) late += costs.copy_start.si();
  }
  ready = std::max({ready, late, now_});
  return kind == LaunchKind::collective ? ready + costs.collective_start.si() : ready;
}

// A collective and a kernel that hang on the same event become ready within microseconds, and either goes first as
// often: with even odds the collective is late, else its wait for an event is as much shorter.
double Run::race_delay(std::uint32_t member) const {
  const double window = options_.race_window.si();
  if (options_.seed == 0 || window <= 0.0) return 0.0;
  if (!std::holds_alternative<Collective>(op(plan_.member_op[member]).work)) return 0.0;
  if (uniform(options_.seed, member) < 0.5) return window;
  return !lanes_.empty() && lanes_[lane_id(member).index()].late >= 0.0 ? -window : 0.0;
}

std::uint64_t Run::tie_of(std::uint32_t member) const {
  const std::uint32_t i = plan_.member_op[member];
  if (options_.seed == 0) return i;
  return static_cast<std::uint64_t>(uniform(~options_.seed, member) * 0x1.0p53);
}

}  // namespace overlap::engine
