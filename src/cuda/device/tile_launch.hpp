// One fused Gemm prepared for the tile kernel: its arguments in device memory.
#pragma once

#include "cuda/device/kernels.hpp"
#include "cuda/device/session.hpp"
#include "cuda/device/tile_gemm.hpp"

namespace overlap::gpu {

class Machine;

class TileLaunch {
 public:
  TileLaunch(Machine& machine, const PlannedOp& op);
  void launch();
  [[nodiscard]] std::string choice() const;
  // Clock of each part's last tile and of each tile, of the last launch, in nanoseconds of the GPU's clock.
  [[nodiscard]] std::vector<std::uint64_t> part_ends() const;
  [[nodiscard]] std::vector<std::uint64_t> tile_ends() const;
  [[nodiscard]] std::uint32_t gpu() const { return gpu_; }
  [[nodiscard]] std::uint32_t ctas() const { return ctas_; }
  [[nodiscard]] TileShape tile() const { return wgmma_ ? kWgmmaTile : kMmaTile; }

 private:
  void add_part(PartId id, bool accumulate);
  void encode_maps();
  [[nodiscard]] bool fits_wgmma() const;
  void upload();

  Machine& machine_;
  LaneId lane_;
  std::uint32_t gpu_ = 0;
  std::uint32_t ctas_ = 0;
  bool wgmma_ = false;
  std::vector<TileProduct> products_;
  std::vector<TilePart> parts_;
  std::vector<std::uint32_t> waits_;
  std::vector<CUtensorMap> maps_;
  std::uint32_t tile_count_ = 0;
  TileArgs args_;
  Memory memory_;
};

}  // namespace overlap::gpu
