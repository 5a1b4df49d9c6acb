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

#include <cstdint>

#include "engine/fast_pool.hpp"
#include "overlap/demand.hpp"

namespace overlap::fast {

using Index = std::uint32_t;
inline constexpr Index kNone = 0xffffffffU;
inline constexpr double kUnbounded = 1e300;

// One use of a resource by a live flow, in the resource's list.
struct Entry {
  Index ref;      // slot * stride + number of the use
  Index group;    // of the flow
  double demand;  // weight * share: bytes/s of the resource at level 1
};

// A flow in its group's heap, ordered by the clock reading at which it ends.
struct Member {
  double ends;
  Index slot;
};

// A fluid resource.
struct Link {
  double capacity = 0;
  double demand = 0;              // sum over the entries, for estimates only
  double least_cap = kUnbounded;  // no member's own cap is below this
  Block<Entry> entries;
  bool dirty = false;  // waits in the solver's queue
};

struct Group {
  double clock = 0;  // reading at `since`
  double since = 0;
  Block<Member> members;  // 4-ary heap; for a flow held by its cap `solo` alone
  double solo_ends = 0;
  Index solo = kNone;
  Index date_at = kNone;  // position among the dates
  bool touched = false;   // date out of date
};

struct Flow {
  const Use* uses = nullptr;
  Index use_count = 0;
  Index group = kNone;  // kNone: started, not placed yet
  Index member_at = 0;  // position in the group's heap
  Index own = kNone;    // the group of its own, once it has needed one
  Index id = kNone;     // the caller's
  double share = 1;
  double cap = kUnbounded;  // as a level
  double left = 0;          // work/share, until placed
};

}  // namespace overlap::fast
