// Collectives: NCCL where each member has its own GPU, else a rendezvous by events with copies and sums.
#include <algorithm>

#include "cuda/collective_pieces.hpp"
#include "cuda/copy_ctas.hpp"
#include "cuda/device/program.hpp"
#include "overlap/error.hpp"

namespace overlap::gpu {
namespace {

ncclDataType_t nccl_type(DType t) {
  switch (t) {
    case DType::bf16:
      return ncclBfloat16;
    case DType::f16:
      return ncclFloat16;
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
    default:
      return ncclUint8;
  }
}

struct Call {
  CollectiveKind kind = CollectiveKind::all_gather;
  cuda::CollectivePieces pieces;
  std::vector<LaneId> lanes;
  DType type = DType::bf16;
  std::vector<ncclComm_t> comms;
};

void native_call(const Machine& m, const Call& c, std::size_t i) {
  const Nccl& n = nccl();
  const auto size = static_cast<std::uint64_t>(size_of(c.type).si());
  const ncclDataType_t type = nccl_type(c.type);
  const cuda::Run& s = c.pieces.send[i];
  const cuda::Run& r = c.pieces.recv[i];
  void* recv = m.address(r.buffer, r.offset);
  const void* send = s.buffer.valid() ? m.address(s.buffer, s.offset) : recv;
  const gpuStream_t stream = m.stream(c.lanes[i]);
  const std::size_t members = c.lanes.size();
  switch (c.kind) {
    case CollectiveKind::all_gather:
      return check(n.all_gather(send, recv, s.bytes / size, type, c.comms[i], stream), "ncclAllGather");
    case CollectiveKind::reduce_scatter:
      return check(n.reduce_scatter(send, recv, r.bytes / size, type, ncclSum, c.comms[i], stream),
                   "ncclReduceScatter");
    case CollectiveKind::all_reduce:
      return check(n.all_reduce(send, recv, s.bytes / size, type, ncclSum, c.comms[i], stream), "ncclAllReduce");
    case CollectiveKind::broadcast:
      return check(n.broadcast(send, recv, r.bytes / size, type, 0, c.comms[i], stream), "ncclBroadcast");
    case CollectiveKind::all_to_all: {
      const std::uint64_t each = s.bytes / members;
      for (std::size_t peer = 0; peer < members; ++peer) {
        check(n.send(static_cast<const char*>(send) + peer * each, each / size, type, static_cast<int>(peer),
                     c.comms[i], stream),
              "ncclSend");
        check(n.recv(static_cast<char*>(recv) + peer * each, each / size, type, static_cast<int>(peer), c.comms[i],
                     stream),
              "ncclRecv");
      }
      return;
    }
  }
}

void point_to_point(const Machine& m, const Call& c) {
  const Nccl& n = nccl();
  const auto member_of = [&](BufferId b) {
    for (std::size_t i = 0; i < c.lanes.size(); ++i) {
      if (m.graph.lane(c.lanes[i]).device == m.graph.buffer(b).device) return i;
    }
    throw InputError("", "a collective reads from a device that is no member");
  };
  for (std::size_t to = 0; to < c.pieces.copies.size(); ++to) {
    for (const cuda::CopyPiece& p : c.pieces.copies[to]) {
      const std::size_t from = member_of(p.src);
      const void* src = m.address(p.src, p.src_offset);
      void* dst = m.address(p.dst, p.dst_offset);
      if (src == dst) continue;
      check(n.send(src, p.bytes, ncclUint8, static_cast<int>(to), c.comms[from], m.stream(c.lanes[from])), "ncclSend");
      check(n.recv(dst, p.bytes, ncclUint8, static_cast<int>(from), c.comms[to], m.stream(c.lanes[to])), "ncclRecv");
    }
  }
}

std::function<void()> library_launch(Machine& m, std::shared_ptr<Call> c) {
  return [&m, c] {
    const Nccl& n = nccl();
    check(n.group_start(), "ncclGroupStart");
    if (c->pieces.native()) {
      for (std::size_t i = 0; i < c->lanes.size(); ++i) native_call(m, *c, i);
    } else {
      point_to_point(m, *c);
    }
    check(n.group_end(), "ncclGroupEnd");
  };
}

// All members have arrived when each has waited for every other's event.
class Rendezvous {
 public:
  Rendezvous(Machine& m, const std::vector<LaneId>& lanes) : machine_(m), lanes_(lanes) {
    for (const LaneId lane : lanes) events_.push_back(m.event(m.gpu(lane)));
  }
  void meet() const {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      machine_.use(lanes_[i]);
      check(gpuEventRecord(events_[i], machine_.stream(lanes_[i])), "cudaEventRecord");
    }
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      machine_.use(lanes_[i]);
      for (std::size_t j = 0; j < lanes_.size(); ++j) {
        if (i != j) check(gpuStreamWaitEvent(machine_.stream(lanes_[i]), events_[j], 0), "cudaStreamWaitEvent");
      }
    }
  }

 private:
  Machine& machine_;
  std::vector<LaneId> lanes_;
  std::vector<gpuEvent_t> events_;
};

std::function<void()> copies_launch(Machine& m, std::shared_ptr<Call> c) {
  auto before = std::make_shared<Rendezvous>(m, c->lanes);
  auto between = std::make_shared<Rendezvous>(m, c->lanes);
  auto after = std::make_shared<Rendezvous>(m, c->lanes);
  auto sums = std::make_shared<std::vector<std::vector<DeviceSum>>>();
  for (const auto& list : c->pieces.sums) sums->push_back(device_sums(m, list));
  return [&m, c, before, between, after, sums] {
    before->meet();
    for (std::size_t i = 0; i < c->pieces.copies.size(); ++i) engine_copies(m, c->lanes[i], c->pieces.copies[i]);
    for (std::size_t i = 0; i < sums->size(); ++i) {
      m.use(c->lanes[i]);
      for (const DeviceSum& s : (*sums)[i]) launch_sum(s, cuda::kSumCtas, m.stream(c->lanes[i]));
    }
    if (!c->pieces.spread.empty()) {
      between->meet();
      for (std::size_t i = 0; i < c->pieces.spread.size(); ++i) engine_copies(m, c->lanes[i], c->pieces.spread[i]);
    }
    after->meet();
  };
}

}  // namespace

Work make_collective(Machine& m, const PlannedOp& planned) {
  const Op& op = m.graph.op(planned.op);
  const auto& work = std::get<Collective>(op.work);
  auto c = std::make_shared<Call>();
  c->kind = work.kind;
  const bool library = planned.how == Execution::library_collective;
  c->pieces = cuda::collective_pieces(m.graph, op, !library);
  c->type = m.graph.buffer(m.graph.slices(op.writes).front().buffer).dtype;
  std::vector<std::uint32_t> gpus;
  for (const PlannedMember& member : planned.members) {
    c->lanes.push_back(member.lane);
    gpus.push_back(m.gpu(member.lane));
  }
  Work out;
  if (library) {
    const std::uint32_t channels = work.channels > 0 ? work.channels : m.session.options().channels;
    c->comms = m.session.communicator(gpus, channels);
    out.launch = library_launch(m, c);
  } else {
    out.launch = copies_launch(m, c);
  }
  return out;
}

}  // namespace overlap::gpu
