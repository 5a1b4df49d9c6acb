// A two-device GEMM+RS by hand, with faults that can be planted one at a time.
#pragma once

#include <array>

#include "overlap/graph_builder.hpp"
#include "overlap/graph_check.hpp"

namespace planted {

using namespace overlap;

struct Faults {
  bool drop_copy_wait = false;     // the copy does not wait for the part that it sends
  bool drop_add_wait = false;      // the add does not wait for the copy
  bool wrong_slice = false;        // the copy sends the owner's own rows
  bool overlapping_parts = false;  // the second part starts a row early
  bool cycle = false;              // the first part waits for the add
  bool part_for_op = false;        // the copy waits for the wrong part
  bool short_read = false;         // the copy reads a row less than it writes
};

// Y[4x2] = X[4x4] W[4x2] over 2 devices: each has X[4x2], W[2x2], computes partial[4x2] in two parts (the peer's rows
// first), pushes the peer's rows and adds what arrives to its own.
inline OpGraph gemm_rs(const Faults& f) {
  GraphBuilder b(2);
  std::array<BufferId, 2> x;
  std::array<BufferId, 2> w;
  std::array<BufferId, 2> partial;
  std::array<BufferId, 2> landed;
  std::array<BufferId, 2> y;
  for (std::uint32_t r = 0; r < 2; ++r) {
    const DeviceId d(r);
    x[r] = b.buffer(d, 4, 2, DType::bf16, BufferRole::input, "X");
    w[r] = b.buffer(d, 2, 2, DType::bf16, BufferRole::weight, "W");
    partial[r] = b.buffer(d, 4, 2, DType::bf16, BufferRole::scratch, "partial");
    landed[r] = b.buffer(d, 2, 2, DType::bf16, BufferRole::scratch, "landed");
    y[r] = b.buffer(d, 2, 2, DType::bf16, BufferRole::output, "Y");
    b.input({Matrix::x, 0, 0, 2 * r, b.all(x[r])});
    b.input({Matrix::w, 0, 2 * r, 0, b.all(w[r])});
    b.output({Matrix::y, 0, 2 * r, 0, b.all(y[r])});
  }
  // Ops: gemm 0, gemm 1, copy 0, copy 1, add 0, add 1.
  for (std::uint32_t r = 0; r < 2; ++r) {
    const OpId gemm =
        b.fused_gemm(b.lane(DeviceId(r), 0, "compute"), {.m = 4, .n = 2, .k = 2}, {.label = b.label("gemm {}", r)});
    const std::array cycle{Dep{OpId(4 + r), {}}};
    for (std::uint32_t i = 0; i < 2; ++i) {
      std::uint32_t row = i == 0 ? 2 * (1 - r) : 2 * r;
      std::uint32_t rows = 2;
      if (f.overlapping_parts && i == 1 && row == 2) {
        row = 1;
        rows = 3;
      }
      b.part(gemm, {.rect = {row, rows, 0, 2},
                    .waits = f.cycle && i == 0 ? std::span<const Dep>(cycle) : std::span<const Dep>(),
                    .a = std::array{b.rows(x[r], row, rows)},
                    .b = std::array{b.all(w[r])},
                    .c = std::array{b.rows(partial[r], row, rows)}});
    }
  }
  for (std::uint32_t r = 0; r < 2; ++r) {
    const std::uint32_t peer = 1 - r;
    std::vector<Dep> wait;
    if (!f.drop_copy_wait) wait.push_back({OpId(r), PartId(2 * r + (f.part_for_op ? 1 : 0))});
    const std::uint32_t row = 2 * (f.wrong_slice ? r : peer);
    b.transfer(b.lane(DeviceId(r), 1, "comm"), {}, std::array{b.rows(partial[r], row, f.short_read ? 1 : 2)},
               std::array{b.all(landed[peer])}, {.deps = wait, .label = b.label("copy {}", r)});
  }
  for (std::uint32_t r = 0; r < 2; ++r) {
    std::vector<Dep> wait{{OpId(r), PartId(2 * r + 1)}};
    if (!f.drop_add_wait) wait.push_back({OpId(2 + 1 - r), {}});
    b.elementwise(b.lane(DeviceId(r), 2, "reduce"), {.kind = ElementwiseKind::add},
                  std::array{b.rows(partial[r], 2 * r, 2), b.all(landed[r])}, std::array{b.all(y[r])},
                  {.deps = wait, .label = b.label("add {}", r)});
  }
  return std::move(b).finish();
}

// Seeds of 40 whose random order gives a wrong result.
inline int failing_seeds(const OpGraph& g) {
  int failing = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) failing += reference_run(g, seed).empty() ? 0 : 1;
  return failing;
}

inline bool mentions(const std::vector<std::string>& problems, const std::string& text) {
  for (const std::string& p : problems)
    if (p.find(text) != std::string::npos) return true;
  return false;
}

}  // namespace planted
