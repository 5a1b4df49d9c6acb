// States a graph with hand-made demands in a few lines:
//   Bench b(2);
//   const auto link = b.fluid(10);
//   const OpId a = b.flow({0, 0}, 100, {link});
//   const Timeline t = b.run();
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "overlap/engine.hpp"
#include "overlap/graph_builder.hpp"

namespace overlap::test {

// Device and lane index; priority counts on the first use of the lane.
struct At {
  std::uint32_t device = 0;
  std::uint32_t lane = 0;
  std::int32_t priority = 0;
};

struct Tiled {
  std::vector<std::uint32_t> parts{1};  // tiles of each part
  std::uint32_t workers = 1;
  double tile = 1.0;     // seconds
  double traffic = 0.0;  // bytes a tile
  PoolId pool{};
  TileScheduler scheduler = TileScheduler::dynamic;
  PartOrder order = PartOrder::ready;
  double first_tile = 0.0;
  double finish = 0.0;
  double last_wave = 1.0;
  std::uint32_t cluster = 1;
  std::vector<std::vector<Dep>> waits{};  // by part
};

inline Elementwise elementwise(ElementwiseKind kind) {
  Elementwise e;
  e.kind = kind;
  return e;
}

class Bench {
 public:
  explicit Bench(std::uint32_t devices) : builder(devices) {}

  ResourceId fluid(double capacity, const std::string& name = "link") {
    resources.fluids.push_back({name, ResourceKind::link, Bandwidth(capacity)});
    return ResourceId(resources.fluids.size() - 1);
  }
  PoolId pool(std::uint32_t device, std::uint32_t count, PoolKind kind = PoolKind::sm) {
    resources.pools.push_back({DeviceId(device), kind, count});
    return PoolId(resources.pools.size() - 1);
  }
  TankId tank(double capacity) {
    resources.tanks.push_back({"tank", Bytes(capacity)});
    return TankId(resources.tanks.size() - 1);
  }

  LaneId lane(At at) { return builder.lane(DeviceId(at.device), at.lane, "lane", at.priority); }

  OpId fixed(At at, double seconds, std::vector<Dep> deps = {}) {
    Demand d;
    d.latency = Seconds(seconds);
    return add(at, d, deps);
  }
  OpId flow(At at, double bytes, std::vector<ResourceId> uses, std::vector<Dep> deps = {}, double cap = 1e300) {
    Demand d;
    d.kind = DemandKind::fluid;
    d.work = Bytes(bytes);
    d.cap = Bandwidth(cap);
    d.uses = use(uses);
    return add(at, d, deps);
  }
  OpId store(At at, double bytes, double cap, TankId tank, std::vector<ResourceId> uses, std::vector<Dep> deps = {}) {
    Demand d;
    d.kind = DemandKind::store;
    d.work = Bytes(bytes);
    d.cap = Bandwidth(cap);
    d.tank = tank;
    d.uses = use(uses);
    return add(at, d, deps);
  }
  // A collective over these lanes; every member holds `slots` of the first member's pool (and its like).
  OpId collective(std::vector<At> members, double seconds, std::vector<Dep> deps = {}, PoolId pool = {},
                  std::uint32_t slots = 0) {
    std::vector<LaneId> lanes;
    for (const At& at : members) lanes.push_back(lane(at));
    Demand d;
    d.latency = Seconds(seconds);
    demands.ops.push_back(d);
    const OpId id = builder.collective(lanes, Collective{}, {}, {}, {.deps = deps, .label = {}});
    if (slots > 0) need(id, pool, slots);
    return id;
  }
  OpId kernel(At at, const Tiled& t, std::vector<Dep> deps = {}, std::vector<ResourceId> uses = {}) {
    TileDemand tiles;
    tiles.pool = t.pool;
    tiles.workers = t.workers;
    tiles.scheduler = t.scheduler;
    tiles.tile_time = Seconds(t.tile);
    tiles.tile_traffic = Bytes(t.traffic);
    tiles.first_tile = Seconds(t.first_tile);
    tiles.finish = Seconds(t.finish);
    tiles.last_wave = t.last_wave;
    tiles.cluster = t.cluster;
    tiles.part_tiles.begin = static_cast<std::uint32_t>(demands.part_tiles.size());
    demands.part_tiles.insert(demands.part_tiles.end(), t.parts.begin(), t.parts.end());
    tiles.part_tiles.end = static_cast<std::uint32_t>(demands.part_tiles.size());
    Demand d;
    d.kind = DemandKind::tiles;
    d.tiles = static_cast<std::uint32_t>(demands.tiles.size());
    d.uses = use(uses);
    demands.tiles.push_back(tiles);
    demands.ops.push_back(d);
    Gemm gemm;
    gemm.order = t.order;
    const OpId id = builder.fused_gemm(lane(at), gemm, {.deps = deps, .label = {}});
    for (std::size_t p = 0; p < t.parts.size(); ++p) {
      PartSpec spec;
      if (p < t.waits.size()) spec.waits = t.waits[p];
      builder.part(id, spec);
    }
    return id;
  }

  // Changes the demand of an op that was added: `demand(op)->tail = ...`, until the end of the statement.
  struct Changed {
    OpDemands& all;
    OpId op;
    Demand now;
    Changed(OpDemands& demands, OpId which) : all(demands), op(which), now(demands[which.index()]) {}
    Changed(const Changed&) = delete;
    Changed& operator=(const Changed&) = delete;
    ~Changed() { all.set(op.index(), now); }
    Demand* operator->() { return &now; }
  };
  Changed demand(OpId op) { return {demands.ops, op}; }
  void need(OpId op, PoolId pool, std::uint32_t count, std::uint32_t cluster = 1) {
    demands.slots.push_back({pool, count, cluster});
    const auto end = static_cast<std::uint32_t>(demands.slots.size());
    demand(op)->slots = {end - 1, end};
  }
  // Part `index` of a kernel, as a dependency.
  [[nodiscard]] Dep part(OpId kernel, std::uint32_t index) const {
    return {kernel, PartId(std::get<Gemm>(builder.graph().op(kernel).work).parts.begin + index)};
  }

  [[nodiscard]] Timeline run(const SimOptions& options) const {
    return simulate(builder.graph(), demands, resources, options);
  }
  [[nodiscard]] Timeline run() const {
    SimOptions options;
    options.check_certificate = true;
    return run(options);
  }

  GraphBuilder builder;
  Demands demands;
  Resources resources;

 private:
  OpId add(At at, const Demand& d, const std::vector<Dep>& deps) {
    demands.ops.push_back(d);
    return builder.elementwise(lane(at), elementwise(ElementwiseKind::delay), {}, {}, {.deps = deps, .label = {}});
  }
  Range use(const std::vector<ResourceId>& uses) {
    const auto begin = static_cast<std::uint32_t>(demands.uses.size());
    for (const ResourceId r : uses) demands.uses.push_back({r, 1.0});
    return {begin, static_cast<std::uint32_t>(demands.uses.size())};
  }
};

inline double end_of(const Timeline& t, OpId op) {
  return t.ops[op.index()].end.si();
}
inline double begin_of(const Timeline& t, OpId op) {
  return t.ops[op.index()].begin.si();
}
inline Dep on(OpId op) {
  return {op, PartId()};
}

}  // namespace overlap::test
