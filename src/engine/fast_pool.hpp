// Growable blocks for thousands of small lists: capacities 4, 8, 16, ... from slabs with one free list a capacity, so
// that lists which grow and shrink reuse each other's memory; large blocks come from the heap and go back to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace overlap::fast {

// Elements [0, size) of one list. Owned by the pool that grew it.
template <class T>
struct Block {
  T* at = nullptr;
  std::uint32_t size = 0;
  std::uint32_t room = 0;  // 0 or a power of two >= 4
};

template <class T>
class BlockPool {
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr std::uint32_t kFirstRoom = 4;
  static constexpr std::uint32_t kLargeRoom = 4096;  // from here on: realloc
  static constexpr std::size_t kMaxSlab = 1U << 16;

 public:
  BlockPool() = default;
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;
  ~BlockPool() {
    for (T* large : large_) std::free(large);
  }

  void push(Block<T>& block, const T& value) {
    if (block.size == block.room) grow(block);
    block.at[block.size++] = value;
  }

 private:
  void grow(Block<T>& block) {
    const std::uint32_t room = block.room == 0 ? kFirstRoom : 2 * block.room;
    if (room >= kLargeRoom) return grow_large(block, room);
    T* fresh = take(room);
    if (block.size > 0) std::memcpy(fresh, block.at, block.size * sizeof(T));
    if (block.room > 0) free_[bucket(block.room)].push_back(block.at);
    block.at = fresh;
    block.room = room;
  }

  void grow_large(Block<T>& block, std::uint32_t room) {
    const bool was_large = block.room >= kLargeRoom;
    T* fresh = static_cast<T*>(std::realloc(was_large ? block.at : nullptr, room * sizeof(T)));
    if (fresh == nullptr) throw std::bad_alloc();
    if (was_large) {
      for (T*& large : large_)
        if (large == block.at) large = fresh;
    } else {
      std::memcpy(fresh, block.at, block.size * sizeof(T));
      free_[bucket(block.room)].push_back(block.at);
      large_.push_back(fresh);
    }
    block.at = fresh;
    block.room = room;
  }

  T* take(std::uint32_t room) {
    auto& free = free_[bucket(room)];
    if (!free.empty()) {
      T* at = free.back();
      free.pop_back();
      return at;
    }
    if (slab_left_ < room) {
      if (slab_size_ < kMaxSlab) slab_size_ *= 2;
      slabs_.push_back(std::make_unique_for_overwrite<T[]>(slab_size_));
      slab_at_ = slabs_.back().get();
      slab_left_ = slab_size_;
    }
    T* at = slab_at_;
    slab_at_ += room;
    slab_left_ -= room;
    return at;
  }

  static std::size_t bucket(std::uint32_t room) {
    std::size_t b = 0;
    while (room > kFirstRoom) {
      room /= 2;
      ++b;
    }
    return b;
  }

  std::array<std::vector<T*>, 10> free_;  // room 4 .. 2048
  std::vector<std::unique_ptr<T[]>> slabs_;
  std::vector<T*> large_;
  T* slab_at_ = nullptr;
  std::size_t slab_left_ = 0;
  std::size_t slab_size_ = 4096;
};

}  // namespace overlap::fast
