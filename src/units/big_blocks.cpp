#include "units/big_blocks.hpp"

#include "units/small_blocks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

// Sanitizers watch malloc; they keep it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OVERLAPSIM_MALLOC_ONLY
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define OVERLAPSIM_MALLOC_ONLY
#endif
#endif
#ifndef MADV_HUGEPAGE
#define OVERLAPSIM_MALLOC_ONLY
#endif

#ifdef OVERLAPSIM_MALLOC_ONLY

namespace overlap::big_blocks {
void* take(std::size_t) noexcept {
  return nullptr;
}
bool give(void*) noexcept {
  return false;
}
}  // namespace overlap::big_blocks

#else

namespace overlap::big_blocks {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20U;
constexpr std::size_t kPages = 1U << 15U;  // 64 GB of addresses; only what is used costs memory
constexpr std::size_t kKept = 1U << 6U;  // free pages that stay filled: 128 MB; what is beyond goes back to the system

class Region {
 public:
  void* take(std::size_t bytes) noexcept {
    const std::size_t pages = (bytes - 1) / kPage + 1;
    const std::scoped_lock lock(mutex_);
    if (pages > kPages || !reserved()) return nullptr;
    const std::size_t first = gap(pages);
    if (first == kPages) return nullptr;
    for (std::size_t p = first; p < first + pages; ++p) {
      if (filled_[p]) --kept_;
      taken_[p] = filled_[p] = true;
    }
    length_[first] = static_cast<std::uint32_t>(pages);
    end_ = std::max(end_, first + pages);
    return base_ + first * kPage;
  }

  bool give(void* at) noexcept {
    const std::scoped_lock lock(mutex_);
    const auto* block = static_cast<std::byte*>(at);
    if (base_ == nullptr || block < base_ || block >= base_ + kPages * kPage) return false;
    const auto first = static_cast<std::size_t>(block - base_) / kPage;
    const std::size_t pages = length_[first];
    const bool keep = kept_ + pages <= kKept;
    if (!keep) madvise(at, pages * kPage, MADV_DONTNEED);
    for (std::size_t p = first; p < first + pages; ++p) {
      taken_[p] = false;
      filled_[p] = keep;
    }
    if (keep) kept_ += pages;
    return true;
  }

 private:
  bool reserved() noexcept {
    if (base_ != nullptr || failed_) return !failed_;
    void* at =
        mmap(nullptr, (kPages + 1) * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    failed_ = at == MAP_FAILED;
    if (failed_) return false;
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    base_ = static_cast<std::byte*>(at) + ((kPage - address % kPage) % kPage);
    madvise(base_, kPages * kPage, MADV_HUGEPAGE);
    return true;
  }

  // The first of so many free pages in a row, or kPages.
  [[nodiscard]] std::size_t gap(std::size_t pages) const noexcept {
    std::size_t free = 0;
    for (std::size_t p = 0; p < end_; ++p) {
      free = taken_[p] ? 0 : free + 1;
      if (free == pages) return p + 1 - pages;
    }
    return end_ - free + pages <= kPages ? end_ - free : kPages;
  }

  std::mutex mutex_;
  std::byte* base_ = nullptr;
  bool failed_ = false;
  std::size_t end_ = 0;   // no page from here on was ever taken
  std::size_t kept_ = 0;  // pages that are filled and free
  std::array<bool, kPages> taken_{};
  std::array<bool, kPages> filled_{};
  std::array<std::uint32_t, kPages> length_{};  // by first page of a block
};

constinit Region region;  // zeros: costs no page until it is used

}  // namespace

void* take(std::size_t bytes) noexcept {
  return region.take(bytes);
}
bool give(void* at) noexcept {
  return reinterpret_cast<std::uintptr_t>(at) % kPage == 0 && region.give(at);
}

}  // namespace overlap::big_blocks

void* operator new(std::size_t bytes) {
  using namespace overlap;
  bytes = std::max<std::size_t>(bytes, 1);
  for (;;) {
    if (bytes >= big_blocks::kBigBlock)
      if (void* at = big_blocks::take(bytes)) return at;
    if (void* at = bytes <= small_blocks::kLargest ? small_blocks::take(bytes) : std::malloc(bytes)) return at;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* at) noexcept {
  if (at != nullptr && !overlap::big_blocks::give(at)) overlap::small_blocks::give(at);
}
void operator delete(void* at, std::size_t bytes) noexcept {
  if (at == nullptr || bytes > overlap::small_blocks::kLargest) return ::operator delete(at);
  overlap::small_blocks::give(at, std::max<std::size_t>(bytes, 1));
}

#endif
