// The state of one price() call: resources by place in the machine, interned ranges of uses and slots, GEMM plans by
// shape. A million transfers between the same devices share one range of uses.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "cost/flat_map.hpp"
#include "cost/gemm_plan.hpp"

namespace overlap::cost {

// Fairness weight of GEMMs and of memory-bound work of the device itself against copies over links, which go first.
inline constexpr double kLocalShare = 1e-3;

class Pricer {
 public:
  Pricer(const OpGraph& graph, const Machine& machine, const CostOptions& options);
  Priced run();
  // run() where the options lack an effect that `with` was priced with: prices that do not hang on it are taken over.
  Priced run_without(bool Effects::*effect, const Demands& with);

 private:
  // resources.cpp
  void make_resources();
  void make_background();  // background.cpp
  [[nodiscard]] ResourceId hbm_of(DeviceId d) const { return hbm_[d.index()]; }
  [[nodiscard]] PoolId sm_pool(DeviceId d) const { return PoolId(3 * d.index()); }
  [[nodiscard]] PoolId copy_pool(DeviceId d) const { return PoolId(3 * d.index() + 1); }
  [[nodiscard]] PoolId mma_pool(DeviceId d) const { return PoolId(3 * d.index() + 2); }

  // network.cpp
  void add_route(std::vector<Use>& uses, DeviceId a, DeviceId b, double weight) const;
  void add_hbm(std::vector<Use>& uses, DeviceId d, double weight) const;
  Range intern(std::vector<Use>& uses);
  [[nodiscard]] bool same_uses(Range range) const;  // as merged_
  Range slots(PoolId pool, std::uint32_t count, std::uint32_t cluster = 1);
  Range copy_slot(DeviceId d) {  // one copy engine
    Range& known = copy_slots_[d.index()];
    if (known.empty()) known = slots(copy_pool(d), 1);
    return known;
  }
  struct Pair {
    Range uses;
    Seconds latency;
    Bandwidth route;  // rate of the route alone; infinite within a device
  };
  const Pair& pair(DeviceId a, DeviceId b);
  Range store_uses(DeviceId a, DeviceId b);
  Demand transfer(const Op& op, const Transfer& t);
  Demand fan(const Op& op, const Transfer& t);

  // collective.cpp
  Demand collective(const Op& op, const Collective& c);
  void find_broken_chains();

  // price.cpp
  Demand demand(const Op& op);
  Demand gemm(const Op& op, const Gemm& g);
  Demand price_gemm(DeviceId dev, const Gemm& g, DType output, Seconds saved);
  Seconds saved_behind(DeviceId dev, Seconds lone);
  Demand elementwise(const Op& op, const Elementwise& e);
  void price_codec(const Op& op, const Elementwise& e, Demand& d) const;
  std::uint32_t tile_demand(DeviceId d, const Gemm& g, const GemmPlan& plan);
  [[nodiscard]] const Device& device(DeviceId d) const { return machine_.devices[d.index()]; }
  [[nodiscard]] Bandwidth copy_rate(DeviceId d) const { return device(d).hbm * device(d).hbm_efficiency; }

  const OpGraph& graph_;
  const Machine& machine_;
  const CostOptions& options_;
  Priced out_;
  std::vector<ResourceId> link_, injection_, ejection_;  // by LinkId, NodeId; invalid where there is no limit
  std::vector<ResourceId> both_ways_;                    // by LinkId: what both directions reach together
  std::vector<ResourceId> hbm_;                          // by DeviceId
  std::vector<ResourceId> port_;                         // by DeviceId; invalid where copies do not slow GEMMs
  std::vector<ResourceId> drain_;                        // by DeviceId: remote stores; empty where nobody stores
  std::vector<char> broken_;         // by OpId: a collective behind another op of its lane, with an event between them
  std::vector<std::uint32_t> like_;  // by DeviceId: first device of the same name
  FlatMap<Pair> pairs_;
  FlatMap<Range> store_pairs_;
  FlatMap<Range> slot_ranges_;
  std::vector<Range> copy_slots_;  // by DeviceId; empty: not asked for yet
  FlatMap<Range> use_sets_;        // by hash of the uses
  // A GEMM on a device, by hash of what its price depends on.
  struct PricedGemm {
    std::vector<std::uint32_t> key;
    Demand demand;
    Seconds lone;
  };
  const PricedGemm& priced(DeviceId dev, const Gemm& g, DType output, Seconds saved);
  FlatMap<PricedGemm> gemms_;
  std::map<std::vector<std::uint32_t>, GemmPlan> plans_;
  std::vector<std::uint32_t> gemm_key_;  // of the GEMM at hand
  Seconds lone_;                         // of the GEMM priced last
  std::vector<Seconds> load_;            // by DeviceId: GEMMs so far
  std::vector<Use> uses_, merged_;       // of the op at hand
  Range known_uses_, known_slots_;       // of the op at hand among the prices that run_without() began with
};

// Phases of a collective among `devices`: what a byte of the whole buffer costs on each ordered pair.
struct PairShare {
  DeviceId from, to;
  double bytes_per_byte;
};
struct CollectivePlan {
  std::vector<PairShare> pairs;
  std::uint32_t steps = 1;  // hops one after the other, each with a route's latency
  double in_switch_up = 0;  // bytes a member sends into (gets out of) a multicasting switch per byte of the buffer
  double in_switch_down = 0;
};
CollectivePlan plan_collective(CollectiveKind kind, CollectiveAlgorithm algorithm, std::span<const DeviceId> members,
                               const Topology& topology);

}  // namespace overlap::cost
