// When the tiles of a fused GEMM were stored, beside what the tile model says.
#pragma once

#include <string>
#include <vector>

#include "overlap/cost.hpp"
#include "overlap/topology.hpp"

namespace overlap::validation {

// A record of kind "tiles": one GEMM in the tile kernel, its tiles in the kernel's order.
struct TileRecord {
  GemmShape shape;
  std::uint32_t tile_rows = 0, tile_cols = 0;
  std::uint32_t parts = 0;    // each with its flag
  std::uint32_t workers = 0;  // thread blocks
  std::vector<Seconds> ends;  // since the kernel's begin
  std::string where;
};
// Throws InputError when there is none.
std::vector<TileRecord> read_tiles(const std::vector<std::string>& paths);

// The same tiles through prices and engine, as one fused GEMM with a part a tile.
std::vector<Seconds> predicted_tiles(const TileRecord& r, const Device& device, const Topology& topology,
                                     const CostOptions& cost);

// Of one record: ends of the kernel, of the first wave, and of a wave in between; errors of the tiles' ends.
struct TileScore {
  Seconds measured_end, predicted_end;
  Seconds measured_first, predicted_first;  // median over the first wave
  Seconds measured_wave, predicted_wave;    // from a wave to the next, mean
  double median_pct = 0;                    // of |predicted - measured| of a tile's end, over the measured end
  double p90_pct = 0;
};
TileScore score_tiles(const TileRecord& r, const std::vector<Seconds>& predicted);

// One line a record.
std::string tiles_text(const std::vector<TileRecord>& records, const Device& device, const Topology& topology,
                       const CostOptions& cost);

}  // namespace overlap::validation
