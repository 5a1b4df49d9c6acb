#include <array>

#include "catch.hpp"
#include "planted.hpp"

using namespace planted;

namespace {

// Two devices with a buffer of 4x4 each, input everywhere.
struct Pair {
  GraphBuilder b{2};
  std::array<BufferId, 2> buf;
  Pair() {
    for (std::uint32_t r = 0; r < 2; ++r) buf[r] = b.buffer(DeviceId(r), 4, 4, DType::bf16, BufferRole::input, "buf");
  }
  LaneId lane(std::uint32_t device, std::uint32_t index = 0) { return b.lane(DeviceId(device), index, "lane"); }
  std::vector<std::string> problems() { return validate(b.graph()); }
};

}  // namespace

TEST_CASE("slices must lie inside their buffers and not be empty") {
  Pair p;
  p.b.transfer(p.lane(0), {}, std::array{p.b.rows(p.buf[0], 2, 3)}, std::array{p.b.rows(p.buf[1], 0, 3)}, {});
  CHECK(mentions(p.problems(), "lies outside its buffer"));
}

TEST_CASE("dependencies must name ops and parts that exist") {
  Pair p;
  p.b.transfer(p.lane(0), {}, std::array{p.b.all(p.buf[0])}, std::array{p.b.all(p.buf[1])},
               {.deps = std::array{Dep{OpId(7U), {}}}});
  CHECK(mentions(p.problems(), "waits for an op that does not exist"));
}

TEST_CASE("a kernel touches its own device only") {
  Pair p;
  p.b.elementwise(p.lane(0), {.kind = ElementwiseKind::copy}, std::array{p.b.all(p.buf[1])},
                  std::array{p.b.all(p.buf[0])}, {});
  CHECK(mentions(p.problems(), "another device's buffer"));
}

TEST_CASE("an add may read its terms out of a peer's memory, and writes to its own") {
  const auto add = [](std::size_t from, std::size_t to) {
    Pair p;
    p.b.elementwise(p.lane(0), {.kind = ElementwiseKind::add}, std::array{p.b.all(p.buf[from])},
                    std::array{p.b.all(p.buf[to])}, {});
    return mentions(p.problems(), "another device's buffer");
  };
  CHECK_FALSE(add(1, 0));
  CHECK(add(0, 1));
}

TEST_CASE("a transfer's device owns an end of it") {
  GraphBuilder b(3);
  const BufferId one = b.buffer(DeviceId(1U), 2, 2, DType::bf16, BufferRole::input, "one");
  const BufferId two = b.buffer(DeviceId(2U), 2, 2, DType::bf16, BufferRole::input, "two");
  b.transfer(b.lane(DeviceId(0U), 0, "lane"), {}, std::array{b.all(one)}, std::array{b.all(two)}, {});
  CHECK(mentions(validate(b.graph()), "owns neither"));
}

TEST_CASE("operands of a GEMM must have its shape") {
  Pair p;
  p.b.gemm(p.lane(0), {.m = 4, .n = 4, .k = 3}, std::array{p.b.all(p.buf[0])}, std::array{p.b.all(p.buf[0])},
           std::array{p.b.all(p.buf[0])}, {});
  CHECK(mentions(p.problems(), "A has 4 columns where 3 belong"));
  CHECK(mentions(p.problems(), "B has 4 rows where 3 belong"));
}

TEST_CASE("parts must cover the output") {
  Pair p;
  const OpId g = p.b.fused_gemm(p.lane(0), {.m = 4, .n = 4, .k = 4}, {});
  p.b.part(g, {.rect = {0, 3, 0, 4},
               .a = std::array{p.b.rows(p.buf[0], 0, 3)},
               .b = std::array{p.b.all(p.buf[0])},
               .c = std::array{p.b.rows(p.buf[0], 0, 3)}});
  CHECK(mentions(p.problems(), "do not cover"));
}

TEST_CASE("a collective has one member a device and pieces that fit") {
  Pair p;
  p.b.collective(std::array{p.lane(0), p.lane(0, 1)}, {}, std::array{p.b.all(p.buf[0]), p.b.all(p.buf[0])},
                 std::array{p.b.all(p.buf[0]), p.b.all(p.buf[0])}, {});
  CHECK(mentions(p.problems(), "two members on one device"));
  CHECK(mentions(p.problems(), "member 0 reads 16 elements and writes 16"));
}

TEST_CASE("tokens cannot run out for ever") {
  Pair p;
  const TokenId t = p.b.token(1);
  for (int i = 0; i < 2; ++i) {
    const OpId op = p.b.transfer(p.lane(0), {}, std::array{p.b.all(p.buf[0])}, std::array{p.b.all(p.buf[1])}, {});
    p.b.use_token(op, t, 1, 0);
  }
  CHECK(mentions(p.problems(), "taken more often"));
}

TEST_CASE("accumulation from two lanes races unless it commutes") {
  for (const bool commutes : {false, true}) {
    GraphBuilder b(3);
    const BufferId to = b.buffer(DeviceId(0U), 2, 2, DType::f32, BufferRole::input, "sum");
    for (std::uint32_t r = 1; r < 3; ++r) {
      const BufferId from = b.buffer(DeviceId(r), 2, 2, DType::f32, BufferRole::input, "part");
      b.transfer(b.lane(DeviceId(r), 0, "comm"), {.mover = Mover::sm, .accumulate = true, .ctas = 4},
                 std::array{b.all(from)}, std::array{b.all(to)}, {.commutative = commutes});
    }
    CHECK(find_races(b.graph()).size() == (commutes ? 0U : 1U));
  }
}

TEST_CASE("a collective orders what its members do before and after") {
  Pair p;
  std::array<BufferId, 2> all;
  for (std::uint32_t r = 0; r < 2; ++r) all[r] = p.b.buffer(DeviceId(r), 8, 4, DType::bf16, BufferRole::scratch, "all");
  p.b.collective(std::array{p.lane(0), p.lane(1)}, {}, std::array{p.b.all(p.buf[0]), p.b.all(p.buf[1])},
                 std::array{p.b.all(all[0]), p.b.all(all[1])}, {});
  // Same lane: ordered. Another lane without a dependency: a race.
  p.b.elementwise(p.lane(1), {.kind = ElementwiseKind::copy}, std::array{p.b.rows(all[1], 0, 4)},
                  std::array{p.b.all(p.buf[1])}, {});
  CHECK(find_races(p.b.graph()).empty());
  p.b.elementwise(p.lane(0, 1), {.kind = ElementwiseKind::copy}, std::array{p.b.rows(all[0], 0, 4)},
                  std::array{p.b.all(p.buf[0])}, {});
  CHECK(find_races(p.b.graph()).size() == 2);  // it reads `all` and writes `buf`
}

TEST_CASE("a bare collective is checked against identity weights") {
  GraphBuilder b(2);
  std::array<BufferId, 2> in;
  std::array<BufferId, 2> out;
  for (std::uint32_t r = 0; r < 2; ++r) {
    in[r] = b.buffer(DeviceId(r), 4, 3, DType::bf16, BufferRole::input, "partial");
    out[r] = b.buffer(DeviceId(r), 2, 3, DType::bf16, BufferRole::output, "sum");
    b.input({Matrix::x, 0, 0, 3 * r, b.all(in[r])});
    b.output({Matrix::y, 0, 2 * r, 0, b.all(out[r])});
  }
  b.collective(std::array{b.lane(DeviceId(0U), 0, "comm"), b.lane(DeviceId(1U), 0, "comm")},
               {.kind = CollectiveKind::reduce_scatter}, std::array{b.all(in[0]), b.all(in[1])},
               std::array{b.all(out[0]), b.all(out[1])}, {});
  CHECK(validate(b.graph()).empty());
  CHECK(reference_run(b.graph(), 3).empty());
}

TEST_CASE("codecs round-trip real bytes") {
  GraphBuilder b(2);
  const BufferId from = b.buffer(DeviceId(0U), 4, 4, DType::bf16, BufferRole::input, "X");
  const BufferId to = b.buffer(DeviceId(1U), 4, 4, DType::bf16, BufferRole::output, "Y");
  b.input({Matrix::x, 0, 0, 0, b.all(from)});
  b.output({Matrix::y, 0, 0, 0, b.all(to)});
  b.transfer(b.lane(DeviceId(0U), 0, "comm"), {.codec = Codec::window}, std::array{b.all(from)}, std::array{b.all(to)},
             {});
  int calls = 0;
  CodecHook good;
  good.encode = [&](Codec, DType, std::span<const std::uint8_t> bytes) {
    ++calls;
    return std::pair{CodecHook::ByteList(bytes.begin(), bytes.end()), CodecHook::ByteList{}};
  };
  good.decode = [](Codec, DType, const CodecHook::ByteList& early, const CodecHook::ByteList&) { return early; };
  CHECK(reference_run(b.graph(), 0, good).empty());
  CHECK(calls == 1);
  CodecHook lossy = good;
  lossy.decode = [](Codec, DType, CodecHook::ByteList early, const CodecHook::ByteList&) {
    early[1] ^= 1U;
    return early;
  };
  CHECK(mentions(reference_run(b.graph(), 0, lossy), "does not give back the bytes"));
}
