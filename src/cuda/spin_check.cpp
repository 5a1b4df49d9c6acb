#include "cuda/spin_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "overlap/error.hpp"

namespace overlap::cuda {
namespace {

// Ops that are reached from `from` backwards, over hard edges and, if asked, soft ones; `stop` is not entered.
std::vector<bool> backwards(const LaunchEdges& edges, std::vector<OpId> from, bool soft,
                            const std::vector<bool>* stop) {
  std::vector<bool> seen(edges.hard.size(), false);
  while (!from.empty()) {
    const OpId op = from.back();
    from.pop_back();
    if (seen[op.index()] || (stop != nullptr && (*stop)[op.index()])) continue;
    seen[op.index()] = true;
    from.insert(from.end(), edges.hard[op.index()].begin(), edges.hard[op.index()].end());
    if (soft) from.insert(from.end(), edges.soft[op.index()].begin(), edges.soft[op.index()].end());
  }
  return seen;
}

// SMs that must be free at once for the op to make progress on this GPU. A copy within one GPU is a kernel.
std::uint32_t sms_needed(const Op& op, Execution how, bool copies_here, std::uint32_t devices_here,
                         const PlanOptions& options) {
  switch (how) {
    case Execution::copy_engine:
      return copies_here ? 1 : 0;
    case Execution::library_collective: {
      const auto& c = std::get<Collective>(op.work);
      return c.channels > 0 ? c.channels : options.channels;
    }
    case Execution::copy_collective: {
      const auto kind = std::get<Collective>(op.work).kind;
      const bool adds = kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_reduce;
      return adds || devices_here > 1 ? 1 : 0;
    }
    case Execution::epilogue_store:
      return 0;
    default:
      return 1;
  }
}

class SpinCheck {
 public:
  SpinCheck(const OpGraph& graph, const LaunchEdges& edges, const std::vector<Execution>& how, const DeviceMap& map,
            const PlanOptions& options)
      : graph_(graph), edges_(edges), how_(how), map_(map), options_(options) {}

  void run() {
    collect_waiters();
    for (const auto& [gpu, lanes] : held_) check_sum(gpu, lanes);
    for (const OpId waiter : waiters_) check_waiter(waiter);
  }

 private:
  struct Hold {
    std::uint32_t sms = 0;
    OpId op;
  };
  [[nodiscard]] std::string name(OpId op) const {
    return fmt::format("'{}' (op {})", graph_.text(graph_.op(op).label), op.v);
  }
  [[nodiscard]] std::uint32_t gpu_of(OpId op) const { return map_.gpu_of[graph_.device_of(graph_.op(op)).index()]; }

  [[nodiscard]] bool touches_only(const Op& op, std::uint32_t gpu) const {
    for (const Range r : {op.reads, op.writes}) {
      for (const Slice& s : graph_.slices(r)) {
        if (map_.gpu_of[graph_.buffer(s.buffer).device.index()] != gpu) return false;
      }
    }
    return true;
  }

  void collect_waiters() {
    for (std::size_t i = 0; i < how_.size(); ++i) {
      if (how_[i] != Execution::fused_gemm || edges_.soft[i].empty()) continue;
      const OpId op(i);
      const std::vector<bool> before = backwards(edges_, edges_.hard[i], true, nullptr);
      const auto& soft = edges_.soft[i];
      if (std::all_of(soft.begin(), soft.end(), [&](OpId p) { return before[p.index()]; })) continue;
      waiters_.push_back(op);
      Hold& hold = held_[gpu_of(op)][graph_.lane_refs(graph_.op(op).lanes)[0]];
      const std::uint32_t sms = fused_sms(graph_, op, map_, options_);
      if (sms > hold.sms) hold = {sms, op};
    }
  }

  void check_sum(std::uint32_t gpu, const std::map<LaneId, Hold>& lanes) const {
    std::uint32_t sum = 0;
    OpId first;
    for (const auto& [lane, hold] : lanes) {
      sum += hold.sms;
      if (!first.valid()) first = hold.op;
      if (sum > options_.sms) {
        throw CheckError(fmt::format(
            "{} and {} may both spin on GPU {} and hold {} of its {} SMs: give each kernel fewer SMs (max_sms), or run "
            "fused Gemms as chunks",
            name(first), name(hold.op), gpu, sum, options_.sms));
      }
    }
  }

  void check_waiter(OpId waiter) const {
    const std::vector<bool> before = backwards(edges_, edges_.hard[waiter.index()], true, nullptr);
    const std::vector<bool> producers = backwards(edges_, edges_.soft[waiter.index()], true, &before);
    const std::uint32_t gpu = gpu_of(waiter);
    std::uint32_t held = 0;
    for (const auto& [lane, hold] : held_.at(gpu)) held += hold.sms;
    for (std::size_t i = 0; i < producers.size(); ++i) {
      if (!producers[i] || std::find(waiters_.begin(), waiters_.end(), OpId(i)) != waiters_.end()) continue;
      const Op& op = graph_.ops()[i];
      bool here = false;
      for (const LaneId lane : graph_.lane_refs(op.lanes)) {
        here = here || map_.gpu_of[graph_.lane(lane).device.index()] == gpu;
      }
      const std::uint32_t need =
          here ? sms_needed(op, how_[i], touches_only(op, gpu), map_.devices_on(gpu), options_) : 0;
      if (need > 0 && held + need > options_.sms) refuse(waiter, OpId(i), gpu, held, need);
    }
  }

  [[noreturn]] void refuse(OpId waiter, OpId producer, std::uint32_t gpu, std::uint32_t held,
                           std::uint32_t need) const {
    throw CheckError(fmt::format(
        "{} spins for {} on GPU {}, but spinning kernels hold {} of its {} SMs and that op needs {}: it would never "
        "start. Move the data with copy engines, give the kernel fewer SMs (max_sms), or run fused Gemms as chunks",
        name(waiter), name(producer), gpu, held, options_.sms, need));
  }

  const OpGraph& graph_;
  const LaunchEdges& edges_;
  const std::vector<Execution>& how_;
  const DeviceMap& map_;
  const PlanOptions& options_;
  std::vector<OpId> waiters_;
  std::map<std::uint32_t, std::map<LaneId, Hold>> held_;  // by GPU: the largest spinning kernel of each lane
};

}  // namespace

std::uint32_t fused_sms(const OpGraph& graph, OpId op, const DeviceMap& map, const PlanOptions& options) {
  const std::uint32_t gpu = map.gpu_of[graph.device_of(graph.op(op)).index()];
  const std::uint32_t devices = map.devices_on(gpu);
  // Devices that share a GPU copy to each other with kernels: some SMs stay free for those.
  const std::uint32_t spare = devices > 1 ? std::min(4U, options.sms / 2) : 0;
  const std::uint32_t share = std::max(1U, (options.sms - spare) / devices);
  const std::uint32_t bound = std::get<Gemm>(graph.op(op).work).max_sms;
  return bound > 0 ? std::min(bound, share) : share;
}

void check_spinning(const OpGraph& graph, const LaunchEdges& edges, const std::vector<Execution>& how,
                    const DeviceMap& map, const PlanOptions& options) {
  SpinCheck(graph, edges, how, map, options).run();
}

}  // namespace overlap::cuda
