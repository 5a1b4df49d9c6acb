// Ranking by time: what differs by rounding is level and keeps its order.
#include "analysis/ranking.hpp"

#include "catch.hpp"

using overlap::in_places;
using overlap::places_by_time;

TEST_CASE("who is level keeps the order that it came in") {
  const std::vector<double> t = {3.0, 1.0 + 2e-16, 2.0, 1.0, 1.0 + 1e-12};
  const auto places = places_by_time(t.size(), [&](std::size_t i) { return t[i]; });
  CHECK(places == std::vector<std::size_t>{1, 3, 4, 2, 0});
  CHECK(in_places(std::vector<int>{0, 1, 2, 3, 4}, places) == std::vector<int>{1, 3, 4, 2, 0});
}

TEST_CASE("what differs by more than rounding is not level, and levels do not chain") {
  const std::vector<double> t = {1.0 + 1.6e-9, 1.0 + 0.8e-9, 1.0};  // the last two are level, the first is not
  CHECK(places_by_time(t.size(), [&](std::size_t i) { return t[i]; }) == std::vector<std::size_t>{1, 2, 0});
}

TEST_CASE("among those that are level a second measure decides, then the order") {
  const std::vector<double> t = {2.0, 1.0, 1.0, 1.0};
  const std::vector<int> launches = {1, 5, 3, 5};
  const auto places = places_by_time(
      t.size(), [&](std::size_t i) { return t[i]; },
      [&](std::size_t a, std::size_t b) { return launches[a] < launches[b]; });
  CHECK(places == std::vector<std::size_t>{2, 1, 3, 0});
}
