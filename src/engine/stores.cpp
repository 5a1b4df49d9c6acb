// Tanks: the issuer fills, a fluid flow drains. Between events all levels are linear in time; the tank's own events are
// full, empty (of one store) and end of issue. Rates of drains are asked for after every solve.
#include <algorithm>

#include "engine/run.hpp"

namespace overlap::engine {
namespace {
constexpr double kEmpty = 1e-9;      // share of a store's (tank's) bytes below which it is empty (full)
constexpr double kSameRate = 1e-12;  // relative
constexpr double kUncapped = 1e300;
}  // namespace

std::uint32_t Run::tank_of(std::uint32_t i) const {
  return demand(i).tank.valid() ? demand(i).tank.v : static_cast<std::uint32_t>(tanks_.size() - 1);
}

void Run::begin_store(std::uint32_t i) {
  std::uint32_t index = 0;
  if (free_stores_.empty()) {
    index = static_cast<std::uint32_t>(stores_.size());
    stores_.emplace_back();
  } else {
    index = free_stores_.back();
    free_stores_.pop_back();
  }
  Store& s = stores_[index];
  s = Store();
  s.op = i;
  s.work = demand(i).work.si();
  activity_[i] = index;
  const std::uint32_t tank = tank_of(i);
  settle_tank(tank);
  TankState& t = tanks_[tank];
  const bool first = std::none_of(t.stores.begin(), t.stores.end(), [&](std::uint32_t other) {
    return demand(stores_[other].op).uses == demand(i).uses;
  });
  if (t.stores.empty()) active_tanks_.push_back(tank);
  t.stores.push_back(index);
  t.dirty = true;
  if (first) start_drain(index);
}

void Run::start_drain(std::uint32_t index) {
  const Demand& d = demand(stores_[index].op);
  const double stored = stores_[index].issued;
  const bool capped = stored <= kEmpty * stores_[index].work && stores_[index].issuing;
  const FlowId flow =
      start_flow(FlowKind::store, index, {uses_of(d), d.share, capped ? d.cap : Bandwidth(kUncapped), d.work});
  stores_[index].capped = capped;
  stores_[index].flow = flow;
}

// Everything of the store has been delivered.
void Run::store_drained(std::uint32_t index) {
  const std::uint32_t i = stores_[index].op;
  const std::uint32_t tank = tank_of(i);
  settle_tank(tank);
  if (stores_[index].issuing) end_issue(index);
  TankState& t = tanks_[tank];
  std::erase(t.stores, index);
  t.dirty = true;
  if (t.stores.empty()) {
    std::erase(active_tanks_, tank);
    ++t.generation;
  }
  const auto next = std::find_if(t.stores.begin(), t.stores.end(),
                                 [&](std::uint32_t other) { return demand(stores_[other].op).uses == demand(i).uses; });
  if (next != t.stores.end()) start_drain(*next);
  activity_[i] = kNone;
  free_stores_.push_back(index);
  push(now_ + demand(i).tail.si(), EventKind::op_end, i);
}

void Run::end_issue(std::uint32_t index) {
  Store& s = stores_[index];
  s.issuing = false;
  s.issued = s.work;
  s.issue_rate = 0.0;
  release_slots(s.op);
  leave_lanes(s.op);
}

// Brings the bytes of all stores of the tank to this date.
void Run::settle_tank(std::uint32_t tank) {
  TankState& t = tanks_[tank];
  const double elapsed = now_ - t.since;
  t.since = now_;
  for (const std::uint32_t index : t.stores) {
    Store& s = stores_[index];
    s.issued = std::min(s.work, s.issued + s.issue_rate * elapsed);
    s.drained = std::min(s.work, s.drained + s.drain_rate * elapsed);
  }
}

// True when something changed that others must see at this date: an issue ended or a cap moved.
bool Run::update_tanks() {
  bool changed = false;
  const std::uint64_t rates = fast_ != nullptr ? fast_->changes() : rates_seen_ + 1;
  for (std::size_t n = 0; n < active_tanks_.size(); ++n) {
    TankState& t = tanks_[active_tanks_[n]];
    const bool moved =
        rates != rates_seen_ && std::any_of(t.stores.begin(), t.stores.end(), [this](std::uint32_t index) {
          const Store& s = stores_[index];
          return s.flow.valid() && solver_->rate(s.flow).si() != s.drain_rate;
        });
    if (moved || t.dirty) changed = update_tank(active_tanks_[n]) || changed;
  }
  rates_seen_ = rates;
  return changed;
}

bool Run::update_tank(std::uint32_t tank) {
  settle_tank(tank);
  TankState& t = tanks_[tank];
  t.dirty = false;
  for (const std::uint32_t index : t.stores) {
    Store& s = stores_[index];
    s.drain_rate = s.flow.valid() ? solver_->rate(s.flow).si() : 0.0;
  }
  bool changed = end_issues(tank);
  set_issue_rates(t);
  for (const std::uint32_t index : t.stores) changed = set_drain_cap(stores_[index]) || changed;
  if (changed) t.dirty = true;
  schedule_tank(tank);
  return changed;
}

bool Run::end_issues(std::uint32_t tank) {
  bool ended = false;
  for (const std::uint32_t index : tanks_[tank].stores) {
    const Store& s = stores_[index];
    if (!s.issuing || s.issued < s.work * (1.0 - kSameRate)) continue;
    end_issue(index);
    ended = true;
  }
  return ended;
}

// Not full: everybody issues at its cap. Full: all together at the rate of the drain. Each takes the room that its own
// drain makes, up to its cap; room that others leave goes to all in proportion to what they could still issue. So a
// store's issue never falls below min(cap, its drain), and the caps on drains settle at once.
void Run::set_issue_rates(TankState& t) {
  double level = 0.0;
  double drain = 0.0;
  double issue = 0.0;
  double own = 0.0;
  for (const std::uint32_t index : t.stores) {
    const Store& s = stores_[index];
    level += s.issued - s.drained;
    drain += s.drain_rate;
    if (!s.issuing) continue;
    issue += demand(s.op).cap.si();
    own += std::min(demand(s.op).cap.si(), s.drain_rate);
  }
  const bool full = level >= t.capacity * (1.0 - kEmpty) && issue > drain;
  const double share = full && issue > own ? (drain - own) / (issue - own) : 0.0;
  for (const std::uint32_t index : t.stores) {
    Store& s = stores_[index];
    const double cap = demand(s.op).cap.si();
    const double least = std::min(cap, s.drain_rate);
    s.issue_rate = !s.issuing ? 0.0 : full ? least + share * (cap - least) : cap;
  }
}

// A store of which the tank holds nothing drains no faster than it is issued. True when the cap moved.
bool Run::set_drain_cap(Store& s) {
  if (!s.flow.valid()) return false;
  const bool holds = !s.issuing || s.issued - s.drained > kEmpty * s.work;
  const bool slower = s.drain_rate < s.issue_rate * (1.0 - kSameRate);
  const bool faster = s.drain_rate > s.issue_rate * (1.0 + kSameRate);
  if (s.capped && (holds || slower)) {
    s.capped = false;
    cap_flow(s.flow, Bandwidth(kUncapped));
    return true;
  }
  if (!holds && faster) {
    s.capped = true;
    cap_flow(s.flow, Bandwidth(s.issue_rate));
    return true;
  }
  return false;
}

// Its next own event: full, a store empty, or an issue done.
void Run::schedule_tank(std::uint32_t tank) {
  TankState& t = tanks_[tank];
  double level = 0.0;
  double rise = 0.0;
  double wait = kNever;
  for (const std::uint32_t index : t.stores) {
    const Store& s = stores_[index];
    const double held = s.issued - s.drained;
    level += held;
    rise += s.issue_rate - s.drain_rate;
    if (s.issuing && s.issue_rate > 0.0) wait = std::min(wait, (s.work - s.issued) / s.issue_rate);
    if (s.issuing && !s.capped && held > kEmpty * s.work && s.drain_rate > s.issue_rate) {
      wait = std::min(wait, held / (s.drain_rate - s.issue_rate));
    }
  }
  const double room = t.capacity - level;
  if (rise > 0.0 && room > kEmpty * t.capacity) wait = std::min(wait, room / rise);
  ++t.generation;
  if (wait < kNever) push(now_ + wait, EventKind::tank, tank, t.generation);
}

}  // namespace overlap::engine
