// How a compute model sees one GEMM: tiles, workers and times. A model is one file (ideal.cpp, roofline.cpp, tile.cpp)
// and one line of table.cpp; it knows one kernel on one device and nothing of what else runs there.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "overlap/cost.hpp"

namespace overlap::cost {

struct GemmQuery {
  const Device* device = nullptr;
  GemmShape shape;
  DType operand = DType::bf16;
  DType output = DType::bf16;
  bool accumulate = false;
  std::uint32_t sms = 0;        // SMs the kernel may use; 0 = all
  std::span<const Part> parts;  // rectangles that tiles must not straddle; empty or one = the whole output
  Effects effects;
};

struct GemmPlan {
  bool persistent = false;   // workers stay on their SMs while there are tiles
  bool whole = false;        // priced as one piece of work: parts take time in proportion to their area
  std::uint32_t tile_m = 0;  // rows and columns of a tile; 0 when `whole`
  std::uint32_t tile_n = 0;
  std::uint32_t splits = 1;   // of K
  std::uint32_t tiles = 1;    // work items: output tiles times splits
  std::uint32_t workers = 1;  // tiles at once
  std::uint32_t cluster = 1;  // SMs that workers take together
  Seconds tile_time;          // of each tile, lone
  Seconds first_tile;         // extra before the first tile of a worker
  Seconds finish;             // from the last tile to the end
  double last_wave = 1.0;     // a last, partly filled wave lasts this many tile times
  Bytes traffic;              // HBM bytes of the kernel
  Seconds total;              // lone time, launch excluded
};

struct ComputeModelInfo {
  ComputeModel model;
  std::string_view name;
  std::string_view summary;
  GemmPlan (*plan)(const GemmQuery&);
};

// All compute models, in the order of the table.
std::span<const ComputeModelInfo> compute_models();
const ComputeModelInfo& find_compute_model(ComputeModel m);

GemmPlan plan_ideal(const GemmQuery& q);
GemmPlan plan_roofline(const GemmQuery& q);
GemmPlan plan_tile(const GemmQuery& q);

// Operands once, output once and, with beta = 1, the old output: the least HBM traffic of a GEMM.
Bytes least_traffic(const GemmQuery& q);

}  // namespace overlap::cost
