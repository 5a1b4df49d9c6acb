// Memory for thousands of small lists: rooms of 1, 2, 4, ... elements from slabs with one free list a size, so that
// lists which grow and shrink reuse each other's memory; large rooms come from the heap and go back to it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace overlap::fast {

template <class T>
class Pool {
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr std::uint32_t kLargeRoom = 4096;  // from here on: malloc
  static constexpr std::size_t kMaxSlab = 1U << 16;

 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (T* large : large_) std::free(large);
  }

  // `room`: a power of two.
  T* take(std::uint32_t room) {
    if (room >= kLargeRoom) return take_large(room);
    auto& free = free_[static_cast<std::size_t>(std::countr_zero(room))];
    if (!free.empty()) {
      T* at = free.back();
      free.pop_back();
      return at;
    }
    if (slab_left_ < room) new_slab(room);
    T* at = slab_at_;
    slab_at_ += room;
    slab_left_ -= room;
    return at;
  }

  void give(T* at, std::uint32_t room) {
    if (room >= kLargeRoom) {
      const auto it = std::find(large_.begin(), large_.end(), at);
      *it = large_.back();
      large_.pop_back();
      std::free(at);
    } else {
      free_[static_cast<std::size_t>(std::countr_zero(room))].push_back(at);
    }
  }

 private:
  T* take_large(std::uint32_t room) {
    T* at = static_cast<T*>(std::malloc(room * sizeof(T)));
    if (at == nullptr) throw std::bad_alloc();
    large_.push_back(at);
    return at;
  }

  void new_slab(std::uint32_t room) {
    if (slab_size_ < kMaxSlab) slab_size_ *= 2;
    slab_left_ = std::max<std::size_t>(slab_size_, room);
    slabs_.push_back(std::make_unique_for_overwrite<T[]>(slab_left_));
    slab_at_ = slabs_.back().get();
  }

  std::array<std::vector<T*>, 12> free_;  // rooms of 1 .. 2048
  std::vector<std::unique_ptr<T[]>> slabs_;
  std::vector<T*> large_;
  T* slab_at_ = nullptr;
  std::size_t slab_left_ = 0;
  std::size_t slab_size_ = 128;
};

// Elements [0, size) of one list, in a room of a pool.
template <class T>
struct Block {
  T* at = nullptr;
  std::uint32_t size = 0;
  std::uint32_t room = 0;  // 0 or a power of two

  void push(Pool<T>& pool, const T& value) {
    if (size == room) grow(pool);
    at[size++] = value;
  }

 private:
  void grow(Pool<T>& pool) {
    const std::uint32_t wider = room == 0 ? 1 : 2 * room;
    T* fresh = pool.take(wider);
    if (size > 0) std::memcpy(fresh, at, size * sizeof(T));
    if (room > 0) pool.give(at, room);
    at = fresh;
    room = wider;
  }
};

}  // namespace overlap::fast
