#include "analysis/intervals.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <utility>

namespace overlap {

std::vector<Interval> merged(std::vector<Interval> v) {
  std::erase_if(v, [](const Interval& i) { return !(i.begin < i.end); });
  const auto before = [](const Interval& a, const Interval& b) {
    return a.begin < b.begin || (a.begin == b.begin && a.end < b.end);
  };
  if (!std::is_sorted(v.begin(), v.end(), before)) std::sort(v.begin(), v.end(), before);
  std::vector<Interval> out;
  for (const Interval& i : v) {
    if (!out.empty() && i.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, i.end);
    } else {
      out.push_back(i);
    }
  }
  return out;
}

Seconds length(const std::vector<Interval>& v) {
  Seconds sum;
  for (const Interval& i : v) sum += i.end - i.begin;
  return sum;
}

std::vector<Interval> minus(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::vector<Interval> out;
  std::size_t j = 0;
  for (Interval i : a) {
    while (j < b.size() && b[j].end <= i.begin) ++j;
    std::size_t k = j;
    while (k < b.size() && b[k].begin < i.end) {
      if (i.begin < b[k].begin) out.push_back({i.begin, b[k].begin});
      i.begin = std::max(i.begin, b[k].end);
      ++k;
    }
    if (i.begin < i.end) out.push_back(i);
  }
  return out;
}

namespace {

struct Keyed {
  std::uint64_t key;
  std::uint32_t index;
};

// Least significant digit first; a digit that all keys share costs a count.
void radix_sort(std::vector<Keyed>& v) {
  constexpr unsigned kBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  std::vector<Keyed> other(v.size());
  std::vector<std::uint32_t> first(kDigits);
  for (unsigned shift = 0; shift < 64; shift += kBits) {
    std::fill(first.begin(), first.end(), 0U);
    for (const Keyed& k : v) ++first[(k.key >> shift) % kDigits];
    if (first[(v.front().key >> shift) % kDigits] == v.size()) continue;
    std::uint32_t at = 0;
    for (std::uint32_t& f : first) at += std::exchange(f, at);
    for (const Keyed& k : v) other[first[(k.key >> shift) % kDigits]++] = k;
    v.swap(other);
  }
}

// Where the dates fall: ends of their rising runs, the last one too; empty if they are more than a few.
std::vector<std::ptrdiff_t> few_runs(std::span<const Seconds> dates) {
  constexpr std::size_t kFew = 8;
  std::vector<std::ptrdiff_t> ends;
  for (auto at = dates.begin(); at != dates.end();) {
    if (ends.size() == kFew) return {};
    at = std::is_sorted_until(at, dates.end());
    ends.push_back(at - dates.begin());
  }
  return ends;
}

}  // namespace

std::vector<std::uint32_t> order_of(std::span<const Seconds> dates) {
  std::vector<std::uint32_t> order(dates.size());
  std::iota(order.begin(), order.end(), 0U);
  if (const auto runs = few_runs(dates); !runs.empty()) {
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) { return dates[a] < dates[b]; };
    for (std::size_t r = 1; r < runs.size(); ++r) {
      std::inplace_merge(order.begin(), order.begin() + runs[r - 1], order.begin() + runs[r], earlier);
    }
    return order;
  }
  constexpr std::size_t kSmall = 512;
  if (dates.size() < kSmall) {
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return dates[a] < dates[b]; });
    return order;
  }
  std::vector<Keyed> keyed(dates.size());  // bits of doubles >= 0 stand in their order; -0 is made 0
  for (std::uint32_t i = 0; i < keyed.size(); ++i) keyed[i] = {std::bit_cast<std::uint64_t>(dates[i].si() + 0.0), i};
  radix_sort(keyed);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = keyed[i].index;
  return order;
}

}  // namespace overlap
