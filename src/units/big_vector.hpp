// Memory for up to millions of records. Large blocks ask the system for huge pages (Linux): a run that touches hundreds
// of megabytes once, and then here and there, spends less time in page faults and address translation.
#pragma once

#include <cstddef>
#include <vector>

namespace overlap {

namespace detail {
inline constexpr std::size_t kBigBlock = std::size_t{4} << 20U;  // bytes; smaller ones are left alone
void* allocate_big(std::size_t bytes);                           // throws std::bad_alloc
void free_big(void* at) noexcept;
void wish_huge_pages(void* at, std::size_t bytes) noexcept;
}  // namespace detail

template <class T>
struct BigAllocator {
  using value_type = T;
  BigAllocator() = default;
  template <class U>
  explicit BigAllocator(const BigAllocator<U>&) {}

  T* allocate(std::size_t n) {
    if (n >= detail::kBigBlock / sizeof(T)) return static_cast<T*>(detail::allocate_big(n * sizeof(T)));
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* at, std::size_t n) noexcept {
    if (n >= detail::kBigBlock / sizeof(T))
      detail::free_big(at);
    else
      ::operator delete(at);
  }
  friend bool operator==(const BigAllocator&, const BigAllocator&) { return true; }
};

template <class T>
using BigVector = std::vector<T, BigAllocator<T>>;

// Room for n elements in a vector that others see as it is.
template <class T>
void reserve_big(std::vector<T>& v, std::size_t n) {
  if (n <= v.capacity()) return;
  v.reserve(n);
  if (n * sizeof(T) >= detail::kBigBlock) detail::wish_huge_pages(v.data(), v.capacity() * sizeof(T));
}

}  // namespace overlap
