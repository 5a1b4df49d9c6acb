// The kernels of a GEMM library on one device: per kernel a few coefficients of time and of the library's own estimate
// (which decides which kernel it launches), and single measured GEMMs. Written by `calibrate`, read from a CSV file
// beside the device file. A table without kernels holds "near" rows alone, which correct the tile model.
//
// Time of a kernel with tiles of `cols` x `rows` on W SMs, w = ceil(tiles splits / W) waves of s = ceil(k / 64 /
// splits) steps:   fixed + soft_max(w (wave + step s + accumulate / (1 + s / accumulate_steps)), memory least_bytes /
// HBM rate) with soft_max(a, b) = (a^4 + b^4)^(1/4); a split K adds reduction + reduction_share * 8 m n splits bytes /
// HBM rate. The library launches the kernel for which the sum of the same terms with the `choice` coefficients is
// least.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "overlap/dtype.hpp"
#include "overlap/units.hpp"

namespace overlap {

struct KernelTimes {
  Seconds fixed;
  Seconds wave;         // of each wave
  Seconds step;         // of each 64 of k in each wave
  double memory = 0.0;  // times least bytes over the HBM data-sheet rate
};

struct KernelModel {
  std::uint32_t cols = 0;  // of the output tile
  std::uint32_t rows = 0;
  KernelTimes time;
  Seconds accumulate;             // more per wave with beta = 1, when the loop is short
  double accumulate_steps = 1.0;  // steps after which half of it is hidden
  KernelTimes choice;
};

struct MeasuredGemm {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  std::uint32_t sms = 0;  // SMs that the library was told to use; 0 = all
  bool accumulate = false;
  std::uint32_t kernel = 0;  // index into KernelTable::kernels
  std::uint32_t splits = 1;
  Seconds time;  // median of the kernel (and of its reduction)
};

// A measured GEMM whose kernel nobody recorded: how far it lies from the tile model with the device file's coefficients
// (cost/near_rows.hpp). A ratio, so that it carries over to a device that differs in a rate.
struct NearGemm {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  std::uint32_t tile_rows = 0;  // what the model takes for it
  std::uint32_t tile_cols = 0;
  std::uint32_t splits = 1;
  double ratio = 1.0;  // measured over predicted time
  std::array<double, 8> place{};
};

// A device that begins to compute loses `loss` between `after` and `after + length` of load (its clock dips and comes
// back). Times of single runs after idle contain that; GEMMs behind others do not lose it again.
struct LoadDip {
  Seconds after{50e-6};
  Seconds length{45e-6};
  Seconds loss;
};

// A library collective beside a GEMM: its SMs wait longer for each load, the way between the devices does not. Alone
// its rate is r, r^-4 = (rate of the SMs)^-4 + path^-4, beside a GEMM on all SMs the first term grows by slowdown^4.
struct ChannelCost {
  Bandwidth path;         // wire bytes that a device sends
  double slowdown = 1.0;  // 1 = none
};

struct KernelTable;

// A measured row among those of its kernel.
struct PlacedRow {
  std::array<double, 6> place{};  // logarithms of m, n, k, use of the last wave ...
  double residual = 0.0;          // time / time of the coefficients - 1
  bool accumulate = false;
};

// The rows of a table by kernel, in the order of the table. Those of a kernel are placed when they are asked for the
// first time: most runs need few kernels. Copies begin anew, as a copy of a table is there to be changed.
class RowIndex {
 public:
  RowIndex() = default;
  RowIndex(const RowIndex&) {}
  RowIndex& operator=(const RowIndex&) {
    by_kernel_.clear();
    return *this;
  }
  // Any thread; the table must not change from the first call on.
  [[nodiscard]] std::span<const PlacedRow> of(const KernelTable& table, std::uint32_t kernel) const;

 private:
  mutable std::mutex guard_;
  mutable std::vector<std::optional<std::vector<PlacedRow>>> by_kernel_;
};

// Kernels with their measured GEMMs; or, where no kernel is known, measured GEMMs alone.
struct KernelTable {
  std::string path;
  DType operand = DType::bf16;
  std::uint32_t sms = 0;
  Bandwidth hbm;  // data-sheet rate to which `memory` refers
  std::vector<KernelModel> kernels;
  Seconds reduction;
  double reduction_share = 0.0;
  Seconds choice_reduction;
  double choice_reduction_share = 0.0;
  // Share by which a GEMM over all SMs is slower while a copy engine sends (receives) at the full rate of its route.
  double copy_out = 0.0;
  double copy_in = 0.0;
  LoadDip dip;
  ChannelCost channel;
  // This project's own kernel, whose parts signal; `fused_parts`: GEMMs with parts run as it, else as the library's.
  KernelModel fused;
  bool fused_parts = false;
  double fewer_sms = 0.0;          // step time falls by this share of the SMs that are left out (clock and L2 feed)
  std::vector<MeasuredGemm> rows;  // sorted by m, n, k, accumulate, sms
  std::vector<NearGemm> near;      // sorted by m, n, k; used where `kernels` is empty
  RowIndex index;                  // of `rows`
};

// Lines "machine,...", "dip,...", "channel,...", "fused,...", "kernel,...", "reduction,...", "gemm,...", "near,..." as
// `calibrate` writes them; '#' begins a comment. Throws InputError with file and line.
std::shared_ptr<const KernelTable> load_kernel_table(const std::string& path);
std::string to_csv(const KernelTable& table, const std::string& comment);

}  // namespace overlap
