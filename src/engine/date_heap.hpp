// Heaps of dates. DateHeap: one date an index, changed in place (finish dates of flows). EventHeap: events in order of
// (time, sequence), never changed; an event that no longer holds is recognised by its generation.
#pragma once

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
  double time = 0.0;
  std::uint64_t order = 0;  // sequence number << 8 | kind: unique, so it decides equal times
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  [[nodiscard]] std::uint8_t kind() const { return static_cast<std::uint8_t>(order & 0xffU); }
};

class EventHeap {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] double next_time() const { return heap_.front().time; }

  void push(double time, std::uint8_t kind, std::uint32_t index, std::uint32_t generation) {
    const Event e{time, (sequence_++ << 8U) | kind, index, generation};
    std::size_t hole = heap_.size();
    heap_.push_back(e);
    while (hole > 0 && before(e, heap_[(hole - 1) / 2])) {
      heap_[hole] = heap_[(hole - 1) / 2];
      hole = (hole - 1) / 2;
    }
    heap_[hole] = e;
  }

  Event pop() {
    const Event top = heap_.front();
    const Event e = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return top;
    const std::size_t n = heap_.size();
    std::size_t hole = 0;
    for (std::size_t child = 1; child < n; child = 2 * hole + 1) {
      if (child + 1 < n && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], e)) break;
      heap_[hole] = heap_[child];
      hole = child;
    }
    heap_[hole] = e;
    return top;
  }

 private:
  static bool before(const Event& a, const Event& b) {
    return a.time < b.time || (a.time == b.time && a.order < b.order);
  }
  std::vector<Event> heap_;
  std::uint64_t sequence_ = 0;
};

}  // namespace overlap::engine
