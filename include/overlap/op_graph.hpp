// The OpGraph: what a schedule does, without times. Built by schedules, priced by cost models, run by the engine and
// by the CUDA backend, checked by the race check and the reference run.
//
// Slice   a rectangle of a buffer, in elements: what an op reads or writes. Bytes follow from slices.
// Lane    ops of one lane run in order; a lane is a CUDA stream of one device.
// Op      lanes (one member a device) + work + dependencies + slices + label.
// Part    a Gemm is one kernel launch whose output is cut in rectangles, its parts. Each part has its own waits and its
//         own completion, so a fused kernel (tiles gated by readiness, tiles that signal) is one op. A plain GEMM has
//         one part that covers the output.
//
// Storage is flat: ops, parts, slices and dependencies lie in pools and refer to each other by index ranges, so a
// million ops cost a few hundred bytes each and no allocation of their own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "overlap/dtype.hpp"
#include "overlap/ids.hpp"
#include "overlap/units.hpp"

namespace overlap {

enum class BufferRole : std::uint8_t { input, weight, output, scratch };

struct Buffer {
  DeviceId device;
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  DType dtype = DType::bf16;
  BufferRole role = BufferRole::scratch;
  LabelId name;
};

// Rows [row, row+rows) x columns [col, col+cols) of a buffer, in elements.
struct Slice {
  BufferId buffer;
  std::uint32_t row = 0;
  std::uint32_t rows = 0;
  std::uint32_t col = 0;
  std::uint32_t cols = 0;
  [[nodiscard]] std::uint64_t elements() const { return std::uint64_t{rows} * cols; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

// A rectangle of a Gemm's m x n output, in elements.
struct Rect {
  std::uint32_t row = 0;
  std::uint32_t rows = 0;
  std::uint32_t col = 0;
  std::uint32_t cols = 0;
  friend bool operator==(const Rect&, const Rect&) = default;
};

// Completion that an op or a part waits for: of a whole op, or of one part of a Gemm.
struct Dep {
  OpId op;
  PartId part;  // invalid: the whole op
  friend bool operator==(const Dep&, const Dep&) = default;
};

// A label template with up to two "{}" and their numbers: text is made only when someone reads it.
struct Label {
  LabelId text;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

struct Lane {
  DeviceId device;
  std::uint32_t index = 0;    // unique in the device
  std::int32_t priority = 0;  // larger goes first where slots are short
  LabelId name;
};

// What a free worker of a Gemm does while no part is ready in its order.
enum class PartOrder : std::uint8_t {
  ready,  // takes any part whose waits are met, lowest index first
  fixed,  // takes parts in index order and waits holding its SM (the spinning CTA)
};

// C[rect] (+)= A B per part, one kernel launch. A is m x k, B is k x n.
struct Gemm {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  DType dtype = DType::bf16;  // of the operands; accumulation is wider
  bool accumulate = false;    // beta = 1: C is read too
  PartOrder order = PartOrder::ready;
  std::uint32_t max_sms = 0;  // SMs the kernel may use; 0 = all
  Range parts{};              // into OpGraph::parts()
};

// Row and column rectangle of a Gemm with what it needs: A, B and C are stacks of slices (rows of A and C, rows of B).
struct Part {
  OpId op;
  Rect rect;
  Range waits;  // into deps()
  Range a;      // into slices(); total rows = rect.rows, columns = k
  Range b;      // into slices(); total rows = k, columns = rect.cols
  Range c;      // into slices(); total rows = rect.rows, columns = rect.cols
};

enum class Mover : std::uint8_t {
  copy_engine,   // DMA: no SM, one copy engine of the issuing device
  sm,            // `ctas` thread blocks on SMs of the issuing device
  remote_store,  // stores out of a Gemm's epilogue through a finite post-issue buffer (tank)
};

enum class Codec : std::uint8_t {
  none,
  window,   // ZipCCL: 7-exponent window in 3-bit codes, escapes kept
  entropy,  // UCCL-Zip: entropy-coded exponent bytes
};

enum class Fan : std::uint8_t {
  copy,       // the reads, concatenated, go to the writes
  multicast,  // the reads go to each of `ways` equal groups of writes (in-switch multicast)
  reduce,     // `ways` equal groups of reads are summed into the writes (in-switch reduction)
};

// Moves elements between devices (or within one). Reads and writes are stacks of rows of equal volume. The lane's
// device issues it: push when it owns the source, pull when it owns the destination.
struct Transfer {
  Mover mover = Mover::copy_engine;
  Fan fan = Fan::copy;
  Codec codec = Codec::none;
  bool accumulate = false;  // added to the destination
  std::uint16_t ways = 1;
  std::uint16_t ctas = 0;  // for Mover::sm
};

enum class CollectiveKind : std::uint8_t { all_gather, reduce_scatter, all_reduce, all_to_all, broadcast };

// Which library algorithm runs the collective; `automatic` is the library's own choice.
enum class CollectiveAlgorithm : std::uint8_t {
  automatic,
  ring,
  nvls,
  one_shot,
  two_shot,
  hierarchical,
  direct,
};

// One op over a lane of each member (rendezvous). reads and writes are grouped by member, in lane order, an equal
// number of slices each (empty ones where a member has nothing): all_gather: member i reads its shard and writes the
// stack of all shards; reduce_scatter: reads the stack of all pieces, writes its own summed piece; all_reduce: reads
// and writes everything; all_to_all: reads n pieces, writes n pieces, piece j of member i going to place i of member j;
// broadcast: member 0 reads.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_gather;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  std::uint16_t channels = 0;  // SMs a member holds; 0 = the library's default
};

enum class ElementwiseKind : std::uint8_t {
  copy,        // gather or scatter: reads stacked to writes stacked
  add,         // writes[0] = sum of all reads (each the shape of the write, which may be one; or in a peer's memory)
  compress,    // reads -> coded bytes
  decompress,  // coded bytes -> writes
  delay,       // no data: a host gap or a stand-in of known length
};

// A memory-bound kernel on SMs of its lane's device.
struct Elementwise {
  ElementwiseKind kind = ElementwiseKind::copy;
  std::uint16_t ctas = 0;  // SMs it wants; 0 = the cost model's choice
  Codec codec = Codec::none;
  Seconds delay{};  // for ElementwiseKind::delay
};

using Work = std::variant<Gemm, Transfer, Collective, Elementwise>;

struct Op {
  Work work;
  Range lanes;   // into lane_refs(): one lane a member, distinct devices
  Range deps;    // into deps()
  Range reads;   // into slices(); empty for Gemm (see Part)
  Range writes;  // into slices(); empty for Gemm
  Label label;
  bool commutative = false;  // its accumulation commutes with that of other commutative ops: no race between them
};

// A counted token (in-flight permute flag): `take` at admission, `give` at the end.
struct TokenUse {
  OpId op;
  TokenId token;
  std::int32_t take = 0;
  std::int32_t give = 0;
};

// Where a piece of a global matrix lies: X (activations), W (weights) or Y (result) of problem `problem`; Y = X W.
// For bulk patterns problem numbers tell independent products apart.
enum class Matrix : std::uint8_t { x, w, y };
struct Placement {
  Matrix matrix = Matrix::x;
  std::uint32_t problem = 0;
  std::uint32_t global_row = 0;
  std::uint32_t global_col = 0;
  Slice slice;
};

class OpGraph {
 public:
  [[nodiscard]] std::uint32_t devices() const { return devices_; }
  [[nodiscard]] const std::vector<Op>& ops() const { return ops_; }
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  [[nodiscard]] const std::vector<Lane>& lanes() const { return lanes_; }
  [[nodiscard]] const std::vector<Buffer>& buffers() const { return buffers_; }
  [[nodiscard]] const std::vector<TokenUse>& token_uses() const { return token_uses_; }
  [[nodiscard]] const std::vector<std::uint32_t>& token_counts() const { return token_counts_; }  // by TokenId
  [[nodiscard]] const std::vector<Placement>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<Placement>& outputs() const { return outputs_; }

  [[nodiscard]] const Op& op(OpId id) const { return ops_[id.index()]; }
  [[nodiscard]] const Part& part(PartId id) const { return parts_[id.index()]; }
  [[nodiscard]] const Lane& lane(LaneId id) const { return lanes_[id.index()]; }
  [[nodiscard]] const Buffer& buffer(BufferId id) const { return buffers_[id.index()]; }

  [[nodiscard]] std::span<const Slice> slices(Range r) const { return {slices_.data() + r.begin, r.size()}; }
  [[nodiscard]] std::span<const Dep> deps(Range r) const { return {deps_.data() + r.begin, r.size()}; }
  [[nodiscard]] std::span<const LaneId> lane_refs(Range r) const { return {lane_refs_.data() + r.begin, r.size()}; }
  [[nodiscard]] std::span<const Part> parts_of(const Gemm& g) const {
    return {parts_.data() + g.parts.begin, g.parts.size()};
  }
  // The device that the op's first (for most ops: only) member runs on.
  [[nodiscard]] DeviceId device_of(const Op& op) const { return lanes_[lane_refs_[op.lanes.begin].index()].device; }
  [[nodiscard]] Bytes bytes(const Slice& s) const;
  [[nodiscard]] Bytes bytes(Range slices) const;
  [[nodiscard]] std::string text(const Label& label) const;
  [[nodiscard]] std::string_view text(LabelId id) const;

 private:
  friend class GraphBuilder;
  std::uint32_t devices_ = 0;
  std::vector<Op> ops_;
  std::vector<Part> parts_;
  std::vector<Lane> lanes_;
  std::vector<Buffer> buffers_;
  std::vector<Slice> slices_;
  std::vector<Dep> deps_;
  std::vector<LaneId> lane_refs_;
  std::vector<TokenUse> token_uses_;
  std::vector<std::uint32_t> token_counts_;
  std::vector<Placement> inputs_;
  std::vector<Placement> outputs_;
  std::vector<std::string> texts_;
};

}  // namespace overlap
