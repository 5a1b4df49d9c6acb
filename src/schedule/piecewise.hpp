// A layer cut in pieces of rows by owner and chunk, for schedules that place their own transfers: where the rows of X
// and Y lie on each rank, and one fused GEMM whose parts wait for what arrives (or signal what is complete).
#pragma once

#include <span>
#include <vector>

#include "schedule/blocks.hpp"

namespace overlap::blocks {

// Rows of chunk `c` of owner `o`'s share of the tokens, in the whole.
[[nodiscard]] Extent chunk_rows(const Workload& w, std::uint32_t chunks, std::uint32_t o, std::uint32_t c);

// One part of a fused GEMM of a rank: rows and columns of the rank's output with what they wait for.
struct PartWant {
  Extent rows;
  Extent cols;
  std::vector<Dep> waits;
};

// AG+GEMM: X arrives row by row, Y [tokens, out/P] is computed where it stays.
class GatherLayer {
 public:
  GatherLayer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in);
  // Rows of the rank's own shard.
  [[nodiscard]] std::vector<Slice> source(DeviceId owner, Extent rows) const;
  // Place of another owner's rows on `holder`.
  [[nodiscard]] Slice landing(DeviceId holder, Extent rows) const;
  // Rows of one owner as `holder` reads them: its own shard's source, or the landing.
  [[nodiscard]] std::vector<Slice> at(DeviceId holder, DeviceId owner, Extent rows) const;
  [[nodiscard]] std::span<const Dep> ready(DeviceId owner) const { return in_.x[owner.index()].ready; }
  // GEMM of one piece of rows and columns on the compute lane (or `lane`); records it as an output.
  OpId gemm(DeviceId d, DeviceId owner, PartWant want, Label label, LaneId lane, std::uint32_t max_sms = 0);
  // One plain GEMM over all rows; `own_too`: the own rows are read where they were gathered to.
  OpId gemm_whole(DeviceId d, std::vector<Dep> waits, Label label, bool own_too);
  // One fused GEMM over `parts` (together the rank's whole output), in that order. part i: id + i of the first.
  OpId fused(DeviceId d, std::span<const std::pair<DeviceId, PartWant>> parts, PartOrder order, Label label,
             std::uint32_t max_sms = 0);
  [[nodiscard]] Extent cols(DeviceId d) const { return {0, piece(w_.out, w_.tp, d.v).size}; }
  [[nodiscard]] std::vector<Tensor> take_outputs() { return std::move(out_); }

 private:
  GraphBuilder& b_;
  const Workload& w_;
  const LayerInputs& in_;
  std::vector<BufferId> gathered_;
  std::vector<Tensor> out_;
};

// GEMM+RS and GEMM+AR: partial sums of every owner's rows are computed on every rank and summed at the owner; with AR
// the sums go back to all.
class ScatterLayer {
 public:
  ScatterLayer(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in);
  [[nodiscard]] bool reduces_all() const { return w_.pattern == Pattern::gemm_ar; }
  // Partial sum of these rows on rank d, and part of its columns.
  [[nodiscard]] Slice partial(DeviceId d, Extent rows) const;
  // Result rows on `holder`: the owner's own piece, or (AR) any rows.
  [[nodiscard]] Slice result(DeviceId holder, Extent rows) const;
  // Fresh scratch of the partial's width and type.
  Slice scratch(DeviceId d, std::uint32_t rows);
  OpId gemm(DeviceId d, PartWant want, Label label, LaneId lane, std::uint32_t max_sms = 0);
  // A plain GEMM over several bands of rows and one of columns.
  OpId gemm_bands(DeviceId d, std::span<const Extent> bands, Extent cols, Label label, LaneId lane,
                  std::uint32_t max_sms = 0);
  OpId fused(DeviceId d, std::span<const PartWant> parts, PartOrder order, Label label, std::uint32_t max_sms = 0);
  [[nodiscard]] Extent cols() const { return {0, w_.out}; }
  void done(DeviceId holder, OpId op) { out_[holder.index()].ready.push_back({op, {}}); }
  [[nodiscard]] std::vector<Tensor> take_outputs() { return std::move(out_); }

 private:
  GraphBuilder& b_;
  const Workload& w_;
  const LayerInputs& in_;
  std::vector<BufferId> partial_;
  std::vector<Tensor> out_;
};

// Part `i` of a fused GEMM.
[[nodiscard]] Dep part_of(const GraphBuilder& b, OpId gemm, std::size_t i);

// One transfer of a stack into one slice.
OpId copy_rows(GraphBuilder& b, LaneId lane, const Transfer& how, std::span<const Slice> from, const Slice& to,
               std::span<const Dep> deps, Label label);

}  // namespace overlap::blocks
