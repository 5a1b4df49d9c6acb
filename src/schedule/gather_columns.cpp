#include <array>

#include "schedule/decomposed.hpp"

namespace overlap::blocks {
namespace {

// By holder, then owner: the block of columns [tokens, in/P] as it arrives; the holder's own lies where it was.
using Blocks = std::vector<std::vector<Slice>>;

Blocks block_buffers(GraphBuilder& b, const Workload& w, const LayerInputs& in, bool own_too) {
  Blocks out(w.tp);
  for (std::uint32_t h = 0; h < w.tp; ++h) {
    for (std::uint32_t o = 0; o < w.tp; ++o) {
      const std::uint32_t cols = piece(w.in, w.tp, o).size;
      const bool here = o == h && !own_too;
      out[h].push_back(here || cols == 0 ? in.x[o].slices[0]
                                         : b.all(b.buffer(DeviceId(h), w.tokens, cols, w.wire, BufferRole::scratch,
                                                          "gathered block")));
    }
  }
  return out;
}

// By holder: what its blocks wait for.
std::vector<std::vector<Dep>> move_blocks(GraphBuilder& b, const Workload& w, const LayerInputs& in, const Comm& comm,
                                          const Blocks& blocks) {
  std::vector<std::vector<Dep>> arrived(w.tp);
  std::vector<Dep> before(w.tp);  // by owner: the block's last hop
  for (std::uint32_t shift = 1; shift < w.tp; ++shift) {
    for (std::uint32_t o = 0; o < w.tp; ++o) {
      const DeviceId owner(o);
      const DeviceId holder = comm.next(owner, shift);
      const bool hands_on = comm.path == Path::ring && shift > 1;
      const DeviceId from = hands_on ? comm.next(owner, shift - 1) : owner;
      if (blocks[holder.index()][o].cols == 0) continue;
      std::vector<Dep> deps = in.x[o].ready;
      if (hands_on) deps = {before[o]};
      const std::uint32_t lane = comm.path == Path::ring ? 0 : (shift - 1) % comm.lanes;
      const Slice source = from == owner ? in.x[o].slices[0] : blocks[from.index()][o];
      before[o] = {b.transfer(comm_lane(b, from, comm.first_lane + lane), comm.transfer, std::array{source},
                              std::array{blocks[holder.index()][o]},
                              {.deps = deps, .label = b.label("block of {} to {}", o, holder.v)}),
                   {}};
      arrived[holder.index()].push_back(before[o]);
    }
  }
  return arrived;
}

OpId library_gather(GraphBuilder& b, const Workload& w, const LayerInputs& in, const Comm& comm, const Blocks& blocks) {
  std::vector<LaneId> lanes;
  std::vector<Slice> reads;
  std::vector<Slice> writes;
  std::vector<Dep> deps;
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    lanes.push_back(comm_lane(b, DeviceId(r), comm.first_lane));
    reads.push_back(in.x[r].slices[0]);
    deps.insert(deps.end(), in.x[r].ready.begin(), in.x[r].ready.end());
    for (std::uint32_t o = 0; o < w.tp; ++o) {
      Slice to = blocks[r][o];
      if (piece(w.in, w.tp, o).size == 0) to = {blocks[r][0].buffer, 0, 0, 0, 0};  // nothing comes
      writes.push_back(to);
    }
  }
  return b.collective(lanes, {CollectiveKind::all_gather, CollectiveAlgorithm::automatic, comm.channels}, reads, writes,
                      {.deps = deps, .label = b.label("all-gather")});
}

}  // namespace

std::vector<Tensor> gather_columns(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in,
                                   const Comm& comm) {
  const Workload& w = ctx.workload;
  std::vector<Tensor> out = outputs(b, w);
  const bool library = comm.path == Path::library && w.tp > 1;
  const Blocks blocks = block_buffers(b, w, in, library);
  std::vector<std::vector<Dep>> arrived(w.tp);
  if (library) {
    arrived.assign(w.tp, {{library_gather(b, w, in, comm, blocks), {}}});
  } else {
    arrived = move_blocks(b, w, in, comm, blocks);
  }
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const DeviceId d(r);
    std::vector<Dep> deps = arrived[r];
    deps.insert(deps.end(), in.x[r].ready.begin(), in.x[r].ready.end());
    Slice x = in.x[r].slices[0];
    if (w.tp > 1) {
      x = b.all(b.buffer(d, w.tokens, w.in, w.wire, BufferRole::scratch, "gathered X"));
      std::vector<Slice> reads;
      std::vector<Slice> writes;
      for (std::uint32_t o = 0; o < w.tp; ++o) {
        const Extent cols = piece(w.in, w.tp, o);
        if (cols.size == 0) continue;
        reads.push_back(blocks[r][o]);
        writes.push_back(columns(x, cols.begin, cols.size));
      }
      deps = {{b.elementwise(compute_lane(b, d), {}, reads, writes,
                             {.deps = deps, .label = b.label("blocks side by side")}),
               {}}};
    }
    deps.insert(deps.end(), in.w[r].ready.begin(), in.w[r].ready.end());
    const OpId op = b.gemm(compute_lane(b, d), gemm_work(ctx, local_gemm(w, r), d), std::array{x}, in.w[r].slices,
                           out[r].slices, {.deps = deps, .label = b.label("GEMM")});
    out[r].ready.push_back({op, {}});
  }
  return out;
}

}  // namespace overlap::blocks
