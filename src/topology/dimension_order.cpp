// Dimension-order routes on a torus or mesh: x, then y, then z, the shorter way round, ties upwards. Computed, not
// searched, so thousands of chips cost nothing until a route is asked for.
#include <fmt/format.h>

#include <array>

#include "overlap/error.hpp"
#include "topology/impl.hpp"

namespace overlap {
namespace {

class DimensionOrderRouter final : public Router {
 public:
  DimensionOrderRouter(const Topology::Impl& t, const std::string& where) : t_(t), extents_(t.dimensions) {
    std::size_t chips = 1;
    for (const std::uint32_t e : extents_) chips *= e;
    if (extents_.empty() || chips != t.devices.size() || t.nodes.size() != chips) {
      throw InputError(where, fmt::format("dimension-order routing needs one device a grid point: {} points, {} "
                                          "devices, {} nodes",
                                          chips, t.devices.size(), t.nodes.size()));
    }
    neighbours_.resize(chips * extents_.size());
    wraps_.resize(extents_.size());
    for (std::size_t d = 0, stride = 1; d < extents_.size(); stride *= extents_[d], ++d) {
      const std::uint32_t extent = extents_[d];
      if (extent < 2) continue;
      const std::size_t last = (extent - 1) * stride;
      wraps_[d] = link_between(t, NodeId(last), NodeId(std::size_t{0})).valid();
      for (std::size_t i = 0; i < chips; ++i) link_up(i, d, stride, where);
    }
  }

  std::vector<LinkId> find(NodeId a, NodeId b) override {
    std::vector<LinkId> out;
    std::size_t at = a.index();
    std::size_t stride = 1;
    for (std::size_t d = 0; d < extents_.size(); stride *= extents_[d], ++d) {
      const std::size_t extent = extents_[d];
      const std::size_t from = at / stride % extent;
      const std::size_t to = b.index() / stride % extent;
      const std::size_t ahead = (to + extent - from) % extent;
      const bool up = wraps_[d] ? ahead * 2 <= extent : to > from;
      const std::size_t steps = up ? (wraps_[d] ? ahead : to - from) : (wraps_[d] ? extent - ahead : from - to);
      for (std::size_t s = 0; from != to && s < steps; ++s) {
        const LinkId l = neighbours_[at * extents_.size() + d][up ? 0 : 1];
        out.push_back(l);
        at = t_.links[l.index()].to.index();
      }
    }
    return out;
  }

 private:
  // Links of chip i to its upper and lower neighbour in dimension d, where the grid has them.
  void link_up(std::size_t i, std::size_t d, std::size_t stride, const std::string& where) {
    const std::size_t extent = extents_[d];
    const std::size_t c = i / stride % extent;
    const std::size_t base = i - c * stride;
    const std::array<std::size_t, 2> to = {base + (c + 1) % extent * stride, base + (c + extent - 1) % extent * stride};
    for (std::size_t side = 0; side < 2; ++side) {
      const bool edge = side == 0 ? c + 1 == extent : c == 0;
      if (edge && !wraps_[d]) continue;
      const LinkId l = link_between(t_, NodeId(i), NodeId(to[side]));
      if (!l.valid()) {
        throw InputError(where, fmt::format("dimension-order routing needs a link from {} to {}, and there is none",
                                            t_.nodes[i].name, t_.nodes[to[side]].name));
      }
      neighbours_[i * extents_.size() + d][side] = l;
    }
  }

  const Topology::Impl& t_;
  std::vector<std::uint32_t> extents_;
  std::vector<bool> wraps_;                        // by dimension
  std::vector<std::array<LinkId, 2>> neighbours_;  // by chip and dimension: up, down
};

}  // namespace

std::unique_ptr<Router> make_dimension_order_router(const Topology::Impl& t, const std::string& where) {
  return std::make_unique<DimensionOrderRouter>(t, where);
}

}  // namespace overlap
