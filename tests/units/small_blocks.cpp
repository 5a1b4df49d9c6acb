// Blocks up to 64 kB: apart from each other, as large as asked for, used again; across threads too.
#include "units/small_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace overlap;

TEST_CASE("a small block that was given back is the next of its size") {
  for (const std::size_t bytes : {1U, 16U, 17U, 1000U, 1024U, 1025U, 4097U, 65535U, 65536U}) {
    INFO(bytes << " bytes");
    void* a = small_blocks::take(bytes);
    REQUIRE(a != nullptr);
    std::memset(a, 1, bytes);
    small_blocks::give(a, bytes);
    void* b = small_blocks::take(bytes);
    CHECK(b == a);
    small_blocks::give(b);  // the size is found out
  }
}

TEST_CASE("small blocks of all sizes hold what is written into them, whatever comes and goes beside") {
  std::vector<std::pair<unsigned char*, std::size_t>> held;
  std::uint64_t state = 7;
  const auto next = [&state] { return (state = state * 6364136223846793005ULL + 1442695040888963407ULL) >> 33U; };
  bool whole = true;
  for (int i = 0; i < 20000; ++i) {
    if (held.size() < 200 || next() % 2 == 0) {
      const std::size_t bytes = 1 + next() % (i % 10 == 0 ? small_blocks::kLargest : 2000);
      auto* at = static_cast<unsigned char*>(small_blocks::take(bytes));
      REQUIRE(at != nullptr);
      std::memset(at, static_cast<int>(bytes % 251), bytes);
      held.emplace_back(at, bytes);
    } else {
      std::swap(held[next() % held.size()], held.back());
      const auto [at, bytes] = held.back();
      held.pop_back();
      whole = whole && std::all_of(at, at + bytes, [b = bytes % 251](unsigned char c) { return c == b; });
      if (i % 3 == 0)
        small_blocks::give(at);
      else
        small_blocks::give(at, bytes);
    }
  }
  for (const auto& [at, bytes] : held) small_blocks::give(at, bytes);
  CHECK(whole);
}

TEST_CASE("vectors made in one thread may end in another") {
  constexpr std::size_t kThreads = 4;
  std::vector<std::vector<std::vector<std::uint32_t>>> made(kThreads);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&made, t] {
        made[t].clear();  // of another thread, from the second round on
        for (std::uint32_t n = 1; n < 3000; n += 7) made[t].emplace_back(n, n);
      });
    }
    for (std::thread& t : threads) t.join();
    std::rotate(made.begin(), made.begin() + 1, made.end());
  }
  bool right = true;
  for (const auto& lists : made)
    for (const auto& list : lists)
      right = right && std::all_of(list.begin(), list.end(), [&](std::uint32_t v) { return v == list.size(); });
  CHECK(right);
}
