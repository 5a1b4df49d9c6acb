// Sets of time intervals.
#pragma once

#include <vector>

#include "overlap/units.hpp"

namespace overlap {

struct Interval {
  Seconds begin;
  Seconds end;
};

// Sorts, drops empty ones and merges what touches or overlaps.
std::vector<Interval> merged(std::vector<Interval> v);
// Total length of disjoint intervals.
Seconds length(const std::vector<Interval>& v);
// What of `a` is not in `b`; both merged.
std::vector<Interval> minus(const std::vector<Interval>& a, const std::vector<Interval>& b);
// Most intervals that overlap in one instant; an interval that ends where another begins does not overlap it.
std::uint32_t most_overlapping(const std::vector<Interval>& v);

}  // namespace overlap
