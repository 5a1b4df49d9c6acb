// Which numeric inputs matter: each 1 % larger (a count: one more where 1 % is less than one), everything else as it
// is.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cli/parallel.hpp"
#include "cli/scaled_topology.hpp"
#include "overlap/run.hpp"

namespace overlap {
namespace {

constexpr double kMore = 1.01;

// A private copy of what may be moved.
struct Inputs {
  std::vector<Device> devices;
  Workload workload;
  LinkScale links;
};
struct Move {
  std::string name;
  std::function<void(Inputs&)> apply;
};

void more(std::uint32_t& count) {
  count = std::max(count + 1, static_cast<std::uint32_t>(std::lround(count * kMore)));
}

template <class F>
void each(std::vector<Move>& out, const std::string& device, std::string_view name, F change) {
  out.push_back({fmt::format("{} {}", device, name), [device, change](Inputs& in) {
                   for (Device& d : in.devices) {
                     if (d.name == device) change(d);
                   }
                 }});
}

void device_moves(std::vector<Move>& out, const Device& d, DType operand) {
  const auto add = [&](std::string_view name, auto change) { each(out, d.name, name, change); };
  add("SM count", [](Device& x) {
    const std::uint32_t before = x.sms;
    more(x.sms);
    if (!x.sm_groups.empty()) x.sm_groups.back() += x.sms - before;
  });
  add("clock", [](Device& x) { x.clock *= kMore; });
  add(fmt::format("peak {} rate", to_text(operand)), [operand](Device& x) {
    auto& peak = x.peak[static_cast<std::size_t>(operand)];
    if (peak) *peak *= kMore;
  });
  add("L2 size", [](Device& x) { x.l2 *= kMore; });
  add("memory size", [](Device& x) { x.memory *= kMore; });
  add("HBM rate", [](Device& x) { x.hbm *= kMore; });
  add("HBM efficiency", [](Device& x) { x.hbm_efficiency *= kMore; });
  add("copy engines", [](Device& x) { more(x.copy_engines); });
  add("collective channels", [](Device& x) { more(x.collective_channels); });
  add("MMA efficiency", [](Device& x) { x.gemm.mma_efficiency *= kMore; });
  add("GEMM fixed time", [](Device& x) { x.gemm.fixed *= kMore; });
  add("tile fill and drain time", [](Device& x) { x.gemm.tile *= kMore; });
  add("L2 bytes per clock", [](Device& x) { x.gemm.l2_bytes_per_clock *= kMore; });
  add("GEMM HBM efficiency", [](Device& x) { x.gemm.hbm_efficiency *= kMore; });
  add("power floor", [](Device& x) { x.gemm.power_floor *= kMore; });
  add("power time constant", [](Device& x) { x.gemm.power_time *= kMore; });
  add("split-K time", [](Device& x) { x.gemm.split_k *= kMore; });
  add("accumulate share", [](Device& x) { x.gemm.accumulate_share *= kMore; });
  add("kernel gap", [](Device& x) { x.stream.kernel_gap *= kMore; });
  add("satisfied-wait cost", [](Device& x) { x.stream.satisfied_wait *= kMore; });
  add("local-wait cost", [](Device& x) { x.stream.local_wait *= kMore; });
  add("remote-wait cost", [](Device& x) { x.stream.remote_wait *= kMore; });
  add("copy start cost", [](Device& x) { x.stream.copy_start *= kMore; });
  add("copy gap", [](Device& x) { x.stream.copy_gap *= kMore; });
  add("collective start cost", [](Device& x) { x.stream.collective_start *= kMore; });
  add("release and join path", [](Device& x) { x.stream.release_join *= kMore; });
  if (d.power) {
    add("power onset", [](Device& x) { x.power->onset *= kMore; });
    add("power ratio", [](Device& x) { x.power->steady_ratio *= kMore; });
    add("power ramp", [](Device& x) { x.power->ramp *= kMore; });
  }
}

std::vector<Move> all_moves(const Experiment& e, const Workload& w) {
  std::vector<Move> out;
  out.push_back({"layer tokens", [](Inputs& in) { more(in.workload.tokens); }});
  out.push_back({"layer in", [](Inputs& in) { more(in.workload.in); }});
  out.push_back({"layer out", [](Inputs& in) { more(in.workload.out); }});
  std::vector<LinkKind> kinds;
  for (const Link& l : e.topology.links()) {
    if (std::find(kinds.begin(), kinds.end(), l.kind) == kinds.end()) kinds.push_back(l.kind);
  }
  for (const LinkKind k : kinds) {
    out.push_back({fmt::format("{} rate", to_text(k)), [k](Inputs& in) { in.links = {k, kMore, 1.0, 1.0}; }});
    out.push_back({fmt::format("{} latency", to_text(k)), [k](Inputs& in) { in.links = {k, 1.0, kMore, 1.0}; }});
  }
  const auto& nodes = e.topology.nodes();
  if (std::any_of(nodes.begin(), nodes.end(), [](const Node& n) { return n.injection || n.ejection; })) {
    out.push_back({"injection and ejection limits", [](Inputs& in) { in.links = {std::nullopt, 1.0, 1.0, kMore}; }});
  }
  std::vector<std::string> seen;
  for (const Device& d : e.devices) {
    if (std::find(seen.begin(), seen.end(), d.name) != seen.end()) continue;
    seen.push_back(d.name);
    device_moves(out, d, w.operand);
  }
  return out;
}

Seconds makespan(const Experiment& e, const Topology& topology, const Inputs& in, const ScheduleRequest& request) {
  const Machine machine{topology, in.devices, e.background};
  const ScheduleContext context{in.workload, topology, in.devices, request.params};
  return run_layer(*request.info, context, machine, e.cost, e.simulation, e.start_delay).timeline.makespan;
}

}  // namespace

std::vector<Sensitivity> sensitivities(const Experiment& e, const Workload& workload, const ScheduleRequest& request) {
  const Inputs as_is{e.devices, workload, {}};
  const Seconds base = makespan(e, e.topology, as_is, request);
  const std::vector<Move> moves = all_moves(e, workload);
  std::vector<Sensitivity> out(moves.size());
  for_each_index(moves.size(), [&](std::size_t i) {
    Inputs in = as_is;
    moves[i].apply(in);
    const bool links = in.links.rate != 1.0 || in.links.latency != 1.0 || in.links.limits != 1.0;
    const Seconds t =
        links ? makespan(e, scaled(e.topology, in.links), in, request) : makespan(e, e.topology, in, request);
    const double change = t / base - 1.0;
    out[i] = {moves[i].name, std::abs(change) < 1e-12 ? 0.0 : change};
  });
  std::stable_sort(out.begin(), out.end(),
                   [](const Sensitivity& a, const Sensitivity& b) { return std::abs(a.effect) > std::abs(b.effect); });
  return out;
}

}  // namespace overlap
