// Work of one op as a launch: Gemms, copies, elementwise kernels.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "cuda/collective_pieces.hpp"
#include "cuda/copy_ctas.hpp"
#include "cuda/device/program.hpp"
#include "overlap/error.hpp"

namespace overlap::gpu {
namespace {

constexpr std::uint32_t kElementCtasPerSm = 4;

LibraryGemm::Problem problem_of(const Machine& m, const cuda::Product& p, DType operand, std::uint32_t sms) {
  LibraryGemm::Problem x;
  x.a = m.address(p.a);
  x.b = m.address(p.b);
  x.c = m.address(p.c);
  x.lda = m.pitch(p.a);
  x.ldb = m.pitch(p.b);
  x.ldc = m.pitch(p.c);
  x.m = p.c.rows;
  x.n = p.c.cols;
  x.k = p.b.rows;
  x.operand = operand;
  x.output = m.graph.buffer(p.c.buffer).dtype;
  x.accumulate = p.accumulate;
  x.sms = sms > 0 ? sms : m.session.options().gemm_sms;
  return x;
}

std::int64_t distance(const void* from, const void* to, DType type) {
  return (static_cast<const char*>(to) - static_cast<const char*>(from)) /
         static_cast<std::int64_t>(size_of(type).si());
}

// Joins `x` to the batch before it: the same product further along A, B and C, at the batch's own steps.
bool joins(LibraryGemm::Problem& batch, const LibraryGemm::Problem& x) {
  const auto shape = [](const LibraryGemm::Problem& p) {
    return std::tie(p.lda, p.ldb, p.ldc, p.m, p.n, p.k, p.accumulate);
  };
  if (shape(batch) != shape(x) || x.c == batch.c) return false;
  const std::int64_t a = distance(batch.a, x.a, batch.operand);
  const std::int64_t b = distance(batch.b, x.b, batch.operand);
  const std::int64_t c = distance(batch.c, x.c, batch.output);
  if (a < 0 || b < 0 || c < 0) return false;  // the library's tensor maps know no steps backwards
  const std::int64_t n = batch.batch;
  if (n == 1) {
    batch.step_a = a;
    batch.step_b = b;
    batch.step_c = c;
  } else if (a != n * batch.step_a || b != n * batch.step_b || c != n * batch.step_c) {
    return false;
  }
  ++batch.batch;
  return true;
}

// The products of a part in as few calls as the library allows. Rows that lie in several buffers are one batched call
// where they are equal and equally spaced, as the pieces of two equal shards always are.
std::vector<LibraryGemm> library_gemms(Machine& m, LaneId lane, const Part& part, const Gemm& gemm, std::uint32_t sms) {
  std::vector<LibraryGemm::Problem> problems;
  for (const cuda::Product& p : cuda::products(m.graph, part, gemm.accumulate)) {
    const LibraryGemm::Problem x = problem_of(m, p, gemm.dtype, sms);
    if (problems.empty() || !joins(problems.back(), x)) problems.push_back(x);
  }
  std::vector<LibraryGemm> calls;
  for (const LibraryGemm::Problem& x : problems) {
    calls.emplace_back(m.session.blas(m.gpu(lane)), x, m.session.workspace(m.gpu(lane), m.ordinal(lane)));
  }
  return calls;
}

// All parts of a Gemm as library calls; each part waits and completes on its own.
Work gemm_work(Machine& m, const PlannedOp& op) {
  const auto& gemm = std::get<Gemm>(m.graph.op(op.op).work);
  const LaneId lane = op.members[0].lane;
  m.use(lane);
  struct Chunk {
    std::uint32_t part;
    std::vector<LibraryGemm> calls;
  };
  auto chunks = std::make_shared<std::vector<Chunk>>();
  Work work;
  work.launches = 0;
  for (std::uint32_t part = gemm.parts.begin; part < gemm.parts.end; ++part) {
    Chunk chunk{part, library_gemms(m, lane, m.graph.parts()[part], gemm, op.sms)};
    work.launches += static_cast<std::uint32_t>(chunk.calls.size());
    if (work.choice.empty() && !chunk.calls.empty()) work.choice = "cublasLt " + chunk.calls.front().algorithm();
    chunks->push_back(std::move(chunk));
  }
  work.launch = [&m, lane, chunks] {
    m.use(lane);
    for (const Chunk& c : *chunks) {
      const PlannedPart& planned = m.plan.parts[c.part];
      m.wait(lane, planned.waits);
      for (const LibraryGemm& call : c.calls) call.launch(m.stream(lane));
      m.complete(lane, planned.done);
    }
  };
  return work;
}

void copy_by_engine(const Machine& m, LaneId lane, const std::vector<cuda::CopyPiece>& pieces) {
  for (const cuda::CopyPiece& p : pieces) {
    char* dst = m.address(p.dst, p.dst_offset);
    const char* src = m.address(p.src, p.src_offset);
    if (dst == src) continue;
    if (p.rows == 1) {
      const auto to = static_cast<int>(m.plan.buffers[p.dst.index()].gpu);
      const auto from = static_cast<int>(m.plan.buffers[p.src.index()].gpu);
      check(gpuMemcpyPeerAsync(dst, to, src, from, p.bytes, m.stream(lane)), "cudaMemcpyPeerAsync");
    } else {
      check(gpuMemcpy2DAsync(dst, p.dst_pitch, src, p.src_pitch, p.bytes, p.rows, gpuMemcpyDefault, m.stream(lane)),
            "cudaMemcpy2DAsync");
    }
  }
}

std::vector<std::vector<Slice>> equal_groups(std::span<const Slice> all, std::size_t ways) {
  std::vector<std::vector<Slice>> out;
  const std::size_t each = all.size() / ways;
  for (std::size_t i = 0; i < ways; ++i) {
    const auto g = all.subspan(i * each, each);
    out.emplace_back(g.begin(), g.end());
  }
  return out;
}

Work sums_work(Machine& m, LaneId lane, std::vector<cuda::SumPiece> sums, std::uint32_t ctas) {
  auto list = std::make_shared<std::vector<DeviceSum>>(device_sums(m, sums));
  Work work;
  work.launch = [&m, lane, list, ctas] {
    m.use(lane);
    for (const DeviceSum& s : *list) launch_sum(s, ctas, m.stream(lane));
  };
  return work;
}

Work transfer_work(Machine& m, const PlannedOp& planned) {
  const Op& op = m.graph.op(planned.op);
  const auto& t = std::get<Transfer>(op.work);
  const LaneId lane = planned.members[0].lane;
  const auto reads = m.graph.slices(op.reads);
  const auto writes = m.graph.slices(op.writes);
  const std::uint32_t ctas = t.ctas > 0 ? t.ctas : cuda::kCopyCtas;
  if (t.fan == Fan::reduce)
    return sums_work(m, lane, cuda::sum_pieces(m.graph, equal_groups(reads, t.ways), writes, t.accumulate), ctas);
  if (t.accumulate) return sums_work(m, lane, cuda::sum_pieces(m.graph, equal_groups(reads, 1), writes, true), ctas);
  std::vector<cuda::CopyPiece> pieces;
  for (const auto& to : equal_groups(writes, t.fan == Fan::multicast ? t.ways : 1U)) {
    const auto more = cuda::copy_pieces(m.graph, reads, to);
    pieces.insert(pieces.end(), more.begin(), more.end());
  }
  Work work;
  if (planned.how == Execution::copy_engine) {
    work.launch = [&m, lane, pieces] {
      m.use(lane);
      copy_by_engine(m, lane, pieces);
    };
  } else {
    work.launch = copy_kernel(m, lane, pieces, ctas);
  }
  return work;
}

Work elementwise_work(Machine& m, const PlannedOp& planned) {
  const Op& op = m.graph.op(planned.op);
  const auto& e = std::get<Elementwise>(op.work);
  const LaneId lane = planned.members[0].lane;
  const std::uint32_t ctas =
      e.ctas > 0 ? e.ctas : static_cast<std::uint32_t>(m.session.sms(m.gpu(lane))) * kElementCtasPerSm;
  if (e.kind == ElementwiseKind::compress || e.kind == ElementwiseKind::decompress) return make_codec(m, planned);
  Work work;
  if (e.kind == ElementwiseKind::delay) {
    const auto ns = static_cast<std::uint64_t>(e.delay.si() * 1e9);
    work.launch = [&m, lane, ns] {
      m.use(lane);
      launch_delay(ns, m.stream(lane));
    };
  } else if (e.kind == ElementwiseKind::add) {
    const auto reads = m.graph.slices(op.reads);
    const auto writes = m.graph.slices(op.writes);
    const std::size_t ways = std::max<std::size_t>(1, reads.size() / std::max<std::size_t>(1, writes.size()));
    return sums_work(m, lane, cuda::sum_pieces(m.graph, equal_groups(reads, ways), writes, false), ctas);
  } else {
    work.launch =
        copy_kernel(m, lane, cuda::copy_pieces(m.graph, m.graph.slices(op.reads), m.graph.slices(op.writes)), ctas);
  }
  return work;
}

}  // namespace

Element element_of(DType t) {
  switch (t) {
    case DType::bf16:
      return Element::bf16;
    case DType::f16:
      return Element::f16;
    case DType::f32:
      return Element::f32;
    default:
      throw InputError("", fmt::format("the GPU backend adds and checks bf16, f16 and f32, not {}", to_text(t)));
  }
}

std::vector<DeviceSum> device_sums(const Machine& m, const std::vector<cuda::SumPiece>& sums) {
  std::vector<DeviceSum> out;
  for (const cuda::SumPiece& s : sums) {
    const cuda::CopyPiece& first = s.terms.front();
    const DType type = m.graph.buffer(first.dst).dtype;
    const auto size = static_cast<std::uint64_t>(size_of(type).si());
    DeviceSum d;
    d.dst = m.address(first.dst, first.dst_offset);
    d.dst_pitch = first.dst_pitch / size;
    d.rows = static_cast<std::uint32_t>(first.rows);
    d.cols = static_cast<std::uint32_t>(first.bytes / size);
    d.type = element_of(type);
    if (s.terms.size() > kMaxTerms) throw InputError("", fmt::format("a sum of more than {} terms", kMaxTerms));
    for (const cuda::CopyPiece& t : s.terms) {
      if (m.graph.buffer(t.src).dtype != type) throw InputError("", "a sum over different element types");
      d.src[d.terms] = m.address(t.src, t.src_offset);
      d.src_pitch[d.terms++] = t.src_pitch / size;
    }
    out.push_back(d);
  }
  return out;
}

std::function<void()> copy_kernel(Machine& m, LaneId lane, const std::vector<cuda::CopyPiece>& pieces,
                                  std::uint32_t ctas) {
  std::vector<DevicePiece> list;
  for (const cuda::CopyPiece& p : pieces) {
    char* dst = m.address(p.dst, p.dst_offset);
    const char* src = m.address(p.src, p.src_offset);
    if (dst != src) list.push_back({src, dst, p.src_pitch, p.dst_pitch, p.bytes, p.rows});
  }
  auto memory = std::make_shared<Memory>(m.gpu(lane), list.size() * sizeof(DevicePiece));
  if (!list.empty()) {
    check(gpuMemcpy(memory->get(), list.data(), list.size() * sizeof(DevicePiece), gpuMemcpyDefault), "cudaMemcpy");
  }
  const auto count = static_cast<std::uint32_t>(list.size());
  return [&m, lane, memory, count, ctas] {
    if (count == 0) return;
    m.use(lane);
    launch_copy(reinterpret_cast<const DevicePiece*>(memory->get()), count, ctas, m.stream(lane));
  };
}

void engine_copies(const Machine& m, LaneId lane, const std::vector<cuda::CopyPiece>& pieces) {
  m.use(lane);
  copy_by_engine(m, lane, pieces);
}

Work make_work(Machine& m, const PlannedOp& op) {
  switch (op.how) {
    case Execution::library_gemm:
    case Execution::chunked_gemm:
      return gemm_work(m, op);
    case Execution::fused_gemm: {
      auto tiles = std::make_shared<TileLaunch>(m, op);
      return {[tiles] { tiles->launch(); }, tiles->choice(), 1, tiles};
    }
    case Execution::copy_engine:
    case Execution::sm_copy:
      return transfer_work(m, op);
    case Execution::epilogue_store:
      return {[] {}, "", 1, nullptr};
    case Execution::library_collective:
    case Execution::copy_collective:
      return make_collective(m, op);
    case Execution::kernel:
      return elementwise_work(m, op);
  }
  throw InputError("", "unknown kind of execution");
}

}  // namespace overlap::gpu
