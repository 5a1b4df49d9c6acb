// Compress and decompress ops as launches of the window code's kernels.
#include <fmt/format.h>

#include <algorithm>

#include "cuda/device/program.hpp"
#include "overlap/error.hpp"

namespace overlap::gpu {
namespace {

// The stack as rectangles of a coder: rows without gaps are one row.
std::vector<DevicePiece> rectangles(const Machine& m, std::span<const Slice> stack, std::uint64_t& values) {
  std::vector<DevicePiece> out;
  values = 0;
  for (const Slice& s : stack) {
    if (s.elements() == 0) continue;
    if (m.graph.buffer(s.buffer).dtype != DType::bf16) throw InputError("", "the window code is for bf16");
    char* at = m.address(s);
    const std::uint64_t pitch = m.pitch(s) * 2;
    DevicePiece p{at, at, pitch, pitch, std::uint64_t{s.cols} * 2, s.rows};
    if (p.src_pitch == p.bytes) {
      p.bytes *= p.rows;
      p.rows = 1;
    }
    out.push_back(p);
    values += s.elements();
  }
  return out;
}

// Where the code lies in its u8 slices: one slice, or sign and mantissa bytes in the first and the rest in the second.
void place_code(const Machine& m, std::span<const Slice> coded, CodedBlock& block) {
  const auto up = [](std::uint64_t n) { return (n + 15) / 16 * 16; };
  block.early = m.address(coded[0]);
  std::uint64_t room = coded[0].elements();
  if (coded.size() > 1) {
    block.late = m.address(coded[1]);
    room = coded[1].elements();
  } else {
    block.late = block.early + up(block.values);
    room = room > up(block.values) ? room - up(block.values) : 0;
  }
  const std::uint64_t fixed = window_bytes(block.values);
  if (room < fixed) {
    throw InputError("", fmt::format("{} bytes for the code of {} values, {} are needed", room, block.values, fixed));
  }
  block.escapes = static_cast<std::uint32_t>(std::min<std::uint64_t>(room - fixed, 0xffffffffU));
}

}  // namespace

Work make_codec(Machine& m, const PlannedOp& planned) {
  const Op& op = m.graph.op(planned.op);
  const auto& e = std::get<Elementwise>(op.work);
  const LaneId lane = planned.members[0].lane;
  const bool encodes = e.kind == ElementwiseKind::compress;
  CodedBlock block;
  const auto plain = rectangles(m, m.graph.slices(encodes ? op.reads : op.writes), block.values);
  if (block.values == 0) return {[] {}, "", 1, nullptr};
  place_code(m, m.graph.slices(encodes ? op.writes : op.reads), block);
  const auto memory = std::make_shared<Memory>(m.gpu(lane), plain.size() * sizeof(DevicePiece));
  check(gpuMemcpy(memory->get(), plain.data(), plain.size() * sizeof(DevicePiece), gpuMemcpyDefault), "cudaMemcpy");
  block.pieces = reinterpret_cast<const DevicePiece*>(memory->get());
  block.count = static_cast<std::uint32_t>(plain.size());
  if (plain.size() == 1 && plain[0].rows == 1 && reinterpret_cast<std::uintptr_t>(plain[0].src) % 16 == 0) {
    block.run = reinterpret_cast<std::uint16_t*>(plain[0].dst);
  }
  const std::uint32_t ctas = e.ctas > 0 ? e.ctas : static_cast<std::uint32_t>(m.session.sms(m.gpu(lane)));
  Work work;
  work.launch = [&m, lane, block, memory, ctas, encodes] {
    m.use(lane);
    (encodes ? launch_encode : launch_decode)(block, ctas, m.stream(lane));
  };
  return work;
}

}  // namespace overlap::gpu
