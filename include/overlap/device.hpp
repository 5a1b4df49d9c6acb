// A compute device: data-sheet numbers and fitted coefficients, as a device file states them. Knows no ops.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "overlap/dtype.hpp"
#include "overlap/units.hpp"

namespace overlap {

// Kernels of a GEMM library as measured on this device; include/overlap/kernel_table.hpp.
struct KernelTable;

// Coefficients of the tile model of a GEMM (cost/tile.cpp), per device and library generation.
struct GemmCoefficients {
  double mma_efficiency = 0.9;     // share of the peak MMA rate that a main loop reaches
  Seconds fixed{2.5e-6};           // launch to first tile and last tile to end
  Seconds tile{1.9e-6};            // fill and drain of a 128x256 tile
  double l2_bytes_per_clock = 64;  // L2 feed per SM
  double hbm_efficiency = 0.8;     // share of the HBM rate that a GEMM reaches
  double power_floor = 1.0;        // clock ratio under a sustained full MMA load; 1 = no cap
  Seconds power_time{60e-6};       // time constant of the short-run throttle
  Seconds split_k{2.5e-6};         // reduction of a split K
  double busy_node = 0.0;          // share by which a GEMM is slower while all devices of the node compute (power)
  double accumulate_share = 0.8;   // share of the C read (beta = 1) that is not hidden
  // Where the library's kernels were measured: their own coefficients, and rows near which a prediction is corrected.
  // Then the generic coefficients above serve only operand types that the table does not hold.
  std::shared_ptr<const KernelTable> kernels;
};

// Time of a library collective, linear in bytes between knots (h200-findings: "table linear in bytes").
struct CollectiveKnot {
  Bytes bytes;  // whole buffer
  Seconds time;
};
struct CollectiveTable {
  std::string kind;  // "all_gather", "reduce_scatter", "all_reduce", "all_to_all"
  std::uint32_t members = 0;
  std::uint32_t channels = 0;  // SMs a member holds
  std::vector<CollectiveKnot> knots;
  // all_gather: the own piece lies in the gathered buffer already. Out of place the channels copy it too.
  bool in_place = false;
};

// What a stream, an event and a launch cost on this device.
struct StreamCosts {
  Seconds kernel_gap;        // kernel behind kernel in one stream
  Seconds satisfied_wait;    // each wait on an event that is already complete
  Seconds local_wait;        // wait on an event of the same device that completes later
  Seconds remote_wait;       // wait on an event of another device
  Seconds copy_start;        // start of a DMA copy
  Seconds copy_gap;          // DMA copy behind DMA copy in one stream
  Seconds collective_start;  // launch of a library collective
  Seconds release_join;      // path from release to join of all streams: parallel to the work, a maximum
  // How a measured time relates to the work (`validate`); zero where nothing was measured.
  Seconds join;         // release to first op and last op to join, of work on the timing device
  Seconds remote_join;  // the same of work on another device
  Seconds race_window;  // ops that become ready within this time may start in either order
  // More of a collective behind another op of its lane when an event lies between them (the library cannot prepare it
  // beside the one before); it holds its SMs meanwhile.
  Seconds collective_gap;
  // More of a copy (of a kernel) behind another op of its lane that records an event for other lanes.
  Seconds copy_event;
  Seconds kernel_event;
};

// What this project's own kernels reach here (`measure` runs them); zero: not measured. They serve where a measured run
// of ours is replayed (CostOptions::own_kernels); else a kernel copies at the link's rate and a codec has its published
// one.
struct OwnKernels {
  Bandwidth copy;        // of one SM that copies into or out of a peer's memory
  Bandwidth compress;    // window code, original bytes, a whole kernel
  Bandwidth decompress;  // the same
  Seconds compress_start;
  Seconds decompress_start;
};

// Stores of a kernel into a peer's memory and the buffer that they wait in after issue. X-Stage (arXiv 2607.23264),
// measured on GPUs of 148 SMs behind an NVSwitch; stands for every device until its own are measured.
struct RemoteStores {
  Bytes buffer{4456448.0};     // Q: 4.25 MiB
  Bandwidth drain{717e9};      // R: to all peers together, at most
  Bandwidth issue{6.3811e12};  // V/T0 = 148 x 32 KiB / 0.76 us into an empty buffer
};

struct PowerCap {
  Seconds onset;              // load that is free before the cap bites
  double steady_ratio = 1.0;  // time ratio under the cap
  Seconds ramp;               // from first bite to steady state
};

struct Device {
  std::string name;
  std::uint32_t sms = 0;
  Frequency clock;
  std::array<std::optional<FlopRate>, 7> peak{};  // dense MMA peak by DType
  Bytes l2;
  Bytes memory;
  Bandwidth hbm;                           // data-sheet rate
  double hbm_efficiency = 0.9;             // share that a stream of copies reaches
  std::uint32_t copy_engines = 0;          // transfers that DMA can carry at once
  std::uint32_t collective_channels = 16;  // library default
  std::uint32_t collective_cluster = 1;    // SMs that a collective takes together, of one group
  std::vector<std::uint32_t> sm_groups;    // SMs of each group (GPC); empty: unknown
  bool dma_2d = true;                      // copy engines move strided rectangles
  GemmCoefficients gemm;
  StreamCosts stream;
  RemoteStores remote_stores;
  OwnKernels own_kernels;
  std::vector<CollectiveTable> collectives;
  std::optional<PowerCap> power;
  bool estimate = false;         // labelled estimate: no measurement of this device behind it
  double validated_error = 0.0;  // median absolute error of predictions, as validated; 0 = never validated
  std::string source;

  // Peak of an MMA with these operands; throws InputError naming the device file's known types.
  [[nodiscard]] FlopRate peak_of(DType t) const;
};

}  // namespace overlap
