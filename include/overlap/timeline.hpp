// What happened when. The engine and the CUDA backend return the same Timeline; no report can tell which made it.
#pragma once

#include <vector>

#include "overlap/ids.hpp"
#include "overlap/units.hpp"

namespace overlap {

struct OpTimes {
  Seconds admitted;  // first member holds its slots (it may spin from here)
  Seconds begin;     // all members admitted: work begins
  Seconds end;       // complete, as dependents see it
  Seconds ready{};   // last member has its dependencies, its lane and its stream costs: from here it waits for slots
};

// One member of an op with several members.
struct MemberTimes {
  OpId op;
  DeviceId device;
  Seconds admitted;
  Seconds ready{};
};

// Rate of an op's flow from `at` on; only recorded on request.
struct RateSample {
  Seconds at;
  OpId op;
  Bandwidth rate;
};

struct Timeline {
  std::vector<OpTimes> ops;          // by OpId
  std::vector<Seconds> part_ends;    // by PartId
  std::vector<MemberTimes> members;  // of ops with several members, in order of OpId, then of lane
  std::vector<RateSample> rates;     // in time order; empty unless recorded
  Seconds makespan;                  // last completion; at least the release/join path
  bool past_limit = false;  // given up (SimOptions::limit): the run would end after `makespan`, the rest is unset
  std::uint64_t events = 0;
};

}  // namespace overlap
