#include "catch.hpp"
#include "overlap/schedule.hpp"

using namespace overlap;

TEST_CASE("twin keeps remainders and leaves something in every piece") {
  Workload w;
  w.tokens = 8195;
  w.in = 16384;
  w.out = 53;
  w.tp = 8;
  const Workload t = twin(w, 8);
  CHECK(t.tokens % 64 == 8195 % 64);
  CHECK(t.tokens >= 64);
  CHECK(t.tokens < 128);
  CHECK(t.in == 64);
  CHECK(t.out == 53);
}

TEST_CASE("layer inputs are divided as the pattern says") {
  Workload w;
  w.tokens = 10;
  w.in = 7;
  w.out = 5;
  w.tp = 2;
  GraphBuilder b(2);
  const LayerInputs ag = layer_inputs(b, w);
  CHECK(ag.x[0].slices[0].rows == 5);
  CHECK(ag.x[1].global_row == 5);
  CHECK(ag.w[0].slices[0].cols == 3);
  CHECK(ag.w[1].global_col == 3);
  w.pattern = Pattern::gemm_rs;
  GraphBuilder c(2);
  const LayerInputs rs = layer_inputs(c, w);
  CHECK(rs.x[0].slices[0].cols == 4);
  CHECK(rs.w[1].global_row == 4);
  CHECK(rs.w[1].slices[0].rows == 3);
}
