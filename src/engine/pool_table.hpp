// Which pool of another device is "the same kind": member i of an op holds slots there.
#pragma once

#include <cstdint>
#include <vector>

#include "overlap/engine.hpp"

namespace overlap::engine {

class PoolTable {
 public:
  PoolTable() = default;
  PoolTable(const std::vector<SlotPool>& pools, std::uint32_t devices)
      : of_(std::size_t{devices} * kKinds), ordinal_(pools.size()), kind_(pools.size()) {
    for (std::uint32_t p = 0; p < pools.size(); ++p) {
      kind_[p] = static_cast<std::uint8_t>(pools[p].kind);
      auto& same = of_[pools[p].device.index() * kKinds + kind_[p]];
      ordinal_[p] = static_cast<std::uint32_t>(same.size());
      same.push_back(p);
    }
  }

  // The pool on `device` of the kind of `pool`, and at its place among the pools of that kind; invalid if none.
  [[nodiscard]] PoolId like(PoolId pool, DeviceId device) const {
    const auto& same = of_[device.index() * kKinds + kind_[pool.index()]];
    return ordinal_[pool.index()] < same.size() ? PoolId(same[ordinal_[pool.index()]]) : PoolId();
  }

 private:
  static constexpr std::size_t kKinds = 4;
  std::vector<std::vector<std::uint32_t>> of_;  // by device x kind
  std::vector<std::uint32_t> ordinal_;
  std::vector<std::uint8_t> kind_;
};

}  // namespace overlap::engine
