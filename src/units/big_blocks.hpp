// Memory for blocks of many megabytes: a region of addresses, cut in huge pages (Linux, 2 MB), that stays with the
// program. A block that is given back is handed out again as it is, so that stages of a run which fill hundreds of
// megabytes one after another pay for page faults and cleared pages once. The program's operator new takes blocks of
// kBigBlock bytes and more from here.
#pragma once

#include <cstddef>

namespace overlap::big_blocks {

inline constexpr std::size_t kBigBlock = std::size_t{4} << 20U;  // bytes

// Null where there is no room or no such region: ask malloc then.
void* take(std::size_t bytes) noexcept;
// False if the block is not from here: give it to free then.
bool give(void* at) noexcept;

}  // namespace overlap::big_blocks
