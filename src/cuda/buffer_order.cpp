#include "cuda/buffer_order.hpp"

#include <set>

namespace overlap::cuda {
namespace {

using Edges = std::set<std::pair<BufferId, BufferId>>;

void stack_edges(const OpGraph& graph, Range stack, Edges& edges) {
  const auto slices = graph.slices(stack);
  for (std::size_t i = 1; i < slices.size(); ++i) {
    const BufferId a = slices[i - 1].buffer;
    const BufferId b = slices[i].buffer;
    if (a != b && edges.count({b, a}) == 0) edges.insert({a, b});
  }
}

}  // namespace

std::vector<BufferId> buffer_order(const OpGraph& graph) {
  Edges edges;
  for (const Part& p : graph.parts()) {
    stack_edges(graph, p.a, edges);
    stack_edges(graph, p.c, edges);
  }
  const std::size_t n = graph.buffers().size();
  std::vector<std::uint32_t> before(n, 0);
  for (const auto& [a, b] : edges) ++before[b.index()];
  std::set<BufferId> left;
  std::set<BufferId> ready;
  for (std::size_t i = 0; i < n; ++i) {
    left.insert(BufferId(i));
    if (before[i] == 0) ready.insert(BufferId(i));
  }
  std::vector<BufferId> order;
  while (!left.empty()) {
    const BufferId next = ready.empty() ? *left.begin() : *ready.begin();
    ready.erase(next);
    left.erase(next);
    order.push_back(next);
    for (auto it = edges.lower_bound({next, BufferId(0U)}); it != edges.end() && it->first == next; ++it) {
      if (--before[it->second.index()] == 0 && left.count(it->second) > 0) ready.insert(it->second);
    }
  }
  return order;
}

}  // namespace overlap::cuda
