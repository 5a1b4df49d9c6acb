// Records of the fast solver.
//
// A *level* is a rate divided by the flow's share. Max-min makes every flow's level the least over its resources'
// levels and its own cap's, so a flow belongs to exactly one *group*: the flows held by one saturated resource, or the
// flow alone when its cap holds it. All flows of a group run at one level, so one virtual clock (the integral of the
// level over time) serves them all: a flow that joins when the clock reads V with work w left ends when it reads
// V + w/share. A change of level is one update a group, whatever its size.
//
// Groups are numbered: the resources first, then the flows that their caps hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "engine/fast_pool.hpp"
#include "overlap/demand.hpp"

namespace overlap::fast {

using Index = std::uint32_t;
inline constexpr Index kNone = 0xffffffffU;
inline constexpr double kUnbounded = 1e300;

// A flow in its group's heap, ordered by the clock reading at which it ends.
struct Member {
  double ends;
  Index slot;
  Index hop_count;  // the flow's: the walk over all members' hops reads nothing else of it
};

// A fluid resource and its entries: one for each use by a live flow, in columns, so that a sum over them reads little.
// Entry i belongs to group group()[i] and takes demand_of(i) bytes/s at level 1 (weight * share).
struct alignas(64) Link {
  double capacity = 0;
  double least_cap = kUnbounded;  // no member's own cap is below this
  // While it holds nobody: not below the bytes/s it carries, rounding aside. While it holds somebody: what its members
  // shared last. While it waits in the queue without a level: the level if all its entries had the same.
  double load = 0;
  double demand = 0;          // of every entry if they are alike, else the sum (for estimates only)
  Index* columns = nullptr;   // groups, then references (slot * stride + number of the hop)
  double* demands = nullptr;  // of each entry, while they differ
  Index size = 0;
  Index room = 0;
  bool dirty = false;   // waits in the solver's queue
  bool busy = false;    // in the solver's list of resources in use
  bool twice = false;   // a flow may use it more than once
  bool mixed = false;   // its entries' demands differ, or did since it was empty
  bool shared = false;  // has had two entries at a time: who comes first will hardly stay alone

  [[nodiscard]] Index* group() const { return columns; }
  [[nodiscard]] Index* ref() const { return columns + room; }
  [[nodiscard]] double demand_of(Index i) const { return mixed ? demands[i] : demand; }
  [[nodiscard]] double total_demand() const { return mixed ? demand : demand * size; }
};

// A tracked load below capacity by this share needs no look: rounding cannot add up to it.
inline constexpr double kClear = 1 - 1e-9;

inline bool roomy(const Link& link) {
  return link.load <= link.capacity * kClear;
}

struct Pools {
  Pool<Index> columns;
  Pool<double> demands;
  Pool<Member> members;
};

[[gnu::noinline]] inline void grow(Link& link, Pools& pools) {
  const Index wider = link.room == 0 ? 4 : 2 * link.room;
  Index* columns = pools.columns.take(2 * wider);
  if (link.room > 0) {
    std::memcpy(columns, link.group(), link.size * sizeof(Index));
    std::memcpy(columns + wider, link.ref(), link.size * sizeof(Index));
    pools.columns.give(link.columns, 2 * link.room);
    if (link.demands != nullptr) {
      double* demands = pools.demands.take(wider);
      std::memcpy(demands, link.demands, link.size * sizeof(double));
      pools.demands.give(link.demands, link.room);
      link.demands = demands;
    }
  }
  link.columns = columns;
  link.room = wider;
}

// The first entry that differs: from here on each has its own demand.
[[gnu::noinline]] inline void mix(Link& link, Pools& pools) {
  if (link.demands == nullptr) link.demands = pools.demands.take(link.room);
  std::fill_n(link.demands, link.size, link.demand);
  link.demand *= link.size;
  link.mixed = true;
}

// Beside others. Its group is set when the flow has one.
inline void push_entry(Link& link, Pools& pools, Index ref, double demand) {
  const Index n = link.size;
  if (n == link.room) grow(link, pools);
  if (link.mixed || demand != link.demand) {
    if (!link.mixed) mix(link, pools);
    link.demands[n] = demand;
    link.demand += demand;
  }
  link.ref()[n] = ref;
  link.size = n + 1;
}

// The last entry takes the place of entry `at`; returns the reference of the one that moved, kNone if none did.
inline Index remove_entry(Link& link, Index at) {
  const Index last = --link.size;
  if (last == 0) {
    link.twice = link.mixed = false;
    return kNone;
  }
  if (link.mixed) {
    link.demand -= link.demands[at];
    link.demands[at] = link.demands[last];
  }
  if (at == last) return kNone;
  link.group()[at] = link.group()[last];
  return link.ref()[at] = link.ref()[last];
}

struct alignas(64) Group {
  double clock = 0;  // reading at `since`
  double since = 0;
  Block<Member> members;  // 4-ary heap; for a flow held by its cap `solo` alone
  double solo_ends = 0;
  Index solo = kNone;
  Index date_list = kNone;  // list of its date (fast_dates.hpp), and its neighbours there
  Index next = kNone;
  Index previous = kNone;
  bool touched = false;  // date out of date
};

// Rounding of a sum of n terms: levels closer than this are equal, a load above capacity by less is no overload.
inline double slack(Index n) {
  return 0x1p-51 * (n + 8.0);
}

// One use of a resource (of weight > 0): which, and where the entry stands in its columns.
struct Hop {
  Index link;
  Index at;
};

struct Flow {
  Index hop_count = 0;
  Index group = kNone;  // kNone: started, not placed yet
  Index own = kNone;    // the group of its own, once it has needed one
  bool live = false;
  double share = 1;
  double cap = kUnbounded;  // as a level
  union {
    double left = 0;  // work/share, until placed
    Index member_at;  // position in its group's heap, if that is a resource's
  };
};

}  // namespace overlap::fast
