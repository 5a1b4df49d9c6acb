// Memory for blocks up to 64 kB: lists of free blocks by size, one set a thread, so that thousands of short runs which
// make and drop the same few vectors take no lock and search nothing. malloc's own lists hold seven blocks of a size
// and none beyond a kilobyte. Blocks come from malloc and go back to it when a list is full or its thread ends.
#pragma once

#include <cstddef>

namespace overlap::small_blocks {

inline constexpr std::size_t kLargest = std::size_t{64} << 10U;  // bytes

// For 1 to kLargest bytes. Null where malloc gives none.
void* take(std::size_t bytes) noexcept;
// A block from take(bytes).
void give(void* at, std::size_t bytes) noexcept;
// A block from malloc of which the size is not known.
void give(void* at) noexcept;

}  // namespace overlap::small_blocks
