// Builds an OpGraph. Cheap: appends to flat pools and checks only what it must index; validate() (graph_check.hpp)
// checks the rest. Dependencies may name ops that are added later (see upcoming()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "overlap/op_graph.hpp"

namespace overlap {

struct OpArgs {
  std::span<const Dep> deps{};
  Label label{};
  bool commutative = false;
};

struct PartSpec {
  Rect rect;
  std::span<const Dep> waits{};
  std::span<const Slice> a{};
  std::span<const Slice> b{};
  std::span<const Slice> c{};
};

// Ops and what belongs to them.
struct GraphSize {
  std::size_t ops = 0;
  std::size_t parts = 0;
  std::size_t slices = 0;
  std::size_t deps = 0;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::uint32_t devices);
  [[nodiscard]] std::uint32_t devices() const { return graph_.devices_; }
  // Room for so much more. Never needed; large graphs are built without moves then.
  void reserve(const GraphSize& more);

  // Interned label text; "{}" stands for a, then b.
  Label label(std::string_view text, std::uint32_t a = 0, std::uint32_t b = 0);

  BufferId buffer(DeviceId device, std::uint32_t rows, std::uint32_t cols, DType dtype, BufferRole role,
                  std::string_view name);
  // Whole of a buffer, and row or column pieces of it.
  [[nodiscard]] Slice all(BufferId b) const;
  [[nodiscard]] Slice rows(BufferId b, std::uint32_t row, std::uint32_t rows) const;
  [[nodiscard]] Slice cols(BufferId b, std::uint32_t col, std::uint32_t cols) const;

  // The lane (device, index); made on first use with this priority and name.
  LaneId lane(DeviceId device, std::uint32_t index, std::string_view name, std::int32_t priority = 0);
  TokenId token(std::uint32_t count);
  void use_token(OpId op, TokenId token, std::int32_t take, std::int32_t give);

  // A Gemm with one part that covers its output: a (m rows), b (k rows), c (m rows) stacked by rows.
  OpId gemm(LaneId lane, Gemm work, std::span<const Slice> a, std::span<const Slice> b, std::span<const Slice> c,
            const OpArgs& args);
  // A fused Gemm; its parts follow at once with part(), in index order.
  OpId fused_gemm(LaneId lane, Gemm work, const OpArgs& args);
  PartId part(OpId gemm, const PartSpec& spec);

  OpId transfer(LaneId lane, Transfer work, std::span<const Slice> reads, std::span<const Slice> writes,
                const OpArgs& args);
  // Hands every later transfer() to `hook`, which adds what it wants in its place and returns the op that completes it
  // (compressed transfers wrap any schedule so). Transfers that the hook adds are added as they are. Empty: none.
  using TransferHook =
      std::function<OpId(LaneId, const Transfer&, std::span<const Slice>, std::span<const Slice>, const OpArgs&)>;
  void on_transfer(TransferHook hook) { hook_ = std::move(hook); }
  // From now on every op waits for its launch by the host thread of each of its devices: `launch` a launch, one after
  // another in the order in which ops are added. Zero: no host in the way (CUDA graphs).
  void host_launch(Seconds launch) { host_launch_ = launch; }
  OpId collective(std::span<const LaneId> members, Collective work, std::span<const Slice> reads,
                  std::span<const Slice> writes, const OpArgs& args);
  OpId elementwise(LaneId lane, Elementwise work, std::span<const Slice> reads, std::span<const Slice> writes,
                   const OpArgs& args);

  // Id of the k-th op (part) from now: 0 is the next one added.
  [[nodiscard]] OpId upcoming(std::uint32_t k = 0) const { return OpId(graph_.ops_.size() + k); }
  [[nodiscard]] PartId upcoming_part(std::uint32_t k = 0) const { return PartId(graph_.parts_.size() + k); }

  void input(const Placement& p) { graph_.inputs_.push_back(p); }
  void output(const Placement& p) { graph_.outputs_.push_back(p); }

  [[nodiscard]] const OpGraph& graph() const { return graph_; }
  // Hands the graph over; the builder is empty afterwards.
  OpGraph finish() &&;

 private:
  OpId add(Work work, std::span<const LaneId> lanes, std::span<const Slice> reads, std::span<const Slice> writes,
           const OpArgs& args);
  OpId append_op(Work work, std::span<const LaneId> lanes, std::span<const Slice> reads, std::span<const Slice> writes,
                 const OpArgs& args);
  LabelId intern(std::string_view text);
  Range append(std::span<const Slice> s);
  Range append(std::span<const Dep> d);

  OpGraph graph_;
  TransferHook hook_;
  bool in_hook_ = false;
  Seconds host_launch_;
  std::map<std::string, LabelId, std::less<>> texts_;
  // By device and index: small indices in a table, any other in the map.
  std::vector<std::vector<LaneId>> low_lanes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, LaneId> high_lanes_;
};

}  // namespace overlap
