// Copies of a layer on groups of devices: each runs as the layer alone would.
#include <array>

#include "catch.hpp"
#include "overlap/error.hpp"
#include "overlap/graph_builder.hpp"
#include "overlap/graph_check.hpp"
#include "overlap/replicate.hpp"

using namespace overlap;

namespace {

// Device 0 copies to device 1, whose fused GEMM has a part that waits for the copy; a token is taken on the way.
OpGraph layer() {
  GraphBuilder b(2);
  const BufferId x = b.buffer(DeviceId(0U), 4, 8, DType::bf16, BufferRole::input, "X");
  const BufferId w = b.buffer(DeviceId(1U), 8, 8, DType::bf16, BufferRole::weight, "W");
  const BufferId land = b.buffer(DeviceId(1U), 4, 8, DType::bf16, BufferRole::scratch, "landing");
  const BufferId y = b.buffer(DeviceId(1U), 4, 8, DType::bf16, BufferRole::output, "Y");
  const OpId copy = b.transfer(b.lane(DeviceId(0U), 1, "comm"), {}, std::array{b.all(x)}, std::array{b.all(land)},
                               {.deps = {}, .label = b.label("copy {}", 7)});
  b.use_token(copy, b.token(1), 1, 1);
  const Dep waits{copy, {}};
  Gemm g;
  g.m = 4, g.n = 8, g.k = 8;
  const OpId gemm = b.fused_gemm(b.lane(DeviceId(1U), 0, "compute"), g, {.deps = {}, .label = b.label("GEMM")});
  b.part(gemm, {.rect = {0, 4, 0, 8},
                .waits = {&waits, 1},
                .a = std::array{b.all(land)},
                .b = std::array{b.all(w)},
                .c = std::array{b.all(y)}});
  b.input({Matrix::x, 0, 0, 0, b.all(x)});
  b.input({Matrix::w, 0, 0, 0, b.all(w)});
  b.output({Matrix::y, 0, 0, 0, b.all(y)});
  return std::move(b).finish();
}

}  // namespace

TEST_CASE("A layer on two groups of a machine: two copies side by side, each on its own devices") {
  const OpGraph one = layer();
  const std::vector<std::vector<DeviceId>> groups = {{DeviceId(3U), DeviceId(0U)}, {DeviceId(1U), DeviceId(2U)}};
  const OpGraph both = replicate(one, groups, 4);
  CHECK(validate(both).empty());
  CHECK(find_races(both).empty());
  CHECK(reference_run(both, 1).empty());
  REQUIRE(both.ops().size() == 2 * one.ops().size());
  for (std::uint32_t g = 0; g < 2; ++g) {
    const Op& copy = both.op(OpId(2 * g));
    CHECK(both.device_of(copy) == groups[g][0]);
    CHECK(both.text(copy.label) == "copy 7");
    CHECK(both.buffer(both.slices(copy.writes)[0].buffer).device == groups[g][1]);
    const auto parts = both.parts_of(std::get<Gemm>(both.op(OpId(2 * g + 1)).work));
    REQUIRE(parts.size() == 1);
    CHECK(both.deps(parts[0].waits)[0].op == OpId(2 * g));
    CHECK(both.token_uses()[g].token == TokenId(g));
    CHECK(both.outputs()[g].problem == g);
  }
}

TEST_CASE("A group that the layer does not fit on is refused") {
  const std::vector<std::vector<DeviceId>> small = {{DeviceId(0U)}};
  CHECK_THROWS_AS(replicate(layer(), small, 4), CheckError);
  const std::vector<std::vector<DeviceId>> beyond = {{DeviceId(0U), DeviceId(4U)}};
  CHECK_THROWS_AS(replicate(layer(), beyond, 4), CheckError);
}
