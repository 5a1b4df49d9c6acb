#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/run.hpp"
#include "overlap/error.hpp"

namespace overlap::engine {
namespace {

bool is_amount(double v) {
  return v >= 0.0 && v < kNever;  // false for NaN
}

class DemandCheck {
 public:
  DemandCheck(const OpGraph& graph, const Demands& demands, const Resources& resources)
      : graph_(graph), demands_(demands), resources_(resources) {
    check_resources();
    pools_ = PoolTable(resources.pools, graph.devices());
    // Ranges of uses and needs are shared by many ops: what they hold is looked at once, op by op only to name one.
    sound_uses_ = std::all_of(demands.uses.begin(), demands.uses.end(), [this](const Use& u) { return sound(u); });
    lone_needs_ = std::all_of(demands.slots.begin(), demands.slots.end(), [this](const SlotNeed& n) {
      return n.pool.index() < resources_.pools.size() && n.count <= resources_.pools[n.pool.index()].count;
    });
  }

  void run() const {
    if (demands_.ops.size() != graph_.ops().size()) {
      throw CheckError(fmt::format("{} ops but {} demands", graph_.ops().size(), demands_.ops.size()));
    }
    for (std::uint32_t i = 0; i < demands_.ops.size(); ++i) op(i);
    for (const TokenUse& u : graph_.token_uses()) {
      const bool known = u.token.index() < graph_.token_counts().size() && u.op.index() < graph_.ops().size();
      if (!known || u.take < 0 || u.give < 0) throw CheckError("a token use names an unknown op or token");
    }
  }

 private:
  [[noreturn]] void fail(std::uint32_t i, const std::string& what) const {
    throw CheckError(fmt::format("op {} ({}): {}", i, graph_.text(graph_.ops()[i].label), what));
  }

  void check_resources() const {
    for (const FluidResource& r : resources_.fluids) {
      if (!is_amount(r.capacity.si())) throw CheckError("resource " + r.name + " has no sound capacity");
    }
    for (const SlotPool& p : resources_.pools) {
      if (p.device.index() >= graph_.devices()) throw CheckError("a slot pool is on an unknown device");
    }
    for (const Tank& t : resources_.tanks) {
      if (!(t.capacity.si() > 0.0)) throw CheckError("tank " + t.name + " has no capacity");
    }
    if (!resources_.streams.empty() && resources_.streams.size() != graph_.devices()) {
      throw CheckError("stream costs must name every device, or none");
    }
    if (!resources_.power.empty() && resources_.power.size() != graph_.devices()) {
      throw CheckError("power caps must name every device, or none");
    }
    for (const BackgroundFlow& b : resources_.background) {
      if (!is_amount(b.start.si()) || !(b.cap.si() >= 0.0))
        throw CheckError("a background flow has no sound rate or start");
      for (const Use& u : b.uses) {
        if (u.resource.index() >= resources_.fluids.size())
          throw CheckError("a background flow uses an unknown resource");
      }
    }
  }

  void op(std::uint32_t i) const {
    const Demand& d = demands_.ops[i];
    if (!is_amount(d.latency.si()) || !is_amount(d.tail.si()))
      fail(i, "latency and tail must be finite and not negative");
    if (!is_amount(d.work.si())) fail(i, "work must be finite and not negative");
    if (!(d.beside >= 1.0) || !is_amount(d.beside)) fail(i, "beside must be at least 1");
    if (!(d.share > 0.0) || !is_amount(d.share)) fail(i, "share must be positive");
    if (!(d.cap.si() > 0.0)) fail(i, "cap must be positive");
    if (d.uses.end > demands_.uses.size() || d.slots.end > demands_.slots.size()) fail(i, "uses or slots out of range");
    for (std::uint32_t u = d.uses.begin; u < d.uses.end && !sound_uses_; ++u) {
      const Use& use = demands_.uses[u];
      if (use.resource.index() >= resources_.fluids.size()) fail(i, "uses an unknown resource");
      if (!is_amount(use.weight)) fail(i, "a weight must be finite and not negative");
    }
    if (!lone_needs_ || graph_.ops()[i].lanes.size() > 1) {
      for (std::uint32_t s = d.slots.begin; s < d.slots.end; ++s) slots(i, demands_.slots[s]);
    }
    if (d.kind == DemandKind::tiles) tiles(i, d);
    if (d.kind == DemandKind::store && d.tank.valid() && d.tank.index() >= resources_.tanks.size()) {
      fail(i, "stores into an unknown tank");
    }
  }

  [[nodiscard]] bool sound(const Use& u) const {
    return u.resource.index() < resources_.fluids.size() && is_amount(u.weight);
  }

  void slots(std::uint32_t i, const SlotNeed& need) const {
    if (need.pool.index() >= resources_.pools.size()) fail(i, "needs slots of an unknown pool");
    bool first = true;
    for (const LaneId lane : graph_.lane_refs(graph_.ops()[i].lanes)) {
      const DeviceId device = graph_.lane(lane).device;
      const PoolId pool = first ? need.pool : pools_.like(need.pool, device);
      first = false;
      if (!pool.valid()) fail(i, fmt::format("device {} has no such slots", device.v));
      const std::uint32_t count = resources_.pools[pool.index()].count;
      if (need.count > count) {
        fail(i, fmt::format("needs {} slots at once, device {} has {}", need.count, device.v, count));
      }
    }
  }

  void tiles(std::uint32_t i, const Demand& d) const {
    const Op& op = graph_.ops()[i];
    if (op.lanes.size() != 1) fail(i, "a tiled kernel has one member");
    if (d.tiles >= demands_.tiles.size()) fail(i, "names no tile demand");
    const TileDemand& t = demands_.tiles[d.tiles];
    if (t.workers == 0) fail(i, "a tiled kernel needs a worker");
    if (!is_amount(t.tile_time.si()) || !is_amount(t.first_tile.si()) || !is_amount(t.finish.si()) ||
        !is_amount(t.tile_traffic.si()) || !is_amount(t.last_wave) || !is_amount(t.mma_share)) {
      fail(i, "times and traffic of tiles must be finite and not negative");
    }
    if (t.part_tiles.end > demands_.part_tiles.size()) fail(i, "part tiles out of range");
    const Gemm* gemm = std::get_if<Gemm>(&op.work);
    if (gemm != nullptr && !gemm->parts.empty() && gemm->parts.size() != t.part_tiles.size()) {
      fail(i, fmt::format("{} parts but {} tile counts", gemm->parts.size(), t.part_tiles.size()));
    }
    if (!t.pool.valid()) return;
    if (t.pool.index() >= resources_.pools.size()) fail(i, "takes SMs of an unknown pool");
    if (resources_.pools[t.pool.index()].count == 0) fail(i, "takes SMs of an empty pool");
  }

  const OpGraph& graph_;
  const Demands& demands_;
  const Resources& resources_;
  PoolTable pools_;
  bool sound_uses_ = false;
  bool lone_needs_ = false;  // every need is met by its own pool: that is all an op with one member asks
};

}  // namespace

void check_demands(const OpGraph& graph, const Demands& demands, const Resources& resources) {
  DemandCheck(graph, demands, resources).run();
}

}  // namespace overlap::engine
