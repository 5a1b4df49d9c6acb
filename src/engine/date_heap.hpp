// Heaps of dates. DateHeap: one date an index, changed in place (finish dates of flows). EventQueue: events in order of
// (time, sequence), never changed; an event that no longer holds is recognised by its generation.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace overlap::engine {

// Binary min-heap of indices by (date, index).
class DateHeap {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::uint32_t top() const { return heap_.front(); }
  [[nodiscard]] double top_date() const { return dates_[heap_.front()]; }

  void set(std::uint32_t i, double date) {
    if (i >= dates_.size()) {
      dates_.resize(i + 1, 0.0);
      place_.resize(i + 1, kAbsent);
    }
    dates_[i] = date;
    if (place_[i] == kAbsent) {
      place_[i] = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back(i);
    }
    down(up(place_[i]));
  }

  void remove(std::uint32_t i) {
    if (i >= place_.size() || place_[i] == kAbsent) return;
    const std::uint32_t hole = place_[i];
    const std::uint32_t last = heap_.back();
    heap_.pop_back();
    place_[i] = kAbsent;
    if (last == i) return;
    put(hole, last);
    down(up(hole));
  }

 private:
  static constexpr std::uint32_t kAbsent = 0xffffffffU;
  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const {
    return dates_[a] < dates_[b] || (dates_[a] == dates_[b] && a < b);
  }
  void put(std::uint32_t hole, std::uint32_t i) {
    heap_[hole] = i;
    place_[i] = hole;
  }
  std::uint32_t up(std::uint32_t hole) {
    const std::uint32_t i = heap_[hole];
    while (hole > 0 && before(i, heap_[(hole - 1) / 2])) {
      put(hole, heap_[(hole - 1) / 2]);
      hole = (hole - 1) / 2;
    }
    put(hole, i);
    return hole;
  }
  void down(std::uint32_t hole) {
    const std::uint32_t i = heap_[hole];
    const auto n = static_cast<std::uint32_t>(heap_.size());
    for (std::uint32_t child = 2 * hole + 1; child < n; child = 2 * hole + 1) {
      if (child + 1 < n && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], i)) break;
      put(hole, heap_[child]);
      hole = child;
    }
    put(hole, i);
  }

  std::vector<std::uint32_t> heap_;
  std::vector<double> dates_;
  std::vector<std::uint32_t> place_;
};

struct Event {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  std::uint8_t kind = 0;
};

// Events of one date stand in one list, first come first served; a heap holds an entry a list. Lock-step schedules put
// thousands of events on one date. A push finds the list of its date through a small table of the lists made last;
// where it misses one, a second list with the date follows the first.
class EventQueue {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] double next_time() const { return heap_.front().time; }

  void push(double time, std::uint8_t kind, std::uint32_t index, std::uint32_t generation) {
    std::uint32_t& recent = recent_[(std::bit_cast<std::uint64_t>(time) * 0x9E3779B97F4A7C15ULL) >> 58U];
    if (recent == kNoList || lists_[recent].time != time) recent = new_list(time);
    lists_[recent].events.push_back({index, generation, kind});
  }

  Event pop() {
    const std::uint32_t l = heap_.front().list;
    List& list = lists_[l];
    const Event e = list.events[list.taken++];
    if (list.taken == list.events.size()) {
      list.events.clear();
      list.taken = 0;
      list.time = -1.0;  // no date: not found again
      free_.push_back(l);
      drop_first();
    }
    return e;
  }

 private:
  static constexpr std::uint32_t kNoList = 0xffffffffU;
  struct Node {
    double time = 0.0;
    std::uint64_t sequence = 0;  // of the list's making: decides equal times
    std::uint32_t list = 0;
  };
  struct List {
    double time = -1.0;
    std::size_t taken = 0;  // events before it are out
    std::vector<Event> events;
  };

  std::uint32_t new_list(double time) {
    std::uint32_t l = 0;
    if (free_.empty()) {
      l = static_cast<std::uint32_t>(lists_.size());
      lists_.emplace_back();
    } else {
      l = free_.back();
      free_.pop_back();
    }
    lists_[l].time = time;
    const Node node{time, sequence_++, l};
    std::size_t hole = heap_.size();
    heap_.push_back(node);
    while (hole > 0 && before(node, heap_[(hole - 1) / 2])) {
      heap_[hole] = heap_[(hole - 1) / 2];
      hole = (hole - 1) / 2;
    }
    heap_[hole] = node;
    return l;
  }

  void drop_first() {
    const Node node = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return;
    const std::size_t n = heap_.size();
    std::size_t hole = 0;
    for (std::size_t child = 1; child < n; child = 2 * hole + 1) {
      if (child + 1 < n && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], node)) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = node;
  }

  static bool before(const Node& a, const Node& b) {
    return a.time < b.time || (a.time == b.time && a.sequence < b.sequence);
  }
  static std::array<std::uint32_t, 64> no_lists() {
    std::array<std::uint32_t, 64> none{};
    none.fill(kNoList);
    return none;
  }

  std::vector<Node> heap_;
  std::vector<List> lists_;
  std::vector<std::uint32_t> free_;
  std::array<std::uint32_t, 64> recent_ = no_lists();
  std::uint64_t sequence_ = 0;
};

}  // namespace overlap::engine
