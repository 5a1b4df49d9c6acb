// Blocks of many megabytes: where they come from, and that what is given back is handed out again.
#include "units/big_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "catch.hpp"

using namespace overlap;

TEST_CASE("big blocks are apart, hold what is written and are used again") {
  constexpr std::size_t kBytes = big_blocks::kBigBlock + 1;
  auto* a = static_cast<std::byte*>(big_blocks::take(kBytes));
  if (a == nullptr) {
    WARN("no region of huge pages here (sanitizer, or not Linux): malloc serves all");
    return;
  }
  auto* b = static_cast<std::byte*>(big_blocks::take(kBytes));
  REQUIRE(b != nullptr);
  std::fill_n(a, kBytes, std::byte{1});
  std::fill_n(b, kBytes, std::byte{2});
  CHECK(std::all_of(a, a + kBytes, [](std::byte x) { return x == std::byte{1}; }));
  CHECK(big_blocks::give(a));
  CHECK(big_blocks::take(kBytes) == a);
  CHECK(std::all_of(b, b + kBytes, [](std::byte x) { return x == std::byte{2}; }));
  CHECK(big_blocks::give(a));
  CHECK(big_blocks::give(b));
}

TEST_CASE("big blocks refuse what is not theirs and what has no room") {
  int here = 0;
  CHECK_FALSE(big_blocks::give(&here));
  CHECK_FALSE(big_blocks::give(nullptr));
  CHECK(big_blocks::take(std::size_t{1} << 60U) == nullptr);
}

TEST_CASE("vectors grow through big blocks and keep what they hold") {
  std::vector<std::uint64_t> v;
  constexpr std::uint64_t kMany = 3U << 20U;  // 24 MB
  for (std::uint64_t i = 0; i < kMany; ++i) v.push_back(i * i);
  bool all = true;
  for (std::uint64_t i = 0; i < kMany; ++i) all = all && v[i] == i * i;
  CHECK(all);
}
