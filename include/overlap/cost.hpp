// Cost models: op -> Demand, machine -> Resources. One file and one table line each (src/cost/table.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "overlap/demand.hpp"
#include "overlap/device.hpp"
#include "overlap/engine.hpp"
#include "overlap/op_graph.hpp"
#include "overlap/topology.hpp"
#include "overlap/workload.hpp"

namespace overlap {

enum class ComputeModel : std::uint8_t {
  ideal,     // FLOPs over peak and nothing else: the model under which closed forms match
  roofline,  // max of FLOPs over peak and bytes over HBM rate
  tile,      // tiles, waves, L2 reuse, split-K: the product
};
enum class NetworkModel : std::uint8_t {
  fluid,       // latency + max-min over the route
  alpha_beta,  // latency + bytes over the route's slowest link, blind to contention (injection limits kept)
};

// Effects that can be taken out one at a time, to say what explains a difference.
struct Effects {
  bool launch = true;            // stream, event and launch costs
  bool latency = true;           // link latency
  bool hbm = true;               // HBM sharing between compute and communication
  bool sm_slots = true;          // SM-driven movers take SMs away from GEMMs
  bool copy_engines = true;      // finite number of copy engines
  bool decomposition = true;     // small GEMMs are less efficient (tile and wave quantization)
  bool accumulate = true;        // C is read again for beta = 1
  bool injection_limits = true;  // per-device caps
  bool power = true;
};

// Known effects outside max-min sharing; off (neutral) unless a config sets them, never a bent link rate.
struct NetworkPenalties {
  double root_complex_p2p = 1.0;  // factor on the rate of peer copies that cross a NUMA node (1 = none)
};

struct CostOptions {
  ComputeModel compute = ComputeModel::tile;
  NetworkModel network = NetworkModel::fluid;
  Effects effects;
  NetworkPenalties penalties;
  bool own_kernels = false;  // copies by SMs and codecs are this project's kernels (Device::own_kernels)
};

// Traffic that is there whatever the schedule does (a neighbour job, a host copy).
struct Traffic {
  NodeId from;
  NodeId to;
  std::vector<LinkId> route;
  Bandwidth rate;  // at most; shares links by max-min like any flow
  Seconds start;
  Seconds stop = kForever;
};

// Plans of GEMMs on the devices of one machine, kept from graph to graph and from effect to effect. Any thread.
class GemmPlans;
std::shared_ptr<GemmPlans> make_gemm_plans();

struct Machine {
  const Topology& topology;
  std::span<const Device> devices;           // by rank
  std::span<const Traffic> background = {};  // becomes Resources::background
  GemmPlans* plans = nullptr;                // of these devices; null: every graph is planned anew
};

struct Priced {
  Demands demands;
  Resources resources;
};

// Prices every op. Throws InputError when a device file lacks what an op needs (an unknown dtype, no SM count).
Priced price(const OpGraph& graph, const Machine& machine, const CostOptions& options);

// price() with one more effect off: what the effect does not touch is taken over from `demands`, as
// price() gives them with it on.
Priced price_without(bool Effects::*effect, const OpGraph& graph, const Machine& machine, const CostOptions& options,
                     const Demands& demands);

// Lone time of a GEMM, launch and stream costs excluded.
Seconds gemm_time(const Device& device, GemmShape shape, DType operand, DType output, bool accumulate,
                  ComputeModel model, const Effects& effects = {});
// The same from kept plans; they must be of a machine to which the device belongs. Null: planned anew.
Seconds gemm_time(GemmPlans* plans, const Device& device, GemmShape shape, DType operand, DType output, bool accumulate,
                  ComputeModel model, const Effects& effects);

// FLOPs over peak: never a model's time; for bounds.
Seconds ideal_gemm_time(const Device& device, GemmShape shape, DType operand);

}  // namespace overlap
