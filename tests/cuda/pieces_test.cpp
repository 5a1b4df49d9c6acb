#include "cuda/pieces.hpp"

#include "catch.hpp"
#include "graphs.hpp"
#include "overlap/error.hpp"

using namespace graphs;
using overlap::cuda::contiguous;
using overlap::cuda::copy_pieces;
using overlap::cuda::merged;
using overlap::cuda::products;

TEST_CASE("neighbouring rows join to one copy") {
  Pair p;
  const std::array r{p.g.rows(p.shard[0], 0, 10), p.g.rows(p.shard[0], 10, 20)};
  const std::array w{p.g.rows(p.full[1], 5, 30)};
  const auto pieces = copy_pieces(p.g.graph(), r, w);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].bytes == 30 * 64 * 2);
  CHECK(pieces[0].rows == 1);
  CHECK(pieces[0].dst_offset == 5 * 64 * 2);
}

TEST_CASE("columns are a 2D copy with both pitches") {
  Pair p;
  const std::array r{p.g.cols(p.shard[0], 16, 32)};
  const std::array w{Slice{p.out[1], 0, kRows, 8, 32}};
  const auto pieces = copy_pieces(p.g.graph(), r, w);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].rows == kRows);
  CHECK(pieces[0].bytes == 64);
  CHECK(pieces[0].src_pitch == 128);
  CHECK(pieces[0].dst_pitch == 256);
  CHECK(pieces[0].src_offset == 32);
  CHECK(pieces[0].dst_offset == 16);
}

TEST_CASE("stacks of different cuts are copied in runs; different volumes are refused") {
  Pair p;
  const std::array r{p.g.rows(p.shard[0], 0, 3), p.g.rows(p.shard[1], 7, 5)};
  const std::array w{p.g.rows(p.full[1], 0, 6), p.g.rows(p.full[1], 100, 2)};
  const auto pieces = copy_pieces(p.g.graph(), r, w);
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[1].src == p.shard[1]);
  CHECK(pieces[1].bytes == 3 * 128);
  const std::array shorter{p.g.rows(p.full[1], 0, 7)};
  CHECK_THROWS_AS(copy_pieces(p.g.graph(), r, shorter), InputError);
}

TEST_CASE("a gapless run of other row length takes the same bytes") {
  Pair p;
  const std::array r{p.g.rows(p.out[0], 0, 2)};   // 2 rows of 128
  const std::array w{p.g.rows(p.full[1], 0, 4)};  // 4 rows of 64
  const auto pieces = copy_pieces(p.g.graph(), r, w);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].bytes == 512);
  const std::array gaps{p.g.cols(p.out[0], 0, 2)};
  const std::array same{p.g.rows(p.full[1], 0, 8)};
  CHECK_THROWS_AS(copy_pieces(p.g.graph(), gaps, same), InputError);
}

TEST_CASE("a stack is one run only without gaps") {
  Pair p;
  cuda::Run run;
  CHECK(contiguous(p.g.graph(), std::array{p.g.rows(p.full[0], 4, 4), p.g.rows(p.full[0], 8, 4)}, run));
  CHECK(run.offset == 4 * 128);
  CHECK(run.bytes == 8 * 128);
  CHECK_FALSE(contiguous(p.g.graph(), std::array{p.g.rows(p.full[0], 4, 4), p.g.rows(p.full[0], 9, 4)}, run));
  CHECK_FALSE(contiguous(p.g.graph(), std::array{p.g.cols(p.full[0], 0, 32)}, run));
}

TEST_CASE("a part is cut where A, B or C change slice; pieces of K accumulate") {
  Pair p;
  const OpId op = p.g.fused_gemm(p.compute[0], {.m = 2 * kRows, .n = 128, .k = 64, .parts = {}}, {});
  const std::array a{p.g.all(p.shard[0]), p.g.rows(p.full[0], kRows, kRows)};
  const std::array b{p.g.rows(p.weight[0], 32, 32), p.g.rows(p.weight[0], 0, 32)};
  const std::array c{p.g.all(p.out[0])};
  const PartId part = p.g.part(op, {{0, 2 * kRows, 0, 128}, {}, a, b, c});
  const auto list = products(p.g.graph(), p.g.graph().part(part), false);
  REQUIRE(list.size() == 4);
  CHECK_FALSE(list[0].accumulate);
  CHECK(list[1].accumulate);
  CHECK(list[1].a == Slice{p.shard[0], 0, kRows, 32, 32});
  CHECK(list[1].b == Slice{p.weight[0], 0, 32, 0, 128});
  CHECK(list[2].c == Slice{p.out[0], kRows, kRows, 0, 128});
}
