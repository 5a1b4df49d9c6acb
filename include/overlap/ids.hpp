// Strong indices: an index of one kind is not an index of another. Dense, from 0.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace overlap {

template <class Tag>
struct Id {
  std::uint32_t v = kNone;
  static constexpr std::uint32_t kNone = 0xffffffffU;

  constexpr Id() = default;
  explicit constexpr Id(std::uint32_t value) : v(value) {}
  explicit constexpr Id(std::size_t value) : v(static_cast<std::uint32_t>(value)) {}
  [[nodiscard]] constexpr bool valid() const { return v != kNone; }
  [[nodiscard]] constexpr std::size_t index() const { return v; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using DeviceId = Id<struct DeviceTag>;  // a compute device of the run: rank 0..P-1
using NodeId = Id<struct NodeTag>;      // a node of the topology graph
using LinkId = Id<struct LinkTag>;      // one direction of a link
using BufferId = Id<struct BufferTag>;
using LaneId = Id<struct LaneTag>;
using OpId = Id<struct OpTag>;
using PartId = Id<struct PartTag>;  // index into OpGraph::parts (all Gemms together)
using LabelId = Id<struct LabelTag>;
using ResourceId = Id<struct ResourceTag>;  // a fluid resource of the engine
using PoolId = Id<struct PoolTag>;          // a slot pool of the engine (SMs or copy engines of a device)
using TankId = Id<struct TankTag>;
using TokenId = Id<struct TokenTag>;
using FlowId = Id<struct FlowTag>;  // a live activity of a flow solver; chosen by the caller, reusable

// Half-open range of indices into one of the graph's pools.
struct Range {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  [[nodiscard]] constexpr std::uint32_t size() const { return end - begin; }
  [[nodiscard]] constexpr bool empty() const { return begin == end; }
  friend constexpr bool operator==(Range, Range) = default;
};

}  // namespace overlap
