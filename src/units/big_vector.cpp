#include "units/big_vector.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace overlap::detail {
namespace {
constexpr std::size_t kHugePage = std::size_t{2} << 20U;
}

void* allocate_big(std::size_t bytes) {
  const std::size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* at = whole < bytes ? nullptr : std::aligned_alloc(kHugePage, whole);
  if (at == nullptr) throw std::bad_alloc();
  wish_huge_pages(at, whole);
  return at;
}

void free_big(void* at) noexcept {
  std::free(at);
}

// Without them all is slower, nothing else.
void wish_huge_pages([[maybe_unused]] void* at, [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  const auto begin = (reinterpret_cast<std::uintptr_t>(at) + kHugePage - 1) / kHugePage * kHugePage;
  const auto end = (reinterpret_cast<std::uintptr_t>(at) + bytes) / kHugePage * kHugePage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

}  // namespace overlap::detail
