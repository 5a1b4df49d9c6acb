// Sets of time intervals.
#pragma once

#include <cstdint>
#include <span>
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
// Indices of dates (>= 0) in order of date, equal ones in order of index. Linear in the number of dates.
std::vector<std::uint32_t> order_of(std::span<const Seconds> dates);

}  // namespace overlap
