// Completion dates of the groups. Groups of one date stand in one list, in the order in which they came; a 4-ary heap
// holds one entry a date. In lock-step schedules a thousand groups end together and cost a few list operations each;
// where all dates differ it is a heap of groups. A group finds the list of its date through a small table of the lists
// used last: one that it misses only means that two lists have one date.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/fast_state.hpp"

namespace overlap::fast {

class Dates {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] double top_date() const { return heap_.front().date; }

  // Takes the first date out: its first group, the others follow by `next`. They are without a date then.
  Index take_first() {
    const Index l = heap_.front().list;
    drop(l);
    return lists_[l].first;
  }

  void set(std::vector<Group>& groups, Index g, double date) {
    Group& group = groups[g];
    if (group.date_list != kNone) {
      List& list = lists_[group.date_list];
      if (list.date == date) return;
      if (list.first == list.last) {  // alone: the list itself moves
        const Index other = find(date);
        if (other == kNone) return move(group.date_list, date);
      }
      unlink(groups, g);
    }
    Index l = find(date);
    if (l == kNone) l = new_list(date);
    List& list = lists_[l];
    group.date_list = l;
    group.next = kNone;
    group.previous = list.last;
    (list.last == kNone ? list.first : groups[list.last].next) = g;
    list.last = g;
  }

  void erase(std::vector<Group>& groups, Index g) {
    if (groups[g].date_list != kNone) unlink(groups, g);
  }

 private:
  struct Node {
    double date;
    Index list;
  };
  struct List {
    Index first = kNone;
    Index last = kNone;
    Index heap_at = kNone;
    double date = kFree;
  };
  static constexpr double kFree = -1;
  static constexpr std::size_t kRecent = 64;

  static std::size_t place_of(double date) {
    return (std::bit_cast<std::uint64_t>(date) * 0x9E3779B97F4A7C15ULL) >> 58U;
  }

  [[nodiscard]] bool stands_at(Index l, double date) const { return lists_[l].date == date; }

  Index find(double date) {
    if (last_ != kNone && stands_at(last_, date)) return last_;
    const Index l = recent_[place_of(date)];
    if (l == kNone || !stands_at(l, date)) return kNone;
    return last_ = l;
  }

  Index new_list(double date) {
    Index l = 0;
    if (free_.empty()) {
      l = static_cast<Index>(lists_.size());
      lists_.emplace_back();
    } else {
      l = free_.back();
      free_.pop_back();
    }
    lists_[l] = {kNone, kNone, static_cast<Index>(heap_.size()), date};
    last_ = recent_[place_of(date)] = l;
    heap_.push_back({date, l});
    rise(heap_.size() - 1, {date, l});
    return l;
  }

  void move(Index l, double date) {
    const std::size_t at = lists_[l].heap_at;
    recent_[place_of(date)] = l;
    lists_[l].date = date;
    if (date < heap_[at].date)
      rise(at, {date, l});
    else
      sink(at, {date, l});
  }

  void unlink(std::vector<Group>& groups, Index g) {
    Group& group = groups[g];
    const Index l = group.date_list;
    List& list = lists_[l];
    group.date_list = kNone;
    (group.previous == kNone ? list.first : groups[group.previous].next) = group.next;
    (group.next == kNone ? list.last : groups[group.next].previous) = group.previous;
    if (list.first == kNone) drop(l);
  }

  void drop(Index l) {
    const std::size_t at = lists_[l].heap_at;
    lists_[l].date = kFree;
    free_.push_back(l);
    const Node last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    if (last.date < heap_[at].date)
      rise(at, last);
    else
      sink(at, last);
  }

  void place(std::size_t at, const Node& node) {
    heap_[at] = node;
    lists_[node.list].heap_at = static_cast<Index>(at);
  }

  void rise(std::size_t at, const Node node) {
    while (at > 0) {
      const std::size_t up = (at - 1) / 4;
      if (heap_[up].date <= node.date) break;
      place(at, heap_[up]);
      at = up;
    }
    place(at, node);
  }

  void sink(std::size_t at, const Node node) {
    const std::size_t n = heap_.size();
    for (;;) {
      const std::size_t first = 4 * at + 1;
      if (first >= n) break;
      const std::size_t end = first + 4 < n ? first + 4 : n;
      std::size_t least = first;
      for (std::size_t c = first + 1; c < end; ++c)
        if (heap_[c].date < heap_[least].date) least = c;
      if (heap_[least].date >= node.date) break;
      place(at, heap_[least]);
      at = least;
    }
    place(at, node);
  }

  static std::array<Index, kRecent> nobody() {
    std::array<Index, kRecent> none{};
    none.fill(kNone);
    return none;
  }

  std::vector<Node> heap_;
  std::vector<List> lists_;
  std::vector<Index> free_;
  std::array<Index, kRecent> recent_ = nobody();
  Index last_ = kNone;  // found or made last
};

}  // namespace overlap::fast
