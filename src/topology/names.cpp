#include "topology/names.hpp"

#include "overlap/topology.hpp"

namespace overlap {
namespace {
template <class Kind, std::size_t N>
std::optional<Kind> find(const std::array<std::string_view, N>& names, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == text) return static_cast<Kind>(i);
  }
  return std::nullopt;
}
}  // namespace

std::string_view to_text(NodeKind k) {
  return kNodeKinds[static_cast<std::size_t>(k)];
}
std::string_view to_text(LinkKind k) {
  return kLinkKinds[static_cast<std::size_t>(k)];
}
std::optional<NodeKind> parse_node_kind(std::string_view text) {
  return find<NodeKind>(kNodeKinds, text);
}
std::optional<LinkKind> parse_link_kind(std::string_view text) {
  return find<LinkKind>(kLinkKinds, text);
}

}  // namespace overlap
