// A map from 64-bit keys to values in one array (open addressing), for tables that are asked once an op. No order, no
// removal; never iterated, so results do not depend on the hash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace overlap::cost {

template <class Value>
class FlatMap {
 public:
  // The value of `key` and whether it was made now.
  std::pair<Value&, bool> emplace(std::uint64_t key) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    Slot& s = slots_[place_of(key)];
    if (s.used) return {s.value, false};
    s.used = true;
    s.key = key;
    ++size_;
    return {s.value, true};
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Value value{};
    bool used = false;
  };

  [[nodiscard]] std::size_t place_of(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key * 0x9E3779B97F4A7C15ULL >> 32U) & mask;
    while (slots_[at].used && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    for (Slot& s : old)
      if (s.used) slots_[place_of(s.key)] = std::move(s);
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace overlap::cost
