// Demands of ops are kept once each, and every op gets its own back.
#include <algorithm>

#include "catch.hpp"
#include "overlap/demand.hpp"

using namespace overlap;

namespace {

// Differs from all others in exactly one field.
Demand different(std::uint32_t n) {
  Demand d;
  d.kind = DemandKind::fluid;
  switch (n % 8) {
    case 0:
      d.work = Bytes(1.0 + n);
      break;
    case 1:
      d.latency = Seconds(1.0 + n);
      break;
    case 2:
      d.uses = {n, n + 1};
      break;
    case 3:
      d.tail = Seconds(1.0 + n);
      break;
    case 4:
      d.share = 2.0 + n;
      break;
    case 5:
      d.beside = 2.0 + n;
      break;
    case 6:
      d.slots = {0, n};
      break;
    default:
      d.cap = Bandwidth(1.0 + n);
  }
  return d;
}

}  // namespace

TEST_CASE("each op's demand is what was given, in any number and order") {
  constexpr std::uint32_t kDifferent = 1000;
  OpDemands all;
  for (std::uint32_t i = 0; i < 5 * kDifferent; ++i) all.push_back(different(i * 7 % kDifferent));
  REQUIRE(all.size() == 5 * kDifferent);
  for (std::uint32_t i = 0; i < all.size(); ++i) REQUIRE(all[i] == different(i * 7 % kDifferent));
  CHECK(&all[3] == &all[3 + kDifferent]);  // equal ones are one
  CHECK(std::count(all.begin(), all.end(), different(14)) == 5);
  const OpDemands copy = all;
  all.set(3, different(kDifferent + 1));
  CHECK(all[3] == different(kDifferent + 1));
  CHECK(all[3 + kDifferent] == different(21));
  CHECK(copy[3] == different(21));
}
