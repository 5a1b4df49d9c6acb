// FiCCO (arXiv 2512.10236): all-gather before a GEMM where every shard is cut in chunks, so that each step is an
// exchange of chunks between all ranks and every link of a mesh works. The whole design space of the paper:
//   uniform|hetero   every step's GEMM alike, the own chunk among them | own shard as its own GEMM at once
//   fused|unfused    one GEMM a step over what arrived | one GEMM a chunk
//   1d|2d            chunks are rows of a shard | slices of its columns (K), GEMMs accumulate
// The paper keeps uniform-fused-1d, uniform-fused-2d, hetero-unfused-1d and a fourth, taken here to be hetero-fused-1d.
// Reduce-scatter is left out as in the paper: copies do no arithmetic.
//
// Order of execution is reconstructed from the axes and the paper's step counts. Our choices: a uniform fused step
// gathers own and received chunks into one operand by a kernel in the compute stream (`gather`: or by a local copy, or
// not at all where the GEMM reads pieces in place); where copy engines cannot move 2D rectangles, slices are packed by
// a kernel, sent as 1D copies and lie contiguous at the receiver (`two_d`), which is what the paper emulated without
// the packing.
//
// Closed form: steps of the exchange against the GEMMs, f = max(f, k t) + GEMMs of step k; without gathers.
#include <algorithm>
#include <array>

#include "schedule/phase_time.hpp"

namespace overlap::ficco {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm};

struct Shape {
  bool hetero = false;
  bool fused = false;
  bool two_d = false;
  std::uint32_t chunks = 1;
};

Shape shape_of(const ScheduleContext& ctx) {
  const std::string& v = ctx.params.text("variant");
  Shape s;
  s.hetero = v.starts_with("hetero");
  s.fused = v.find("-fused") != std::string::npos;
  s.two_d = v.ends_with("2d");
  const std::uint32_t chunks = count(ctx, "chunks");
  s.chunks = chunks == 0 ? ctx.workload.tp : chunks;
  return s;
}

// Slices are packed by a kernel before they leave.
bool packs(const ScheduleContext& ctx) {
  if (!shape_of(ctx).two_d || ctx.workload.tp == 1) return false;
  const std::string& how = ctx.params.text("two_d");
  if (how != "auto") return how == "packed";
  if (ctx.params.text("mover") != "dma") return false;
  return std::any_of(ctx.devices.begin(), ctx.devices.begin() + ctx.workload.tp,
                     [](const Device& d) { return !d.dma_2d; });
}

// Rows (of the whole) and columns of chunk k of rank r's shard.
struct Chunk {
  Extent rows;
  Extent cols;
};
Chunk chunk_of(const Workload& w, const Shape& s, std::uint32_t k, std::uint32_t r) {
  const Extent share = piece(w.tokens, w.tp, r);
  if (s.two_d) return {share, piece(w.in, s.chunks, k)};
  const Extent part = piece(share.size, s.chunks, k);
  return {{share.begin + part.begin, part.size}, {0, w.in}};
}

class Ficco {
 public:
  Ficco(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in)
      : b_(b),
        ctx_(ctx),
        w_(ctx.workload),
        in_(in),
        shape_(shape_of(ctx)),
        comm_(comm_of(ctx, std::max(1U, ctx.workload.tp - 1))),
        packs_(packs(ctx)),
        out_(outputs(b, ctx.workload)),
        gathers_(gathers()) {
    plan_.label = b.label("chunk of {} to {}");
    plan_.from.resize(w_.tp);
    plan_.ready.resize(w_.tp);
    plan_.to.resize(w_.tp);
    plan_.remote_only = shape_.hetero && comm_.path != Path::library;
    for (std::uint32_t r = 0; r < w_.tp; ++r) plan_.ready[r] = in.x[r].ready;
  }

  std::vector<Tensor> build() {
    if (shape_.hetero) own_shards();
    for (std::uint32_t k = 0; k < shape_.chunks; ++k) step(k);
    return std::move(out_);
  }

 private:
  enum class Gathers : std::uint8_t { none, kernel, copy };
  [[nodiscard]] Gathers gathers() const {
    const std::string& how = ctx_.params.text("gather");
    if (shape_.hetero || !shape_.fused || how == "none" || w_.tp == 1) return Gathers::none;
    if (comm_.path == Path::library) return Gathers::none;  // the collective writes one operand itself
    return how == "copy" ? Gathers::copy : Gathers::kernel;
  }

  void own_shards() {
    const Label label = b_.label("GEMM own shard");
    for (std::uint32_t r = 0; r < w_.tp; ++r) {
      const Extent rows = piece(w_.tokens, w_.tp, r);
      if (rows.size == 0) continue;
      gemm(r, in_.x[r].slices, {0, w_.in}, std::array{rows}, in_.x[r].ready, false, label);
    }
  }

  void step(std::uint32_t k) {
    std::uint32_t all_rows = 0;
    for (std::uint32_t r = 0; r < w_.tp; ++r) {
      const Chunk c = chunk_of(w_, shape_, k, r);
      cols_ = c.cols;
      all_rows += c.rows.size;
      plan_.from[r].clear();
      push_rows(plan_.from[r], in_.x[r].slices, c.rows.begin - piece(w_.tokens, w_.tp, r).begin, c.rows.size);
      for (Slice& s : plan_.from[r]) s = columns(s, c.cols.begin, c.cols.size);
      plan_.ready[r] = in_.x[r].ready;
    }
    if (all_rows == 0 || cols_.size == 0) return;
    own_ = plan_.from;
    if (packs_) pack(k);
    for (std::uint32_t r = 0; r < w_.tp && w_.tp > 1; ++r) {
      const std::uint32_t own = plan_.remote_only ? chunk_of(w_, shape_, k, r).rows.size : 0;
      plan_.to[r] =
          b_.all(b_.buffer(DeviceId(r), all_rows - own, cols_.size, w_.wire, BufferRole::scratch, "received"));
    }
    Arrivals arrivals(w_.tp);
    all_gather(b_, comm_, plan_, arrivals);
    plan_.from = own_;  // what the GEMMs of the owner read
    for (std::uint32_t r = 0; r < w_.tp; ++r) {
      if (shape_.fused)
        fused(k, r, arrivals);
      else
        unfused(k, r, arrivals);
    }
  }

  void pack(std::uint32_t k) {
    for (std::uint32_t r = 0; r < w_.tp; ++r) {
      const std::uint32_t rows = rows_of(plan_.from[r]);
      if (rows == 0) continue;
      const Slice to = b_.all(b_.buffer(DeviceId(r), rows, cols_.size, w_.wire, BufferRole::scratch, "packed"));
      const OpId op = b_.elementwise(reduce_lane(b_, DeviceId(r)), {}, plan_.from[r], std::array{to},
                                     {.deps = in_.x[r].ready, .label = b_.label("pack slice {}", k)});
      plan_.from[r] = {to};
      plan_.ready[r] = {{op, {}}};
    }
  }

  // One GEMM over everything that step k brought to rank r.
  void fused(std::uint32_t k, std::uint32_t r, const Arrivals& arrivals) {
    const DeviceId d(r);
    rows_.clear();
    deps_ = shape_.hetero ? std::vector<Dep>() : in_.x[r].ready;
    a_.clear();
    for (std::uint32_t o = 0; o < w_.tp; ++o) {
      if (shape_.hetero && o == r) continue;
      rows_.push_back(chunk_of(w_, shape_, k, o).rows);
      wait(arrivals.at(d, DeviceId(o)));
    }
    if (w_.tp == 1) {
      a_ = own_[r];
    } else if (comm_.path == Path::library && shape_.hetero) {
      for (std::uint32_t o = 0; o < w_.tp; ++o)
        if (o != r) push(a_, gathered_piece(plan_, d, DeviceId(o)));
    } else if (shape_.hetero) {
      push(a_, plan_.to[r]);
    } else {
      gathered_stack(comm_, plan_, d, a_);
    }
    if (a_.empty()) return;
    if (gathers_ == Gathers::kernel) gather_kernel(k, r);
    if (gathers_ == Gathers::copy) copy_own(k, r);
    gemm(r, a_, cols_, rows_, deps_, shape_.two_d && k > 0, b_.label("GEMM step {}", k));
  }

  // Own and received chunks are read and written once more, into one contiguous operand.
  void gather_kernel(std::uint32_t k, std::uint32_t r) {
    const Slice to =
        b_.all(b_.buffer(DeviceId(r), rows_of(a_), cols_.size, w_.wire, BufferRole::scratch, "gathered operand"));
    const OpId op = b_.elementwise(compute_lane(b_, DeviceId(r)), {}, a_, std::array{to},
                                   {.deps = deps_, .label = b_.label("gather step {}", k)});
    a_ = {to};
    deps_ = {{op, {}}};
  }

  // Received chunks lie in place already; a local copy brings the own one.
  void copy_own(std::uint32_t k, std::uint32_t r) {
    const DeviceId d(r);
    a_ = {plan_.to[r]};
    if (own_[r].empty()) return;
    const OpId op =
        b_.transfer(comm_lane(b_, d, comm_.lanes), comm_.transfer, own_[r], std::array{gathered_piece(plan_, d, d)},
                    {.deps = in_.x[r].ready, .label = b_.label("own chunk {}", k)});
    deps_.push_back({op, {}});
  }

  // One GEMM a chunk, in order of arrival; uniform: the own chunk first.
  void unfused(std::uint32_t k, std::uint32_t r, const Arrivals& arrivals) {
    const DeviceId d(r);
    for (std::uint32_t i = shape_.hetero ? 1 : 0; i < w_.tp; ++i) {
      const DeviceId owner = comm_.previous(d, i);
      const Extent rows = chunk_of(w_, shape_, k, owner.v).rows;
      if (rows.size == 0) continue;
      deps_ = i == 0 ? in_.x[r].ready : std::vector<Dep>();
      wait(arrivals.at(d, owner));
      const Slice piece =
          i == 0 && (w_.tp == 1 || comm_.path != Path::library) ? Slice{} : gathered_piece(plan_, d, owner);
      const std::span<const Slice> a = piece.buffer.valid() ? std::span(&piece, 1) : std::span<const Slice>(own_[r]);
      gemm(r, a, cols_, std::array{rows}, deps_, shape_.two_d && k > 0,
           b_.label("GEMM step {} chunk of {}", k, owner.v));
    }
  }

  void wait(const Dep& d) {
    if (d.op.valid() && (deps_.empty() || deps_.back() != d)) deps_.push_back(d);
  }

  void gemm(std::uint32_t r, std::span<const Slice> a, Extent k, std::span<const Extent> rows,
            std::span<const Dep> deps, bool accumulate, Label label) {
    const DeviceId d(r);
    b_stack_.clear();
    c_.clear();
    push_rows(b_stack_, in_.w[r].slices, k.begin, k.size);
    for (const Extent& e : rows) push_rows(c_, out_[r].slices, e.begin, e.size);
    all_deps_ = in_.w[r].ready;
    all_deps_.insert(all_deps_.end(), deps.begin(), deps.end());
    const GemmShape shape{rows_of(a), piece(w_.out, w_.tp, r).size, k.size};
    const OpId op = b_.gemm(compute_lane(b_, d), gemm_work(ctx_, shape, d, accumulate), a, b_stack_, c_,
                            {.deps = all_deps_, .label = label});
    out_[r].ready.push_back({op, {}});
  }

  GraphBuilder& b_;
  const ScheduleContext& ctx_;
  const Workload& w_;
  const LayerInputs& in_;
  Shape shape_;
  Comm comm_;
  bool packs_;
  std::vector<Tensor> out_;
  Gathers gathers_;
  GatherPlan plan_;
  std::vector<std::vector<Slice>> own_;  // by rank: the chunk where its owner's GEMM reads it
  Extent cols_;
  std::vector<Slice> a_;
  std::vector<Slice> b_stack_;
  std::vector<Slice> c_;
  std::vector<Extent> rows_;
  std::vector<Dep> deps_;
  std::vector<Dep> all_deps_;
};

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  return Ficco(b, ctx, in).build();
}

// Time of the exchange of chunk k and whether it is exact.
PhaseTime exchange(const ScheduleContext& ctx, const PieceTimes& times, const Shape& s, std::uint32_t k) {
  const Workload& w = ctx.workload;
  if (w.tp == 1) return {Seconds(), true};
  const Comm comm = comm_of(ctx, w.tp - 1);
  const Chunk c = chunk_of(w, s, k, 0);
  const Bytes each = size_of(w.wire) * (double(c.rows.size) * double(c.cols.size));
  if (comm.path == Path::library) return {times.collective(each * double(w.tp)), true};
  PhaseTime t = direct_phase(ctx.topology, times, comm, each);
  t.uniform = t.uniform && w.tokens % (w.tp * (s.two_d ? 1 : s.chunks)) == 0;
  return t;
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const Workload& w = ctx.workload;
  const Shape s = shape_of(ctx);
  const std::uint32_t n = piece(w.out, w.tp, 0).size;
  const std::uint32_t shard = piece(w.tokens, w.tp, 0).size;
  Seconds end;
  Seconds arrived;
  bool exact = true;
  if (s.hetero) end = times.gemm({shard, n, w.in}, false);
  for (std::uint32_t k = 0; k < s.chunks; ++k) {
    const Chunk c = chunk_of(w, s, k, 0);
    if (c.rows.size == 0 || c.cols.size == 0) continue;
    const PhaseTime t = exchange(ctx, times, s, k);
    arrived += t.time;
    exact = exact && t.uniform;
    const bool accumulate = s.two_d && k > 0;
    const std::uint32_t remote = w.tp - 1;
    const auto rows = [&](std::uint32_t pieces) { return GemmShape{c.rows.size * pieces, n, c.cols.size}; };
    if (s.fused) {
      const std::uint32_t pieces = s.hetero ? remote : w.tp;
      end = std::max(end, arrived);
      if (pieces > 0) end += times.gemm(rows(pieces), accumulate);
      continue;
    }
    const bool own_early = !s.hetero && (remote == 0 || ctx.params.text("mover") != "library");
    if (own_early) end += times.gemm(rows(1), accumulate);
    end = std::max(end, arrived) + times.gemm(rows(1), accumulate) * double(s.hetero || own_early ? remote : w.tp);
  }
  return ClosedForm{end,
                    s.hetero ? "f = max(f, k t) + remote GEMMs of step k, from f = own GEMM"
                             : "t + (c-1) max(t, g) + g for c equal steps",
                    "equal shards, ranks in step, gathers and packing free", exact};
}

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  if (auto r = refuse_common(ctx, kPatterns)) return r;
  const bool strided = shape_of(ctx).two_d && ctx.params.text("two_d") == "strided" && ctx.workload.tp > 1;
  if (!strided || ctx.params.text("mover") != "dma") return std::nullopt;
  for (std::uint32_t r = 0; r < ctx.workload.tp; ++r)
    if (!ctx.devices[r].dma_2d)
      return Refusal{RefusalKind::capability,
                     "copy engines of '" + ctx.devices[r].name + "' move no 2D rectangles (two_d=packed can)"};
  return std::nullopt;
}

std::vector<ParamInfo> params() {
  ParamInfo variant =
      choice_param("variant", "point of the design space", "hetero-unfused-1d",
                   {"uniform-fused-1d", "uniform-fused-2d", "hetero-fused-1d", "hetero-unfused-1d",
                    "uniform-unfused-1d", "uniform-unfused-2d", "hetero-fused-2d", "hetero-unfused-2d"});
  variant.search.resize(4);  // those that the paper keeps
  ParamInfo gather = choice_param("gather", "uniform fused: how own and received chunks become one operand", "kernel",
                                  {"kernel", "copy", "none"});
  gather.search.clear();
  ParamInfo two_d =
      choice_param("two_d", "2d: how column slices travel; auto packs where copy engines cannot move rectangles",
                   "auto", {"auto", "strided", "packed"});
  two_d.search.clear();
  return {variant,
          integer_param("chunks", "chunks", "pieces of a shard; 0 = as many as ranks", 0, 0, 4096, {0, 2, 4}),
          mover_param(true, "dma"),
          gather,
          two_d,
          ctas_param(),
          channels_param(),
          spare_sms_param()};
}

}  // namespace
}  // namespace overlap::ficco

namespace overlap {

ScheduleInfo ficco_schedule() {
  return {.name = "ficco",
          .summary = "shards cut in chunks, every step an exchange between all ranks, GEMMs on what arrived",
          .source = "FiCCO (arXiv 2512.10236), design space of uniformity, granularity and shape",
          .patterns = ficco::kPatterns,
          .params = ficco::params(),
          .refuses = ficco::refuses,
          .build = ficco::build,
          .closed_form = ficco::closed_form};
}

}  // namespace overlap
