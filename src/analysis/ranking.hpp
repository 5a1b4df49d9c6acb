// Places by time. Times that differ by rounding alone are level, and who is level keeps the order that it came in: the
// order of arithmetic must not decide who is named first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace overlap {

// Relative; runs equal their closed forms to the same.
inline constexpr double kLevel = 1e-9;

inline bool level(double first, double later) {
  return later <= first * (1.0 + kLevel);
}

// Indices 0..count-1 by time(i), earliest first. `before(i, j)` orders those that are level with the first of them.
template <class Time, class Before>
std::vector<std::size_t> places_by_time(std::size_t count, Time time, Before before) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return time(a) < time(b); });
  for (auto first = order.begin(); first != order.end();) {
    const auto end = std::find_if(first, order.end(), [&](std::size_t i) { return !level(time(*first), time(i)); });
    std::sort(first, end, [&](std::size_t a, std::size_t b) {
      if (before(a, b) != before(b, a)) return before(a, b);
      return a < b;
    });
    first = end;
  }
  return order;
}

template <class Time>
std::vector<std::size_t> places_by_time(std::size_t count, Time time) {
  return places_by_time(count, time, [](std::size_t, std::size_t) { return false; });
}

// Items in the order of `places`.
template <class T>
std::vector<T> in_places(std::vector<T> items, const std::vector<std::size_t>& places) {
  std::vector<T> out;
  out.reserve(items.size());
  for (const std::size_t i : places) out.push_back(std::move(items[i]));
  return out;
}

}  // namespace overlap
