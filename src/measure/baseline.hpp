// Graphs that measurements need beside the schedules: one part of a layer alone, copies, collectives, event chains,
// contention.
#pragma once

#include "overlap/op_graph.hpp"
#include "overlap/workload.hpp"

namespace overlap::cuda {

// The layer's GEMM alone on every device, its operands complete: whole, in d row pieces, or in d K pieces (beta = 1).
enum class Cut : std::uint8_t { rows, k };
OpGraph gemm_only(const Workload& w, Cut cut, std::uint32_t pieces);
// The layer's collective alone: by the library, or pushed by copy engines (all-gather only).
OpGraph collective_only(const Workload& w, bool library);

// One GEMM on one device.
OpGraph single_gemm(GemmShape shape);
// The same with one part a tile of tile.m x tile.n, in index order: one kernel whose tiles tell their end.
OpGraph tiled_gemm(GemmShape shape, GemmShape tile);
// `chunks` copies of `bytes` from device 0 to 1 (and back), dealt out to `streams` lanes.
struct CopyCase {
  std::uint64_t bytes = 0;
  std::uint32_t chunks = 1;
  std::uint32_t streams = 1;
  bool both_ways = false;
  bool same_device = false;
};
OpGraph copies(const CopyCase& c);
// A collective over `bytes` of bf16 (the whole buffer) on `devices` devices.
OpGraph collective(CollectiveKind kind, std::uint64_t bytes, std::uint32_t devices, std::uint32_t channels = 0);
// All-gather whose members' own pieces lie in the gathered buffer already.
OpGraph gather_in_place(std::uint64_t bytes, std::uint32_t devices, std::uint32_t channels);
// Nothing to do on either of two devices: the path from release to join.
OpGraph empty(std::uint32_t devices);
// `hops` short kernels: in one lane, in turn on two lanes of a device, or in turn on two devices.
enum class Chain : std::uint8_t { lane, local, remote };
OpGraph event_chain(Chain kind, std::uint32_t hops);

// `gemms` GEMMs back to back on device 0 beside `chunks` copies or collectives of `bytes`.
enum class Beside : std::uint8_t { alone, dma_out, dma_in, dma_both, gather, reduce };
OpGraph contention(GemmShape shape, std::uint32_t gemms, Beside beside, std::uint64_t bytes, std::uint32_t chunks);

}  // namespace overlap::cuda
