// The queues of the engine: events by date, then in the order of their making; ids in the order of their release.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "catch.hpp"
#include "engine/date_heap.hpp"
#include "engine/state.hpp"

using namespace overlap::engine;

TEST_CASE("Events come in order of (time, sequence), also when they are made while others are taken") {
  for (const std::uint64_t dates : {1ULL, 3ULL, 100ULL, 100000ULL}) {
    struct Made {
      double time;
      std::uint32_t index;
    };
    EventQueue queue;
    std::vector<Made> waiting;
    std::uint64_t random = dates;
    std::uint32_t made = 0;
    double now = 0.0;
    const auto push = [&] {
      random = random * 6364136223846793005ULL + 1442695040888963407ULL;
      const double time = now + static_cast<double>((random >> 33U) % dates) * 0.5;
      queue.push(time, static_cast<std::uint8_t>(made % 7U), made, made + 1);
      waiting.push_back({time, made++});
    };
    while (made < 500) push();
    while (!queue.empty()) {
      const auto first = std::min_element(waiting.begin(), waiting.end(), [](const Made& a, const Made& b) {
        return a.time < b.time || (a.time == b.time && a.index < b.index);
      });
      now = queue.next_time();
      REQUIRE(now == first->time);
      const Event e = queue.pop();
      REQUIRE(e.index == first->index);
      REQUIRE(e.kind == first->index % 7U);
      REQUIRE(e.generation == first->index + 1);
      waiting.erase(first);
      if (made < 2000) push();
    }
    CHECK(waiting.empty());
  }
}

TEST_CASE("Ids are used again in the order in which they were released") {
  IdQueue ids;
  std::uint32_t next_out = 0, next_in = 0;
  for (std::uint32_t round = 1; round < 60; ++round) {
    for (std::uint32_t i = 0; i < round; ++i) ids.push(next_in++);
    for (std::uint32_t i = 0; i < round / 2; ++i) REQUIRE(ids.pop() == next_out++);
  }
  while (!ids.empty()) REQUIRE(ids.pop() == next_out++);
  CHECK(next_out == next_in);
}
