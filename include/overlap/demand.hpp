// What an op asks of the machine: the cost models write it, the engine reads it. An op never knows another op, the
// engine never sees a topology or a GEMM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "overlap/ids.hpp"
#include "overlap/units.hpp"

namespace overlap {

// A fluid resource used at `weight` bytes/s per byte/s of the flow's rate.
struct Use {
  ResourceId resource;
  double weight = 1.0;
};

enum class DemandKind : std::uint8_t {
  fixed,  // `latency` alone
  fluid,  // `latency`, then `work` at the max-min rate over `uses`, at most `cap`
  tiles,  // a tiled kernel over the SMs that are free; see TileDemand
  store,  // issues `work` bytes into `tank` at `cap`; the tank drains over `uses` (remote stores)
};

// Slots that each member holds from admission to its end, all of them at once.
struct SlotNeed {
  PoolId pool;  // of the op's first member; member i holds slots of the same kind on its own device
  std::uint32_t count = 0;
  std::uint32_t cluster = 1;  // slots that must lie in one group of the pool (SlotPool::groups)
};

struct Demand {
  DemandKind kind = DemandKind::fixed;
  std::uint32_t tiles = 0;  // index into Demands::tiles for DemandKind::tiles
  Seconds latency;          // from begin to the first byte; also the whole of `fixed`
  Seconds tail;             // from the last byte (tile) to completion as others see it (flag, fence)
  Bytes work;
  Bandwidth cap = Bandwidth(1e300);
  // Of an op that holds SMs: `cap` is divided by 1 + (beside - 1) times the share of its devices' SMs that run tiles
  // (of the busiest device).
  double beside = 1.0;
  double share = 1.0;  // fairness weight: two flows alone on a resource get rates in the ratio of their shares
  Range uses;          // into Demands::uses; many ops may share one range
  Range slots;         // into Demands::slots
  TankId tank;
  friend bool operator==(const Demand&, const Demand&) = default;
};

// The demands of all ops, by OpId. A million ops mostly ask for the same few hundred things: each is kept once, so that
// a run finds it in the cache.
class OpDemands {
 public:
  OpDemands() = default;
  OpDemands(std::initializer_list<Demand> demands) {
    for (const Demand& d : demands) push_back(d);
  }
  [[nodiscard]] std::size_t size() const { return place_.size(); }
  [[nodiscard]] const Demand& operator[](std::size_t op) const { return different_[place_[op]]; }
  void reserve(std::size_t ops) { place_.reserve(ops); }
  void push_back(const Demand& d) { place_.push_back(keep(d)); }
  void set(std::size_t op, const Demand& d) { place_[op] = keep(d); }

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Demand;
    using difference_type = std::ptrdiff_t;
    using pointer = const Demand*;
    using reference = const Demand&;
    Iterator() = default;
    Iterator(const OpDemands* all, std::size_t op) : all_(all), op_(op) {}
    reference operator*() const { return (*all_)[op_]; }
    pointer operator->() const { return &(*all_)[op_]; }
    Iterator& operator++() {
      ++op_;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++op_;
      return before;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const OpDemands* all_ = nullptr;
    std::size_t op_ = 0;
  };
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size()}; }

 private:
  std::uint32_t keep(const Demand& d);
  void grow();

  std::vector<Demand> different_;
  std::vector<std::uint32_t> place_;  // by op, in different_
  std::vector<std::uint32_t> table_;  // by hash: place in different_, or kFree
};

// How a kernel's tiles take SMs when others hold some.
enum class TileScheduler : std::uint8_t {
  dynamic,            // ordinary grid or work stealing: takes and gives SMs at tile boundaries
  static_persistent,  // grid fixed at launch: worker i runs tiles i, i+W, ...; a worker without an SM starts late
  carve_out,          // told to use fewer SMs from the start
  persistent,         // grid fixed at launch: a worker keeps its SM while tiles are left for it; see engine.hpp
};

// A kernel of `tiles` equal tiles. A worker (one SM, or a part of one when occupancy > 1) runs tiles one after another.
struct TileDemand {
  PoolId pool;                // SM pool
  std::uint32_t workers = 0;  // most SMs it uses at once
  std::uint32_t cluster = 1;  // SMs that it takes together, of one group of the pool (SlotPool::groups)
  TileScheduler scheduler = TileScheduler::dynamic;
  Seconds tile_time;       // of one tile on a machine of its own
  Seconds first_tile;      // extra of the first tile of a worker (fill); part of admission to the first tile
  Seconds finish;          // from the last tile to the end of the kernel
  Bytes tile_traffic;      // HBM bytes of one tile; the rate at which they flow alone is traffic / time
  Range part_tiles;        // into Demands::part_tiles: tiles of each part, in index order
  double last_wave = 1.0;  // time of a last, partly filled wave, in tile times
  double mma_share =
      1.0;  // share of the tile time in which MMAs run: its load on a power cap, and what a cap stretches
};

struct Demands {
  OpDemands ops;
  std::vector<TileDemand> tiles;
  std::vector<std::uint32_t> part_tiles;
  std::vector<Use> uses;
  std::vector<SlotNeed> slots;
};

}  // namespace overlap
