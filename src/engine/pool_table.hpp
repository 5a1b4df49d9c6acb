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
      : first_(std::size_t{devices} * kKinds + 1, 0),
        pools_(pools.size()),
        ordinal_(pools.size()),
        kind_(pools.size()) {
    for (std::uint32_t p = 0; p < pools.size(); ++p) {
      kind_[p] = static_cast<std::uint8_t>(pools[p].kind);
      ordinal_[p] = first_[place(pools[p].device, kind_[p]) + 1]++;
    }
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    for (std::uint32_t p = 0; p < pools.size(); ++p) pools_[first_[place(pools[p].device, kind_[p])] + ordinal_[p]] = p;
  }

  // The pool on `device` of the kind of `pool`, and at its place among the pools of that kind; invalid if none.
  [[nodiscard]] PoolId like(PoolId pool, DeviceId device) const {
    const std::size_t same = place(device, kind_[pool.index()]);
    const std::uint32_t at = first_[same] + ordinal_[pool.index()];
    return at < first_[same + 1] ? PoolId(pools_[at]) : PoolId();
  }

 private:
  static constexpr std::size_t kKinds = 4;
  static std::size_t place(DeviceId device, std::uint8_t kind) { return device.index() * kKinds + kind; }
  std::vector<std::uint32_t> first_;  // by device x kind: its pools in pools_
  std::vector<std::uint32_t> pools_;
  std::vector<std::uint32_t> ordinal_;
  std::vector<std::uint8_t> kind_;
};

}  // namespace overlap::engine
