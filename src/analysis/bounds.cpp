// Lower bounds: longest chain, FLOPs over peak, bytes over rate, cuts.
#include <algorithm>

#include "analysis/cut_bytes.hpp"
#include "analysis/longest_chain.hpp"
#include "overlap/analysis.hpp"

namespace overlap {
namespace {

Bound flops_bound(const RunView& run) {
  std::vector<Seconds> time(run.graph.devices());
  for (const Op& op : run.graph.ops()) {
    const Gemm* g = std::get_if<Gemm>(&op.work);
    if (g == nullptr) continue;
    const std::size_t d = run.graph.device_of(op).index();
    time[d] += Flops(2.0 * g->m * g->n * g->k) / run.devices[d].peak_of(g->dtype);
  }
  const auto worst = std::max_element(time.begin(), time.end());
  return {BoundKind::flops, *worst, "gpu " + std::to_string(worst - time.begin())};
}

Bound rate_bound(const RunView& run) {
  Bound best{BoundKind::rate, {}, ""};
  const std::vector<Bytes> bytes = resource_bytes(run.demands, run.resources);
  for (std::size_t r = 0; r < bytes.size(); ++r) {
    const Seconds t = bytes[r] / run.resources.fluids[r].capacity;
    if (t > best.time) best = {BoundKind::rate, t, run.resources.fluids[r].name};
  }
  return best;
}

Bound cut_bound(const RunView& run) {
  Bound best{BoundKind::cut, {}, ""};
  const std::vector<CutBytes> bytes = cut_bytes(run.graph, run.demands, run.cuts);
  for (std::size_t c = 0; c < run.cuts.size(); ++c) {
    const CutLimit& cut = run.cuts[c];
    const CutBytes& b = bytes[c];
    Seconds t;
    if (b.left_to_right > Bytes{}) t = std::max(t, b.left_to_right / cut.left_to_right);
    if (b.right_to_left > Bytes{}) t = std::max(t, b.right_to_left / cut.right_to_left);
    if (t > best.time) best = {BoundKind::cut, t, cut.name};
  }
  return best;
}

}  // namespace

ChainTails chain_tails(const OpGraph& graph, const Demands& demands, const Resources& resources) {
  return LongestChain(graph, demands, resources).tails();
}

std::vector<Bound> lower_bounds(const RunView& run) {
  std::vector<Bound> out;
  out.push_back({BoundKind::path, LongestChain(run.graph, run.demands, run.resources).solve(), ""});
  if (!run.devices.empty()) out.push_back(flops_bound(run));
  out.push_back(rate_bound(run));
  if (!run.cuts.empty()) out.push_back(cut_bound(run));
  return out;
}

Bound strongest(std::span<const Bound> bounds) {
  Bound best;
  for (const Bound& b : bounds) {
    if (b.time > best.time) best = b;
  }
  return best;
}

}  // namespace overlap
