// Small graphs stated in a few lines.
#pragma once

#include <array>
#include <vector>

#include "overlap/cuda.hpp"
#include "overlap/graph_builder.hpp"

namespace graphs {

using namespace overlap;

inline constexpr std::uint32_t kRows = 256;

struct Pair {
  GraphBuilder g{2};
  std::array<LaneId, 2> compute;
  std::array<LaneId, 2> comm;
  std::array<BufferId, 2> shard;
  std::array<BufferId, 2> full;
  std::array<BufferId, 2> weight;
  std::array<BufferId, 2> out;
  Pair() {
    for (std::uint32_t d = 0; d < 2; ++d) {
      compute[d] = g.lane(DeviceId(d), 0, "compute");
      comm[d] = g.lane(DeviceId(d), 1, "comm", 1);
      shard[d] = g.buffer(DeviceId(d), kRows, 64, DType::bf16, BufferRole::input, "x");
      full[d] = g.buffer(DeviceId(d), 2 * kRows, 64, DType::bf16, BufferRole::scratch, "all x");
      weight[d] = g.buffer(DeviceId(d), 64, 128, DType::bf16, BufferRole::weight, "w");
      out[d] = g.buffer(DeviceId(d), 2 * kRows, 128, DType::bf16, BufferRole::output, "y");
    }
  }
  // Device d sends rows [row, row+rows) of its shard to the other's full buffer.
  OpId push(std::uint32_t d, std::uint32_t row, std::uint32_t rows, std::span<const Dep> deps = {},
            Mover mover = Mover::copy_engine) {
    const std::array reads{g.rows(shard[d], row, rows)};
    const std::array writes{g.rows(full[1 - d], d * kRows + row, rows)};
    Transfer t;
    t.mover = mover;
    return g.transfer(comm[d], t, reads, writes, {deps, g.label("push {} row {}", d, row)});
  }
  OpId multiply(std::uint32_t d, std::uint32_t row, std::uint32_t rows, std::span<const Dep> deps = {}) {
    const std::array a{g.rows(full[d], row, rows)};
    const std::array b{g.all(weight[d])};
    const std::array c{g.rows(out[d], row, rows)};
    return g.gemm(compute[d], {.m = rows, .n = 128, .k = 64, .parts = {}}, a, b, c,
                  {deps, g.label("gemm {} row {}", d, row)});
  }
  // One kernel over all rows in two parts: own rows, and the peer's, which wait for `waits`.
  OpId fused(std::uint32_t d, std::span<const Dep> waits) {
    Gemm work{.m = 2 * kRows, .n = 128, .k = 64, .parts = {}};
    const OpId op = g.fused_gemm(compute[d], work, {{}, g.label("fused {}", d)});
    for (const std::uint32_t owner : {d, 1 - d}) {
      const std::array a{owner == d ? g.all(shard[d]) : g.rows(full[d], owner * kRows, kRows)};
      const std::array b{g.all(weight[d])};
      const std::array c{g.rows(out[d], owner * kRows, kRows)};
      g.part(op, {{owner * kRows, kRows, 0, 128}, owner == d ? std::span<const Dep>{} : waits, a, b, c});
    }
    return op;
  }
  OpId gather(std::span<const Dep> deps = {}) {
    const std::array reads{g.all(shard[0]), g.all(shard[1])};
    const std::array writes{g.rows(full[0], 0, kRows), g.rows(full[0], kRows, kRows), g.rows(full[1], 0, kRows),
                            g.rows(full[1], kRows, kRows)};
    return g.collective(comm, {}, reads, writes, {deps, g.label("all-gather")});
  }
};

inline const PlannedOp& step_of(const LaunchPlan& plan, OpId op) {
  for (const PlannedOp& p : plan.order) {
    if (p.op == op) return p;
  }
  throw std::logic_error("op was not planned");
}

inline std::size_t place_of(const LaunchPlan& plan, OpId op) {
  return static_cast<std::size_t>(&step_of(plan, op) - plan.order.data());
}

}  // namespace graphs
