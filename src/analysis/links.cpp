// What each resource carried, how long it was busy and how full.
#include <algorithm>
#include <cmath>

#include "analysis/cut_bytes.hpp"
#include "analysis/intervals.hpp"
#include "overlap/analysis.hpp"

namespace overlap {
namespace {

// When an op's flow was on its resources.
Interval flow_interval(const Demand& d, const OpTimes& t) {
  return {std::min(t.begin + d.latency, t.end), std::max(t.begin, t.end - d.tail)};
}

}  // namespace

namespace {

// A resource while the dates go by.
struct Line {
  std::uint32_t active = 0;
  std::uint32_t most = 0;
  bool used = false;
  Seconds open;      // begin of the busy time that lasts
  Seconds last_end;  // of a flow
  Seconds busy;      // before `open`

  void begin(Seconds t) {
    if (active == 0 && (!used || t > last_end)) {
      if (used) busy += last_end - open;
      open = t;
      used = true;
    }
    most = std::max(most, ++active);
  }
  void end(Seconds t) {
    --active;
    last_end = t;
  }
};

// All begins and ends in order of date; where flows end and others begin at one date, the ends come first.
std::vector<Line> sweep(const RunView& run) {
  std::vector<Seconds> begins;
  std::vector<Seconds> ends;
  std::vector<Range> uses;
  begins.reserve(run.demands.ops.size());
  ends.reserve(run.demands.ops.size());
  uses.reserve(run.demands.ops.size());
  for (std::size_t i = 0; i < run.demands.ops.size(); ++i) {
    const Demand& d = run.demands.ops[i];
    if (d.uses.empty() || !(work_of(d, run.demands) > Bytes{})) continue;
    const Interval when = flow_interval(d, run.timeline.ops[i]);
    if (!(when.begin < when.end)) continue;
    begins.push_back(when.begin);
    ends.push_back(when.end);
    uses.push_back(d.uses);
  }
  std::vector<Line> lines(run.resources.fluids.size());
  const auto each = [&](std::uint32_t flow, auto act) {
    for (std::uint32_t u = uses[flow].begin; u < uses[flow].end; ++u)
      if (run.demands.uses[u].weight > 0.0) act(lines[run.demands.uses[u].resource.index()]);
  };
  const std::vector<std::uint32_t> by_begin = order_of(begins);
  const std::vector<std::uint32_t> by_end = order_of(ends);
  std::size_t e = 0;
  for (const std::uint32_t b : by_begin) {
    for (; ends[by_end[e]] <= begins[b]; ++e) each(by_end[e], [&](Line& l) { l.end(ends[by_end[e]]); });
    each(b, [&](Line& l) { l.begin(begins[b]); });
  }
  for (; e < by_end.size(); ++e) each(by_end[e], [&](Line& l) { l.end(ends[by_end[e]]); });
  return lines;
}

}  // namespace

std::vector<LinkUse> link_uses(const RunView& run) {
  const std::size_t n = run.resources.fluids.size();
  const std::vector<Line> lines = sweep(run);
  const std::vector<Bytes> bytes = resource_bytes(run.demands, run.resources);
  std::vector<LinkUse> out(n);
  for (std::size_t r = 0; r < n; ++r) {
    out[r].resource = ResourceId(r);
    out[r].bytes = bytes[r];
    out[r].peak_flows = lines[r].most;
    if (lines[r].used) out[r].busy = lines[r].busy + (lines[r].last_end - lines[r].open);
    if (run.timeline.makespan > Seconds{}) {
      out[r].utilisation = bytes[r] / (run.resources.fluids[r].capacity * run.timeline.makespan);
    }
  }
  return out;
}

std::string sharing_rule(const FluidResource& r) {
  switch (r.kind) {
    case ResourceKind::link:
      if (r.name.find(" <-> ") != std::string::npos) {
        return "max-min fair among the flows of both directions (half duplex)";
      }
      return "max-min fair among the flows of this direction";
    case ResourceKind::injection:
      return "max-min fair among all flows that leave the device";
    case ResourceKind::ejection:
      return "max-min fair among all flows that enter the device";
    case ResourceKind::hbm:
      return "max-min fair among kernels and copies of the device";
    case ResourceKind::other:
      return "max-min fair among its users";
  }
  return "";
}

Delivered delivered_bytes(const RunView& run) {
  Delivered out;
  for (std::size_t i = 0; i < run.graph.ops().size(); ++i) {
    const Op& op = run.graph.ops()[i];
    const Transfer* t = std::get_if<Transfer>(&op.work);
    if (t == nullptr) continue;
    const Bytes sliced = run.graph.bytes(t->fan == Fan::reduce ? op.writes : op.reads);
    const Bytes carried = work_of(run.demands.ops[i], run.demands);
    out.scheduled += sliced;
    out.delivered += carried;
    if (t->codec == Codec::none && std::abs((carried - sliced).si()) > 1e-12 * sliced.si()) {
      out.mismatches.push_back(run.graph.text(op.label) + " moves " + to_text(sliced) + " by its slices and carries " +
                               to_text(carried));
    }
  }
  return out;
}

Seconds communication_time(const RunView& run) {
  std::vector<Interval> v;
  for (std::size_t i = 0; i < run.graph.ops().size(); ++i) {
    if (activity_of(run.graph, run.graph.ops()[i]) != Activity::communication) continue;
    const OpTimes& t = run.timeline.ops[i];
    if (!v.empty() && t.begin <= v.back().end && v.back().begin <= t.end) {  // mostly beside the one before
      v.back() = {std::min(v.back().begin, t.begin), std::max(v.back().end, t.end)};
    } else {
      v.push_back({t.begin, t.end});
    }
  }
  return length(merged(std::move(v)));
}

CollectiveBandwidth collective_bandwidth(CollectiveKind kind, std::uint32_t members, Bytes tensor, Seconds time) {
  if (!(time > Seconds{}) || members == 0) return {};
  const double n = members;
  double factor = 1.0;  // broadcast
  switch (kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::all_to_all:
      factor = (n - 1.0) / n;
      break;
    case CollectiveKind::all_reduce:
      factor = 2.0 * (n - 1.0) / n;
      break;
    case CollectiveKind::broadcast:
      break;
  }
  const Bandwidth algorithm = tensor / time;
  return {algorithm, algorithm * factor};
}

}  // namespace overlap
