// Shortest routes by Boost.Graph: fewest hops, then least latency, then lexicographically least node ids.
//
// One search a destination, backwards from it, gives each node its distance; the route is then walked forward, taking
// the least next node among those that keep the distance. A device that hangs on one forwarding node only shares the
// search of that node, so a thousand devices behind a switch cost one search.
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <cmath>

#include "topology/impl.hpp"

namespace overlap {
namespace {

// Latency in whole femtoseconds: sums do not depend on their order.
struct Distance {
  std::int64_t hops = 0;
  std::int64_t femtoseconds = 0;
  friend auto operator<=>(const Distance&, const Distance&) = default;
  friend Distance operator+(Distance a, Distance b) { return {a.hops + b.hops, a.femtoseconds + b.femtoseconds}; }
};
constexpr Distance kUnreached{std::int64_t{1} << 60, 0};

struct EdgeLink {
  std::uint32_t link = 0;
};
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, EdgeLink>;

class ShortestRouter final : public Router {
 public:
  explicit ShortestRouter(const Topology::Impl& t) : t_(t), graph_(t.nodes.size()), trees_(t.nodes.size()) {
    in_.resize(t.nodes.size());
    for (std::size_t i = 0; i < t.links.size(); ++i) {
      const Link& l = t.links[i];
      boost::add_edge(l.to.index(), l.from.index(), EdgeLink{static_cast<std::uint32_t>(i)}, graph_);  // reversed
      in_[l.to.index()].push_back(LinkId(i));
    }
  }

  std::vector<LinkId> find(NodeId a, NodeId b) override {
    const NodeId target = attachment(b);
    std::vector<LinkId> out;
    if (a != target) {
      const std::vector<Distance>& distance = tree(target);
      for (NodeId at = a; at != target;) {
        const LinkId next = step(at, target, distance);
        if (!next.valid()) return {};
        out.push_back(next);
        at = t_.links[next.index()].to;
      }
    }
    if (target != b) out.push_back(link_between(t_, target, b));
    return out;
  }

 private:
  // The node that every route to b ends with, when b has one neighbour only and that forwards; else b.
  [[nodiscard]] NodeId attachment(NodeId b) const {
    const std::vector<LinkId>& in = in_[b.index()];
    if (in.empty()) return b;
    const NodeId n = t_.links[in.front().index()].from;
    if (!t_.nodes[n.index()].transit) return b;
    for (const LinkId l : in) {
      if (t_.links[l.index()].from != n) return b;
    }
    return n;
  }

  [[nodiscard]] static Distance length(const Link& l) {
    return {1, static_cast<std::int64_t>(std::llround(l.latency.si() * 1e15))};
  }

  [[nodiscard]] LinkId step(NodeId at, NodeId target, const std::vector<Distance>& distance) const {
    LinkId best;
    for (const LinkId id : t_.out(at)) {
      const Link& l = t_.links[id.index()];
      if (l.to != target && !t_.nodes[l.to.index()].transit) continue;
      if (distance[l.to.index()] == kUnreached) continue;
      if (length(l) + distance[l.to.index()] != distance[at.index()]) continue;
      if (best.valid()) {
        const Link& other = t_.links[best.index()];
        if (l.to > other.to || (l.to == other.to && l.payload() <= other.payload())) continue;
      }
      best = id;
    }
    return best;
  }

  const std::vector<Distance>& tree(NodeId target) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<std::vector<Distance>>& known = trees_[target.index()];
    if (known) return *known;
    known = std::make_unique<std::vector<Distance>>(t_.nodes.size(), kUnreached);
    // A reversed edge leaves the node that the flow would pass through next: that must forward, or be the target.
    const auto usable = [this, target](const Graph::edge_descriptor& e) {
      const std::size_t through = boost::source(e, graph_);
      return through == target.index() || t_.nodes[through].transit;
    };
    const boost::filtered_graph<Graph, std::function<bool(const Graph::edge_descriptor&)>> view(graph_, usable);
    const auto weight = boost::make_function_property_map<Graph::edge_descriptor>(
        [this](const Graph::edge_descriptor& e) { return length(t_.links[graph_[e].link]); });
    const auto index = boost::get(boost::vertex_index, graph_);
    boost::dijkstra_shortest_paths(
        view, target.index(),
        boost::weight_map(weight)
            .distance_map(boost::make_iterator_property_map(known->begin(), index))
            .distance_combine([](Distance a, Distance b) { return a == kUnreached ? a : a + b; })
            .distance_compare(std::less<Distance>())
            .distance_inf(kUnreached)
            .distance_zero(Distance{}));
    return *known;
  }

  const Topology::Impl& t_;
  Graph graph_;
  std::vector<std::vector<LinkId>> in_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<std::vector<Distance>>> trees_;  // by target node
};

}  // namespace

std::unique_ptr<Router> make_shortest_router(const Topology::Impl& t) {
  return std::make_unique<ShortestRouter>(t);
}

}  // namespace overlap
