// Where the predicted and the measured timeline of one record part, and what each effect is worth over all records.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "validate/report.hpp"

namespace overlap::validation {
namespace {

struct Switch {
  std::string_view name;
  void (*off)(CostOptions&);
};
constexpr Switch kSwitches[] = {
    {"tiles (roofline instead)", [](CostOptions& c) { c.compute = ComputeModel::roofline; }},
    {"decomposition", [](CostOptions& c) { c.effects.decomposition = false; }},
    {"launch, event and join costs", [](CostOptions& c) { c.effects.launch = false; }},
    {"SM slots of collectives", [](CostOptions& c) { c.effects.sm_slots = false; }},
    {"accumulation", [](CostOptions& c) { c.effects.accumulate = false; }},
    {"HBM contention", [](CostOptions& c) { c.effects.hbm = false; }},
    {"start of transfers", [](CostOptions& c) { c.effects.latency = false; }},
    {"busy node (clock)", [](CostOptions& c) { c.effects.power = false; }},
    {"all of them: bare roofline",
     [](CostOptions& c) {
       c.compute = ComputeModel::roofline;
       c.effects = {false, false, false, false, false, false, false, true, false};
     }},
};

const Accuracy& group(const Validation& v, std::string_view name) {
  for (const Accuracy& a : v.groups) {
    if (a.name == name) return a;
  }
  return v.overall;
}

// Names that the measuring program gives to the ops of the replay graph.
std::string span_kind(const std::string& name) {
  if (name.starts_with("gemm")) return "gemm";
  return name.starts_with("push") ? "push" : name;
}

}  // namespace

std::string ablation_text(const RecordSet& set, const Device& device, const Topology& topology,
                          const ReplayOptions& options) {
  std::string out = fmt::format("{:<32} {:>15} {:>15} {:>15} {:>15} {:>12} {:>5}\n", "without", "all records",
                                "all schedules", "without NCCL", "with NCCL", "regret", "tau");
  const auto line = [&](std::string_view name, const ReplayOptions& o) {
    const Validation v = validate(set, device, topology, o);
    out += fmt::format("{:<32}", name);
    for (const std::string_view g : {"overall", "all schedules", "schedules without NCCL", "schedules with NCCL"}) {
      const Accuracy& a = group(v, g);
      out += fmt::format(" {:>7.2f}/{:>7.2f}", a.median_ape_pct, a.p90_ape_pct);
    }
    out += fmt::format(" {:>5.2f}/{:>6.2f} {:>5.2f}\n", v.picks.regret_mean_pct, v.picks.regret_max_pct, v.picks.tau);
  };
  line("nothing: the full model", options);
  for (const Switch& s : kSwitches) {
    ReplayOptions o = options;
    s.off(o.cost);
    line(s.name, o);
  }
  return out + "median / p90 absolute percentage error; regret mean/max % and Kendall's tau of the picks\n";
}

std::string explain_text(const Record& r, const Device& device, const Topology& topology,
                         const ReplayOptions& options) {
  const Replay p = replay(r, device, topology, options, 0);
  std::string out = fmt::format("{} d={} {}x{}x{} ({})\nmeasured {} ({} .. {}), predicted {} ({:+.2f} %)\n\n",
                                r.group(), r.d, r.shape.m, r.shape.n, r.shape.k, r.where, to_text(r.median),
                                to_text(r.min), to_text(r.max), to_text(p.total), 100 * (p.total / r.median - 1));
  // The i-th span of a kind on a device is the i-th op of that kind there.
  std::map<std::pair<std::string, std::uint32_t>, std::vector<const Span*>> spans;
  for (const Span& s : r.spans) spans[{span_kind(s.name), s.device.v}].push_back(&s);
  std::map<std::pair<std::string, std::uint32_t>, std::size_t> next;
  out += fmt::format("{:<4} {:<11} {:>21} {:>21} {:>10}\n", "gpu", "op", "predicted us", "measured us", "longer us");
  double longer_gemm = 0, longer_copy = 0;
  for (std::size_t i = 0; i < p.graph.ops().size(); ++i) {
    const Op& op = p.graph.ops()[i];
    for (const LaneId l : p.graph.lane_refs(op.lanes)) {
      const std::uint32_t dev = p.graph.lane(l).device.v;
      const std::string name = p.graph.text(op.label);
      const double begin = p.timeline.ops[i].begin.si() * 1e6, end = p.timeline.ops[i].end.si() * 1e6;
      std::size_t& k = next[{name, dev}];
      const auto it = spans.find({name, dev});
      out += fmt::format("{:<4} {:<11} {:>10.2f}..{:>9.2f}", dev, name, begin, end);
      if (it != spans.end() && k < it->second.size()) {
        const Span& s = *it->second[k++];
        const double longer = (s.end - s.begin).si() * 1e6 - (end - begin);
        (name == "gemm" ? longer_gemm : longer_copy) += dev == 0 ? longer : 0;
        out += fmt::format(" {:>10.2f}..{:>9.2f} {:>+10.2f}", s.begin.si() * 1e6, s.end.si() * 1e6, longer);
      }
      out += "\n";
    }
  }
  // Which effect, taken out, moves the prediction most.
  std::string_view most = "none";
  Seconds moved;
  for (const Switch& s : kSwitches) {
    if (&s == &kSwitches[std::size(kSwitches) - 1]) break;
    ReplayOptions o = options;
    s.off(o.cost);
    const Seconds t = replay(r, device, topology, o, 0).total;
    const Seconds by = t > p.total ? t - p.total : p.total - t;
    out += fmt::format("without {:<30} {:>10} ({:+.2f} %)\n", s.name, to_text(t), 100 * (t / p.total - 1));
    if (by > moved) moved = by, most = s.name;
  }
  out += fmt::format(
      "largest effect: {}; on gpu 0 the measured GEMMs are {:+.1f} us longer, the copies {:+.1f} us "
      "(spans include about 1.6 us of timing events each)\n",
      most, longer_gemm, longer_copy);
  return out;
}

}  // namespace overlap::validation
