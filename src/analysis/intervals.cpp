#include "analysis/intervals.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace overlap {

std::vector<Interval> merged(std::vector<Interval> v) {
  std::erase_if(v, [](const Interval& i) { return !(i.begin < i.end); });
  std::sort(v.begin(), v.end(), [](const Interval& a, const Interval& b) {
    return a.begin < b.begin || (a.begin == b.begin && a.end < b.end);
  });
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

std::uint32_t most_overlapping(const std::vector<Interval>& v) {
  std::vector<Seconds> begins;
  std::vector<Seconds> ends;
  for (const Interval& i : v) {
    if (!(i.begin < i.end)) continue;
    begins.push_back(i.begin);
    ends.push_back(i.end);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  std::uint32_t most = 0;
  std::size_t e = 0;
  for (std::size_t b = 0; b < begins.size(); ++b) {
    while (ends[e] <= begins[b]) ++e;
    most = std::max(most, static_cast<std::uint32_t>(b + 1 - e));
  }
  return most;
}

}  // namespace overlap
