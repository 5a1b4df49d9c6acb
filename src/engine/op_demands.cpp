// Each different demand once: an open-addressing table over what was kept.
#include <bit>

#include "overlap/demand.hpp"

namespace overlap {
namespace {

constexpr std::uint32_t kFree = 0xffffffffU;

// Products that do not wait for each other: this is asked once an op.
std::size_t hash_of(const Demand& d) {
  const std::uint64_t sum = (std::uint64_t{d.tiles} << 32U | d.uses.begin) * 0x9E3779B97F4A7C15ULL +
                            (std::uint64_t{d.slots.begin} << 32U | d.tank.v) * 0xC2B2AE3D27D4EB4FULL +
                            std::bit_cast<std::uint64_t>(d.latency.si()) * 0x165667B19E3779F9ULL +
                            std::bit_cast<std::uint64_t>(d.work.si()) * 0xD6E8FEB86659FD93ULL +
                            std::bit_cast<std::uint64_t>(d.cap.si()) * 0xA0761D6478BD642FULL;
  return static_cast<std::size_t>(((sum >> 32U) ^ sum) * 0x9E3779B97F4A7C15ULL >> 20U);
}

}  // namespace

std::uint32_t OpDemands::keep(const Demand& d) {
  if (2 * (different_.size() + 1) > table_.size()) grow();
  const std::size_t mask = table_.size() - 1;
  std::size_t at = hash_of(d) & mask;
  for (; table_[at] != kFree; at = (at + 1) & mask) {
    if (different_[table_[at]] == d) return table_[at];
  }
  table_[at] = static_cast<std::uint32_t>(different_.size());
  different_.push_back(d);
  return table_[at];
}

void OpDemands::grow() {
  table_.assign(table_.empty() ? 32 : 2 * table_.size(), kFree);
  const std::size_t mask = table_.size() - 1;
  for (std::size_t i = 0; i < different_.size(); ++i) {
    std::size_t at = hash_of(different_[i]) & mask;
    while (table_[at] != kFree) at = (at + 1) & mask;
    table_[at] = static_cast<std::uint32_t>(i);
  }
}

}  // namespace overlap
