#include "cuda/device/tile_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cuda/device/program.hpp"
#include "cuda/pieces.hpp"
#include "overlap/error.hpp"

namespace overlap::gpu {
namespace {

// A row-major bf16 rectangle with rows of `cols` and a pitch, loaded in boxes of box_rows x 64 columns with 128-byte
// swizzle; zero beyond the edges.
CUtensorMap encode(const void* data, std::uint32_t rows, std::uint32_t cols, std::uint64_t pitch,
                   std::uint32_t box_rows) {
  CUtensorMap map{};
  const cuuint64_t extent[2] = {cols, rows};
  const cuuint64_t stride[1] = {pitch * 2};
  const cuuint32_t box[2] = {kWgmmaBoxColumns, box_rows};
  const cuuint32_t step[2] = {1, 1};
  check(driver().encode_tiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(data), extent, stride, box,
                              step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                              CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  return map;
}

bool aligned(const void* p, std::uint64_t pitch) {
  return reinterpret_cast<std::uintptr_t>(p) % 16 == 0 && pitch % 8 == 0;
}

std::uint32_t up(std::uint32_t n, std::uint32_t by) {
  return (n + by - 1) / by;
}

}  // namespace

TileLaunch::TileLaunch(Machine& machine, const PlannedOp& op)
    : machine_(machine), lane_(op.members[0].lane), gpu_(machine.gpu(op.members[0].lane)), ctas_(op.sms) {
  const auto& gemm = std::get<Gemm>(machine.graph.op(op.op).work);
  if (machine.session.gpus() > kMaxGpus) throw InputError("", "the tile kernel signals at most 8 GPUs");
  for (std::uint32_t p = gemm.parts.begin; p < gemm.parts.end; ++p) {
    add_part(PartId(p), gemm.accumulate);
  }
  wgmma_ = machine.session.host().gpus[gpu_].wgmma && fits_wgmma();
  const TileShape shape = tile();
  for (TilePart& part : parts_) {
    part.first_tile = tile_count_;
    for (std::uint32_t i = part.product_begin; i < part.product_end; ++i) {
      products_[i].first_tile = part.tiles;
      part.tiles += up(products_[i].m, shape.rows) * up(products_[i].n, shape.cols);
    }
    tile_count_ += part.tiles;
  }
  args_.fixed = gemm.order == PartOrder::fixed ? 1 : 0;
  ctas_ = std::clamp(ctas_ > 0 ? ctas_ : static_cast<std::uint32_t>(machine.session.sms(gpu_)), 1U,
                     std::max(1U, tile_count_));
  if (wgmma_) encode_maps();
  upload();
}

void TileLaunch::add_part(PartId id, bool accumulate) {
  const Part& part = machine_.graph.part(id);
  const PlannedPart& planned = machine_.plan.parts[id.index()];
  const auto& stores = machine_.plan.stores;
  const auto store = std::find_if(stores.begin(), stores.end(), [&](const EpilogueStore& s) { return s.part == id; });
  TilePart out;
  out.product_begin = static_cast<std::uint32_t>(products_.size());
  for (const cuda::Product& p : cuda::products(machine_.graph, part, accumulate)) {
    TileProduct t;
    t.a = machine_.address(p.a);
    t.b = machine_.address(p.b);
    Slice c = p.c;
    if (store != stores.end()) {  // the same place in the rectangle that the remote store leads to
      const Slice own = machine_.graph.slices(part.c)[0];
      c = {store->to.buffer, store->to.row + (c.row - own.row), c.rows, store->to.col + (c.col - own.col), c.cols};
    }
    t.c = machine_.address(c);
    t.lda = machine_.pitch(p.a);
    t.ldb = machine_.pitch(p.b);
    t.ldc = machine_.pitch(c);
    t.m = p.c.rows;
    t.n = p.c.cols;
    t.k = p.b.rows;
    t.accumulate = p.accumulate ? 1 : 0;
    products_.push_back(t);
  }
  out.product_end = static_cast<std::uint32_t>(products_.size());
  out.wait_begin = static_cast<std::uint32_t>(waits_.size());
  for (const Signal& s : planned.waits) waits_.push_back(s.index);
  out.wait_end = static_cast<std::uint32_t>(waits_.size());
  out.flag = planned.done.flag;
  out.flag_gpus = planned.done.flag == kNoSignal ? 0 : planned.done.flag_gpus;
  parts_.push_back(out);
}

bool TileLaunch::fits_wgmma() const {
  return std::all_of(products_.begin(), products_.end(),
                     [](const TileProduct& p) { return aligned(p.a, p.lda) && aligned(p.b, p.ldb); });
}

void TileLaunch::encode_maps() {
  for (TileProduct& p : products_) {
    p.map_a = static_cast<std::uint32_t>(maps_.size());
    maps_.push_back(encode(p.a, p.m, p.k, p.lda, kWgmmaTile.rows));
    p.map_b = static_cast<std::uint32_t>(maps_.size());
    maps_.push_back(encode(p.b, p.k, p.n, p.ldb, kWgmmaDepth));
  }
}

void TileLaunch::upload() {
  std::vector<char> host;
  const auto place = [&](const void* data, std::size_t bytes) {
    const std::size_t at = (host.size() + 127) / 128 * 128;
    host.resize(at + std::max<std::size_t>(bytes, 8), 0);
    if (data != nullptr && bytes > 0) std::memcpy(host.data() + at, data, bytes);
    return at;
  };
  const std::size_t parts = parts_.size();
  const std::size_t maps = place(maps_.data(), maps_.size() * sizeof(CUtensorMap));
  const std::size_t products = place(products_.data(), products_.size() * sizeof(TileProduct));
  const std::size_t part_list = place(parts_.data(), parts * sizeof(TilePart));
  const std::size_t waits = place(waits_.data(), waits_.size() * sizeof(std::uint32_t));
  const std::size_t counters = place(nullptr, sizeof(TileCounters));
  const std::size_t next = place(nullptr, parts * sizeof(std::uint32_t));
  const std::size_t done = place(nullptr, parts * sizeof(std::uint32_t));
  const std::size_t ends = place(nullptr, parts * sizeof(std::uint64_t));
  const std::size_t tiles = place(nullptr, tile_count_ * sizeof(std::uint64_t));
  memory_ = Memory(gpu_, host.size());
  check(gpuMemcpy(memory_.get(), host.data(), host.size(), gpuMemcpyDefault), "cudaMemcpy");
  char* base = memory_.get();
  args_.maps = base + maps;
  args_.products = reinterpret_cast<TileProduct*>(base + products);
  args_.parts = reinterpret_cast<TilePart*>(base + part_list);
  args_.waits = reinterpret_cast<std::uint32_t*>(base + waits);
  args_.counters = reinterpret_cast<TileCounters*>(base + counters);
  args_.part_next = reinterpret_cast<std::uint32_t*>(base + next);
  args_.part_done = reinterpret_cast<std::uint32_t*>(base + done);
  args_.part_end = reinterpret_cast<std::uint64_t*>(base + ends);
  args_.tile_end = reinterpret_cast<std::uint64_t*>(base + tiles);
  args_.own_gpu = gpu_;
  args_.part_count = static_cast<std::uint32_t>(parts);
  args_.tile_count = tile_count_;
  for (std::uint32_t g = 0; g < machine_.session.gpus(); ++g) args_.flags[g] = machine_.flags(g);
}

void TileLaunch::launch() {
  machine_.use(lane_);
  args_.epoch = machine_.epoch;
  if (wgmma_) {
    launch_tile_gemm_wgmma(args_, ctas_, machine_.stream(lane_));
  } else {
    launch_tile_gemm_mma(args_, ctas_, machine_.stream(lane_));
  }
}

std::string TileLaunch::choice() const {
  const TileShape shape = tile();
  return fmt::format("tile kernel {} {}x{}, {} CTAs, {} parts, {} tiles", wgmma_ ? "wgmma" : "mma.sync", shape.rows,
                     shape.cols, ctas_, parts_.size(), tile_count_);
}

std::vector<std::uint64_t> TileLaunch::part_ends() const {
  std::vector<std::uint64_t> out(parts_.size());
  check(gpuMemcpy(out.data(), args_.part_end, out.size() * sizeof(std::uint64_t), gpuMemcpyDefault), "cudaMemcpy");
  return out;
}

std::vector<std::uint64_t> TileLaunch::tile_ends() const {
  std::vector<std::uint64_t> out(tile_count_);
  check(gpuMemcpy(out.data(), args_.tile_end, out.size() * sizeof(std::uint64_t), gpuMemcpyDefault), "cudaMemcpy");
  return out;
}

}  // namespace overlap::gpu
