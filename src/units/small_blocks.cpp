#include "units/small_blocks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#ifdef __linux__
#include <malloc.h>
#endif

namespace overlap::small_blocks {
namespace {

// Sizes 16, 32, .. 1024, then four to each doubling.
constexpr std::size_t kStep = 16;
constexpr std::size_t kEven = 1024;
constexpr std::size_t kClasses = kEven / kStep + std::size_t{4} * 6;
constexpr std::size_t kKept = std::size_t{64} << 10U;  // bytes of a size that stay

constexpr std::size_t size_of_class(std::size_t c) {
  if (c < kEven / kStep) return (c + 1) * kStep;
  const std::size_t beyond = c - kEven / kStep;
  return (kEven << (beyond / 4)) + (beyond % 4 + 1) * (kEven / 4 << (beyond / 4));
}

// The least class that holds so many bytes.
constexpr std::size_t class_of(std::size_t bytes) {
  if (bytes <= kEven) return (bytes - 1) / kStep;
  const auto doubling = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 11;
  return kEven / kStep + 4 * doubling + (((bytes - 1) >> (doubling + 8)) & 3U);
}
static_assert(size_of_class(class_of(1)) == 16 && size_of_class(class_of(1024)) == 1024);
static_assert(size_of_class(class_of(1025)) == 1280 && size_of_class(class_of(1280)) == 1280);
static_assert(size_of_class(class_of(2048)) == 2048 && size_of_class(class_of(2049)) == 2560);
static_assert(size_of_class(class_of(kLargest)) == kLargest && class_of(kLargest) + 1 == kClasses);

struct FreeBlock {
  FreeBlock* next;
};

// Zeros: costs nothing until it is used, and outlives everything of its thread.
struct Lists {
  std::array<FreeBlock*, kClasses> first;
  std::array<std::uint16_t, kClasses> count;
  enum : std::uint8_t { fresh, open, closed } state;
};
constinit thread_local Lists lists{};

// Gives a thread's blocks back when it ends.
struct Closer {
  Closer() { lists.state = Lists::open; }
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;
  ~Closer() {
    lists.state = Lists::closed;
    for (FreeBlock*& first : lists.first) {
      while (first != nullptr) std::free(std::exchange(first, first->next));
    }
  }
};

bool opened() {
  if (lists.state == Lists::fresh) {
    static thread_local const Closer closer;
  }
  return lists.state == Lists::open;
}

void keep(void* at, std::size_t c) noexcept {
  const std::size_t most = std::max<std::size_t>(2, kKept / size_of_class(c));
  if (lists.count[c] >= most || (lists.state != Lists::open && !opened())) {
    std::free(at);
    return;
  }
  lists.first[c] = ::new (at) FreeBlock{lists.first[c]};
  ++lists.count[c];
}

}  // namespace

void* take(std::size_t bytes) noexcept {
  const std::size_t c = class_of(bytes);
  FreeBlock* const at = lists.first[c];
  if (at == nullptr) return std::malloc(size_of_class(c));
  lists.first[c] = at->next;
  --lists.count[c];
  return at;
}

void give(void* at, std::size_t bytes) noexcept {
  keep(at, class_of(bytes));
}

void give(void* at) noexcept {
#ifdef __GLIBC__
  const std::size_t usable = malloc_usable_size(at);
  if (usable >= kStep && usable <= kLargest) {
    const std::size_t c = class_of(usable);
    return keep(at, size_of_class(c) > usable ? c - 1 : c);
  }
#endif
  std::free(at);
}

}  // namespace overlap::small_blocks
