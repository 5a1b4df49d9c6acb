#include "catch.hpp"
#include "cuda/buffer_order.hpp"
#include "cuda/collective_pieces.hpp"
#include "graphs.hpp"

using namespace graphs;
using overlap::cuda::buffer_order;
using overlap::cuda::collective_pieces;

TEST_CASE("buffers lie in the order in which a Gemm stacks their rows") {
  Pair p;
  const std::array a{p.g.rows(p.full[1], 0, kRows), p.g.all(p.shard[1])};  // received rows first, own rows last
  const std::array b{p.g.all(p.weight[1])};
  const std::array c{p.g.all(p.out[1])};
  p.g.gemm(p.compute[1], {.m = 2 * kRows, .n = 128, .k = 64, .parts = {}}, a, b, c, {});
  const LaunchPlan plan = plan_launch(p.g.graph(), DeviceMap::spread(2, 2), {});
  CHECK(plan.buffers[p.full[1].index()].offset < plan.buffers[p.shard[1].index()].offset);
  CHECK(plan.buffers[p.shard[0].index()].offset < plan.buffers[p.full[0].index()].offset);  // by id where nothing asks
  CHECK(buffer_order(p.g.graph()).size() == p.g.graph().buffers().size());
}

TEST_CASE("orders that contradict each other fall back to ids") {
  Pair p;
  const std::array b{p.g.all(p.weight[0])};
  const std::array c{p.g.all(p.out[0])};
  const Gemm work{.m = 2 * kRows, .n = 128, .k = 64, .parts = {}};
  p.g.gemm(p.compute[0], work, std::array{p.g.rows(p.full[0], 0, kRows), p.g.all(p.shard[0])}, b, c, {});
  p.g.gemm(p.compute[0], work, std::array{p.g.all(p.shard[0]), p.g.rows(p.full[0], 0, kRows)}, b, c, {});
  CHECK(buffer_order(p.g.graph()).size() == p.g.graph().buffers().size());
}

TEST_CASE("an all-gather into whole buffers is one library call; by copies it is one copy a member and shard") {
  Pair p;
  const OpId op = p.gather();
  const auto pieces = collective_pieces(p.g.graph(), p.g.graph().op(op), true);
  CHECK(pieces.native());
  REQUIRE(pieces.copies.size() == 2);
  REQUIRE(pieces.copies[1].size() == 2);
  CHECK(pieces.copies[1][0].src == p.shard[0]);
  CHECK(pieces.copies[1][0].dst == p.full[1]);
  CHECK(pieces.copies[1][1].dst_offset == kRows * 64 * 2);
}

TEST_CASE("a reduce-scatter by copies adds every member's piece on the member that owns it") {
  Pair p;
  const std::array reads{p.g.all(p.out[0]), p.g.all(p.out[1])};
  std::array<BufferId, 2> own{};
  std::array<Slice, 2> writes{};
  for (std::uint32_t d = 0; d < 2; ++d) {
    own[d] = p.g.buffer(DeviceId(d), kRows, 128, DType::bf16, BufferRole::output, "sum");
    writes[d] = p.g.all(own[d]);
  }
  const OpId op = p.g.collective(p.comm, {.kind = CollectiveKind::reduce_scatter}, reads, writes, {});
  const auto pieces = collective_pieces(p.g.graph(), p.g.graph().op(op), true);
  CHECK(pieces.native());
  REQUIRE(pieces.sums.size() == 2);
  REQUIRE(pieces.sums[1].size() == 1);
  REQUIRE(pieces.sums[1][0].terms.size() == 2);
  CHECK(pieces.sums[1][0].terms[0].src == p.out[0]);
  CHECK(pieces.sums[1][0].terms[0].src_offset == kRows * 128 * 2);
  CHECK(pieces.sums[1][0].terms[0].dst == own[1]);
  CHECK(pieces.spread.empty());
}

TEST_CASE("an all-reduce by copies adds a share on each member and spreads it") {
  Pair p;
  const std::array both{p.g.all(p.out[0]), p.g.all(p.out[1])};
  const OpId op = p.g.collective(p.comm, {.kind = CollectiveKind::all_reduce}, both, both, {});
  const auto pieces = collective_pieces(p.g.graph(), p.g.graph().op(op), true);
  REQUIRE(pieces.spread.size() == 2);
  REQUIRE(pieces.spread[0].size() == 1);
  CHECK(pieces.spread[0][0].src == p.out[0]);
  CHECK(pieces.spread[0][0].dst == p.out[1]);
  CHECK(pieces.spread[0][0].bytes == kRows * 128 * 2);
}
