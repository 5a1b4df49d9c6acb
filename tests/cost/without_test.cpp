// Prices with one effect off, of which only what the effect touches is made anew, are those that are made anew in all.
#include "catch.hpp"
#include "overlap/config.hpp"
#include "overlap/cost.hpp"
#include "overlap/run.hpp"
#include "overlap/schedule.hpp"

using namespace overlap;

namespace {

struct Difference {
  const Demands& a;
  const Demands& b;

  [[nodiscard]] std::string of_ops() const {
    if (a.ops.size() != b.ops.size()) return "number of ops";
    for (std::size_t i = 0; i < a.ops.size(); ++i) {
      const std::string what = of(a.ops[i], b.ops[i]);
      if (!what.empty()) return what + " of op " + std::to_string(i);
    }
    return "";
  }

 private:
  [[nodiscard]] std::string of(const Demand& x, const Demand& y) const {
    if (x.kind != y.kind) return "kind";
    if (x.latency != y.latency || x.tail != y.tail) return "latency";
    if (x.work != y.work || x.cap != y.cap || x.beside != y.beside || x.share != y.share) return "rate";
    if (x.tank != y.tank) return "tank";
    if (x.uses.size() != y.uses.size() || x.slots.size() != y.slots.size()) return "number of resources";
    for (std::uint32_t u = 0; u < x.uses.size(); ++u) {
      const Use& p = a.uses[x.uses.begin + u];
      const Use& q = b.uses[y.uses.begin + u];
      if (p.resource != q.resource || p.weight != q.weight) return "resource";
    }
    for (std::uint32_t s = 0; s < x.slots.size(); ++s) {
      const SlotNeed& p = a.slots[x.slots.begin + s];
      const SlotNeed& q = b.slots[y.slots.begin + s];
      if (p.pool != q.pool || p.count != q.count || p.cluster != q.cluster) return "slots";
    }
    return x.kind == DemandKind::tiles ? of_tiles(a.tiles[x.tiles], b.tiles[y.tiles]) : "";
  }

  [[nodiscard]] std::string of_tiles(const TileDemand& x, const TileDemand& y) const {
    if (x.pool != y.pool || x.workers != y.workers || x.cluster != y.cluster || x.scheduler != y.scheduler)
      return "workers";
    if (x.tile_time != y.tile_time || x.first_tile != y.first_tile || x.finish != y.finish) return "tile time";
    if (x.last_wave != y.last_wave || x.mma_share != y.mma_share) return "last wave";
    if (x.tile_traffic != y.tile_traffic || x.part_tiles.size() != y.part_tiles.size()) return "tiles";
    for (std::uint32_t p = 0; p < x.part_tiles.size(); ++p) {
      if (a.part_tiles[x.part_tiles.begin + p] != b.part_tiles[y.part_tiles.begin + p]) return "tiles of a part";
    }
    return "";
  }
};

bool same_resources(const Resources& a, const Resources& b) {
  if (a.fluids.size() != b.fluids.size() || a.streams.size() != b.streams.size()) return false;
  for (std::size_t i = 0; i < a.fluids.size(); ++i) {
    if (a.fluids[i].name != b.fluids[i].name || a.fluids[i].capacity != b.fluids[i].capacity) return false;
  }
  return a.pools.size() == b.pools.size() && a.tanks.size() == b.tanks.size();
}

std::string experiment(const std::string& device, const std::string& topology) {
  std::string workloads;
  for (const char* pattern : {"ag+gemm", "gemm+rs", "gemm+ar", "a2a+gemm", "bulk"}) {
    workloads += std::string(workloads.empty() ? "" : ", ") + R"({"name": ")" + pattern + R"(", "pattern": ")" +
                 pattern + R"(", "tokens": 4096, "in": 4096, "out": 8192, "tp": 4})";
  }
  return R"({"device": ")" + device + R"(", "schedules": "all", "topology": ")" + topology + R"(", "workloads": [)" +
         workloads + "]}";
}

std::size_t compare_all(const Experiment& e) {
  std::size_t compared = 0;
  const Machine machine{e.topology, e.devices, e.background};
  for (const Workload& w : e.workloads) {
    for (const ScheduleRequest& r : e.schedules) {
      const ScheduleContext context{w, e.topology, e.devices, r.params};
      if (r.info->refuses(context)) continue;
      const OpGraph graph = build_layer(*r.info, context);
      const Priced all = price(graph, machine, e.cost);
      for (const EffectName& effect : effect_names()) {
        CostOptions without = e.cost;
        without.effects.*effect.member = false;
        const Priced anew = price(graph, machine, without);
        const Priced taken = price_without(effect.member, graph, machine, e.cost, all.demands);
        INFO(w.name << " " << r.info->name << " without " << effect.name);
        CHECK(Difference{taken.demands, anew.demands}.of_ops() == "");
        CHECK(same_resources(taken.resources, anew.resources));
        ++compared;
      }
    }
  }
  return compared;
}

}  // namespace

TEST_CASE("prices without one effect are what pricing the whole graph gives") {
  CHECK(compare_all(parse_experiment(experiment("h200", "h200x8-nvswitch"), "test")) > 300);
  CHECK(compare_all(parse_experiment(experiment("mi300x", "mi300x8-mesh"), "test")) > 200);
}

TEST_CASE("an effect that a machine does not have changes no number of a price") {
  Experiment e = parse_experiment(experiment("h200", "h200x8-nvswitch"), "test");
  e.cost.compute = ComputeModel::ideal;  // knows no power and no small GEMMs
  const Machine machine{e.topology, e.devices, e.background};
  const ScheduleInfo& info = find_schedule("interdecom");
  const Params params = complete_params(info, {});
  const OpGraph graph = build_layer(info, {e.workloads.front(), e.topology, e.devices, params});
  const Demands all = price(graph, machine, e.cost).demands;
  const Demands taken = price_without(&Effects::decomposition, graph, machine, e.cost, all).demands;
  CHECK(taken.uses.size() == all.uses.size());
  for (std::size_t i = 0; i < all.ops.size(); ++i) CHECK(taken.ops[i].uses == all.ops[i].uses);
}
