// What a run knows about lines, pools, tiled kernels, tanks and power: plain records, indexed by number.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan.hpp"
#include "overlap/solver.hpp"

namespace overlap::engine {

inline constexpr double kBatch = 1e-12;  // dates this close (relative) are one
inline constexpr double kNever = 1e200;  // no real date is beyond

// What a stream pays for depends on; `gap` is a stand-in for the host.
enum class LaunchKind : std::uint8_t { kernel, copy, collective, other, gap };

// Where a stream stands.
struct LaneState {
  double reached = 0.0;          // date at which it came to `member`
  double late = -1.0;            // date at which the last wait that was met since wakes it
  std::uint32_t member = kNone;  // next to start
  std::uint32_t before = kNone;  // op of the member before
};

// Place in line for slots.
struct Claim {
  std::int32_t priority = 0;
  double ready = 0.0;
  std::uint64_t tie = 0;
  std::uint32_t member = kNone;
};
inline bool goes_before(const Claim& a, const Claim& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.ready != b.ready) return a.ready < b.ready;
  if (a.tie != b.tie) return a.tie < b.tie;
  return a.member < b.member;
}

// Waiting claims; a heap with the first in line in front.
class Line {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Claim& front() const { return heap_.front(); }
  [[nodiscard]] const std::vector<Claim>& all() const { return heap_; }
  void push(const Claim& c);
  void pop();

 private:
  std::vector<Claim> heap_;
};

struct Pool {
  std::uint32_t count = 0;
  std::uint32_t free = 0;
  bool dirty = false;
  Line line;
  std::vector<std::uint32_t> kernels;  // resident, with tiles (workers) not started
  std::vector<std::uint32_t> left;     // free slots of each group; empty: no groups
};

// The groups of all slots of a pool in the order in which clusters of this size would take them.
struct WholeOrder {
  std::uint32_t cluster = 1;
  const std::vector<std::uint32_t>* groups = nullptr;
  std::vector<std::uint8_t> places;
};

// A set of indices in order.
class IndexSet {
 public:
  void resize(std::size_t n) { words_.resize((n + 63) / 64, 0); }
  void insert(std::uint32_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  void erase(std::uint32_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  [[nodiscard]] bool contains(std::uint32_t i) const { return (words_[i / 64] >> (i % 64) & 1U) != 0; }
  // The first member from i on; there must be one.
  [[nodiscard]] std::uint32_t next(std::uint32_t i) const {
    std::uint64_t rest = words_[i / 64] >> (i % 64);
    if (rest != 0) return i + static_cast<std::uint32_t>(std::countr_zero(rest));
    std::uint32_t w = i / 64 + 1;
    while (words_[w] == 0) ++w;
    return w * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[w]));
  }

 private:
  std::vector<std::uint64_t> words_;
};

// Numbers to be used again, the longest free first: what ends in order starts in order again.
class IdQueue {
 public:
  [[nodiscard]] bool empty() const { return first_ == ids_.size(); }
  void push(std::uint32_t id) { ids_.push_back(id); }
  std::uint32_t pop() {
    const std::uint32_t id = ids_[first_++];
    if (first_ == ids_.size()) {
      ids_.clear();
      first_ = 0;
    } else if (first_ >= kFew && 2 * first_ >= ids_.size()) {
      ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return id;
  }

 private:
  static constexpr std::size_t kFew = 64;  // not worth a move

  std::vector<std::uint32_t> ids_;
  std::size_t first_ = 0;  // those before it are taken
};

enum class CohortState : std::uint8_t { warming, parked, running };

// Tiles of one part that start together on `count` workers and run `waves` waves in lock-step; or the workers
// themselves while they warm up. Static kernels: also the workers' place.
struct Cohort {
  std::uint32_t kernel = kNone;
  std::uint32_t count = 0;
  std::uint32_t waves = 1;
  std::uint32_t part = 0;      // slot of the part states
  std::uint32_t worker = 0;    // static: first worker
  std::uint32_t wave = 0;      // static: waves that these workers have run
  std::uint32_t part_end = 0;  // static: tile after the last one of `part`
  std::uint32_t generation = 0;
  std::uint32_t previous = kNone;  // in its kernel's list
  std::uint32_t next = kNone;
  CohortState state = CohortState::parked;
  double started = 0.0;
  double tile_time = 0.0;
  bool own = false;  // tiles that these workers claimed at launch: nobody else runs them
  FlowId flow;       // invalid: runs by the clock
};

// A resident tiled kernel.
struct Kernel {
  std::uint32_t op = kNone;
  std::uint32_t pool = kNone;
  std::uint32_t first_part = 0;  // slot of the part states
  std::uint32_t parts = 0;
  std::uint32_t tiles = 0;
  std::uint32_t workers = 0;      // most it may hold
  std::uint32_t held = 0;         // SMs it holds
  std::uint32_t idle = 0;         // held, no tile
  std::uint32_t warming = 0;      // held, not yet ready for a first tile
  std::uint32_t returned = 0;     // given back at this date: warm if it gets them again
  std::uint32_t unstarted = 0;    // tiles
  std::uint32_t future = 0;       // tiles of running cohorts' later waves
  std::uint32_t unfinished = 0;   // tiles
  std::uint32_t next_worker = 0;  // workers started so far
  std::uint32_t open_parts = 0;   // parts that are ready and have tiles not started
  std::uint32_t cursor = 0;       // no part before it is open (fixed order: has tiles not started)
  std::uint32_t cohorts = kNone;  // list
  bool fresh = true;              // its first workers pay the launch
  bool fixed_order = false;
  bool persistent = false;  // static
  bool resident = false;    // keeps its SMs while it has tiles for them
  bool dirty = false;
  std::uint32_t cluster = 1;         // SMs that it takes together
  std::vector<std::uint8_t> places;  // group of each SM that it holds, the last taken last; empty: no groups
  Claim claim;
};

// A store op between its first byte and its delivery. Bytes as of `since` of its tank, rates from then on.
struct Store {
  std::uint32_t op = kNone;
  bool issuing = true;
  bool capped = true;  // its flow may run at the issue rate only: the tank holds nothing of it
  double work = 0.0;
  double issued = 0.0;
  double drained = 0.0;
  double issue_rate = 0.0;
  double drain_rate = 0.0;
  FlowId flow;  // invalid while a store before it drains over the same route
};

struct TankState {
  double capacity = kNever;
  double since = 0.0;
  bool dirty = false;
  std::uint32_t generation = 0;       // of its next event
  std::vector<std::uint32_t> stores;  // in order of issue
};

// Load of a device with a power cap.
struct PowerState {
  double onset = 0.0;
  double ramp = 0.0;
  double steady_ratio = 1.0;
  double load = 0.0;  // seconds at full MMA load, at `since`
  double since = 0.0;
  double rate = 0.0;  // of load: the share of the device that runs MMAs
  std::uint32_t step = 0;
  std::uint32_t running = 0;  // cohorts
  std::uint32_t generation = 0;
  bool capped = false;  // has a cap at all
  bool dirty = false;
};

}  // namespace overlap::engine
