// Completion dates of the groups: a 4-ary heap that knows where each group stands.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/fast_state.hpp"

namespace overlap::fast {

class Dates {
 public:
  struct Node {
    double date;
    Index group;
  };

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Node& top() const { return heap_.front(); }

  void set(std::vector<Group>& groups, Index group, double date) {
    Index at = groups[group].date_at;
    if (at == kNone) {
      at = static_cast<Index>(heap_.size());
      heap_.push_back({date, group});
      rise(groups, at, {date, group});
    } else if (date < heap_[at].date) {
      rise(groups, at, {date, group});
    } else if (date > heap_[at].date) {
      sink(groups, at, {date, group});
    }
  }

  void erase(std::vector<Group>& groups, Index group) {
    const Index at = groups[group].date_at;
    if (at == kNone) return;
    groups[group].date_at = kNone;
    const Node last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    if (last.date < heap_[at].date)
      rise(groups, at, last);
    else
      sink(groups, at, last);
  }

 private:
  void place(std::vector<Group>& groups, std::size_t at, const Node& node) {
    heap_[at] = node;
    groups[node.group].date_at = static_cast<Index>(at);
  }

  void rise(std::vector<Group>& groups, std::size_t at, const Node node) {
    while (at > 0) {
      const std::size_t up = (at - 1) / 4;
      if (heap_[up].date <= node.date) break;
      place(groups, at, heap_[up]);
      at = up;
    }
    place(groups, at, node);
  }

  void sink(std::vector<Group>& groups, std::size_t at, const Node node) {
    const std::size_t n = heap_.size();
    for (;;) {
      const std::size_t first = 4 * at + 1;
      if (first >= n) break;
      const std::size_t end = first + 4 < n ? first + 4 : n;
      std::size_t least = first;
      for (std::size_t c = first + 1; c < end; ++c)
        if (heap_[c].date < heap_[least].date) least = c;
      if (heap_[least].date >= node.date) break;
      place(groups, at, heap_[least]);
      at = least;
    }
    place(groups, at, node);
  }

  std::vector<Node> heap_;
};

}  // namespace overlap::fast
