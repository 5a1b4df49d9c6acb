// Looped CollectiveEinsum (Wang et al., ASPLOS 2023; XLA "windowed einsum"): a loop of collective permutes between ring
// neighbours, each beside the einsum on what the last one brought.
//
//   AG+GEMM  step i: permute the current shard on, einsum on it. `bi`: a prologue permute makes a second stream the
//            other way round, then N/2 steps use shards p+i and p-1-i in one einsum of double size.
//   GEMM+RS  the accumulator circulates: step i computes the partial of the shard whose sum arrives, adds, passes on.
//            `bi`: shards p+i+N/2+1 and p-N/2-i, two accumulators, joined by an epilogue permute and add.
// Permutes are CollectivePermuteStart/Done pairs: a Start is issued by the core between einsums (so after the einsum of
// the last step), `in_flight` bounds the permutes of a device that are under way (synchronisation flags). Two landing
// buffers a stream are used in turn. unroll=1 copies the carried buffer once a step, unroll=2 does without; the two
// accumulator chains of an unrolled reduce-scatter are not modelled. XLA asks for N % 4 == 0 for `bi`; any even N runs
// here. The ring is the topology's ring order, on a torus one that follows its axes.
//
// Closed forms (derived), tm = one shard over one link: uni (N-1) max(tc, tm) + tc; bi, AG and RS alike:
// t1 + (N/2-1) max(2 tc, tm) + 2 tc, where t1 is the prologue (epilogue), which has the links to itself.
#include <algorithm>
#include <array>

#include "schedule/phase_time.hpp"

namespace overlap {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs};

bool both_ways(const ScheduleContext& ctx) {
  return ctx.params.text("direction") == "bi" && ctx.workload.tp > 1;
}

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  if (auto r = refuse_common(ctx, kPatterns)) return r;
  if (both_ways(ctx) && ctx.workload.tp % 2 != 0)
    return Refusal{RefusalKind::degree, "two streams need an even number of devices"};
  return std::nullopt;
}

// One direction of travel: what each device holds of it now.
struct Stream {
  Comm comm;
  std::vector<Slice> held;                             // by rank: the shard (or accumulator) of this step
  std::vector<Dep> arrived;                            // by rank: invalid op = it was there from the start
  std::vector<std::array<BufferId, 2>> landing;        // by rank
  std::vector<std::array<std::vector<Dep>, 2>> users;  // by rank: who must be done before the landing is reused
  std::vector<OpId> sent;                              // by rank: the permute of the last step
};

class Looped {
 public:
  Looped(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in)
      : b_(b),
        ctx_(ctx),
        w_(ctx.workload),
        in_(in),
        bi_(both_ways(ctx)),
        copies_(ctx.params.integer("unroll") == 1),
        steps_(bi_ ? w_.tp / 2 : w_.tp),
        out_(outputs(b, w_)),
        last_einsum_(w_.tp) {
    Comm comm = comm_of(ctx, bi_ ? 2 : 1);
    comm.path = Path::ring;
    comm.lanes = 1;
    // Shard p+i reaches p against the order of the ring; the second stream goes with it.
    Comm back = comm;
    back.reversed = true;
    streams_.push_back(stream(bi_ ? back : comm));
    if (bi_) {
      comm.first_lane = 1;
      streams_.push_back(stream(comm));
    }
    const auto budget = static_cast<std::uint32_t>(ctx.params.integer("in_flight"));
    for (std::uint32_t r = 0; r < w_.tp && budget > 0; ++r) flags_.push_back(b.token(budget));
  }

  std::vector<Tensor> gather();
  std::vector<Tensor> scatter();

 private:
  Stream stream(const Comm& comm) {
    Stream s;
    s.comm = comm;
    s.held.resize(w_.tp);
    s.arrived.resize(w_.tp);
    s.users.resize(w_.tp);
    s.sent.resize(w_.tp);
    const bool ag = w_.pattern == Pattern::ag_gemm;
    const std::uint32_t most = piece(w_.tokens, w_.tp, 0).size;
    for (std::uint32_t r = 0; r < w_.tp && w_.tp > 1; ++r) {
      const auto one = [&] {
        return b_.buffer(DeviceId(r), most, ag ? w_.in : w_.out, w_.wire, BufferRole::scratch,
                         ag ? "landing X" : "landing sum");
      };
      const BufferId first = one();
      s.landing.push_back({first, one()});
    }
    return s;
  }

  [[nodiscard]] Extent share(DeviceId r) const { return piece(w_.tokens, w_.tp, r.v); }
  // Shard that a stream brings to rank d in step i.
  [[nodiscard]] DeviceId shard(const Stream& s, std::size_t which, DeviceId d, std::uint32_t i) const {
    if (w_.pattern == Pattern::ag_gemm) return s.comm.previous(d, i + static_cast<std::uint32_t>(which));
    if (!bi_) return s.comm.previous(d, i + 1);
    return s.comm.previous(d, which == 0 ? i + w_.tp / 2 + 1 : i + w_.tp / 2);
  }

  void permute(Stream& s, std::uint32_t slot, std::string_view text, const Stream* after = nullptr);
  void carry(Stream& s, std::uint32_t i);
  OpId einsum(std::uint32_t r, std::uint32_t i);
  OpId add(std::uint32_t r, std::span<const Slice> reads, const Slice& to, std::span<const Dep> deps) {
    return b_.elementwise(compute_lane(b_, DeviceId(r)), {.kind = ElementwiseKind::add}, reads, std::array{to},
                          {.deps = deps, .label = b_.label("add")});
  }

  GraphBuilder& b_;
  const ScheduleContext& ctx_;
  const Workload& w_;
  const LayerInputs& in_;
  bool bi_;
  bool copies_;
  std::uint32_t steps_;
  std::vector<Tensor> out_;
  std::vector<OpId> last_einsum_;  // by rank
  std::vector<Stream> streams_;
  std::vector<TokenId> flags_;
  std::vector<Slice> a_;
  std::vector<Slice> c_;
  std::vector<Dep> deps_;
};

// Every rank sends what it holds to the next; `slot` of the receiver's landing buffers takes it. Where given, the
// sender first has what the stream `after` brought.
void Looped::permute(Stream& s, std::uint32_t slot, std::string_view text, const Stream* after) {
  std::vector<Slice> to(w_.tp);
  std::vector<Dep> done(w_.tp);
  for (const DeviceId d : s.comm.ring) {
    const DeviceId next = s.comm.next(d);
    const Slice& from = s.held[d.index()];
    if (from.rows == 0) continue;
    to[next.index()] = b_.rows(s.landing[next.index()][slot], 0, from.rows);
    deps_ = s.users[next.index()][slot];
    if (s.arrived[d.index()].op.valid()) deps_.push_back(s.arrived[d.index()]);
    if (after != nullptr && after->arrived[d.index()].op.valid()) deps_.push_back(after->arrived[d.index()]);
    if (last_einsum_[d.index()].valid()) deps_.push_back({last_einsum_[d.index()], {}});
    const OpId op = b_.transfer(comm_lane(b_, d, s.comm.first_lane), s.comm.transfer, std::array{from},
                                std::array{to[next.index()]}, {.deps = deps_, .label = b_.label(text, d.v, next.v)});
    if (!flags_.empty()) b_.use_token(op, flags_[d.index()], 1, 1);
    done[next.index()] = {op, {}};
    s.sent[d.index()] = op;
  }
  // The holder's slot is free again when it was sent on (and, added by the caller, used).
  for (std::uint32_t r = 0; r < w_.tp; ++r) {
    for (std::size_t i = 0; i < 2; ++i)
      if (s.held[r].rows > 0 && !s.landing.empty() && s.held[r].buffer == s.landing[r][i] && s.sent[r].valid())
        s.users[r][i].push_back({s.sent[r], {}});
    s.users[r][slot].clear();
  }
  s.held = to;
  s.arrived = done;
}

// unroll=1: the loop carries its buffer by value.
void Looped::carry(Stream& s, std::uint32_t i) {
  if (!copies_) return;
  for (std::uint32_t r = 0; r < w_.tp; ++r) {
    if (s.held[r].rows == 0) continue;
    const Slice to =
        b_.all(b_.buffer(DeviceId(r), s.held[r].rows, s.held[r].cols, w_.wire, BufferRole::scratch, "carried"));
    const OpId op = b_.elementwise(compute_lane(b_, DeviceId(r)), {}, std::array{s.held[r]}, std::array{to},
                                   {.deps = std::array{s.arrived[r]}, .label = b_.label("carry step {}", i)});
    for (std::size_t k = 0; k < 2; ++k)
      if (s.held[r].buffer == s.landing[r][k]) s.users[r][k].push_back({op, {}});
    s.held[r] = to;
    s.arrived[r] = {op, {}};
  }
}

std::vector<Tensor> Looped::gather() {
  for (std::size_t which = 0; which < streams_.size(); ++which)
    for (std::uint32_t r = 0; r < w_.tp; ++r) streams_[which].held[r] = in_.x[r].slices[0];
  if (bi_) permute(streams_[1], 1, "prologue from {} to {}");
  for (std::uint32_t i = 0; i < steps_; ++i) {
    std::vector<std::vector<Slice>> now;
    std::vector<std::vector<Dep>> ready;
    for (Stream& s : streams_) {
      if (i > 0) carry(s, i);
      now.push_back(s.held);
      ready.push_back(s.arrived);
    }
    const Stream* prologue = bi_ && i == 0 ? &streams_[1] : nullptr;
    for (Stream& s : streams_)
      if (i + 1 < steps_) permute(s, i % 2, "permute from {} to {}", &s == prologue ? nullptr : prologue);
    for (std::uint32_t r = 0; r < w_.tp; ++r) {
      const DeviceId d(r);
      a_.clear();
      c_.clear();
      deps_ = in_.w[r].ready;
      for (std::size_t which = 0; which < streams_.size(); ++which) {
        const Extent rows = share(shard(streams_[which], which, d, i));
        push(a_, now[which][r]);
        push_rows(c_, out_[r].slices, rows.begin, rows.size);
        if (ready[which][r].op.valid()) deps_.push_back(ready[which][r]);
      }
      if (i == 0) deps_.insert(deps_.end(), in_.x[r].ready.begin(), in_.x[r].ready.end());
      if (a_.empty()) continue;
      const GemmShape shape{rows_of(a_), c_[0].cols, w_.in};
      const OpId op = b_.gemm(compute_lane(b_, d), gemm_work(ctx_, shape, d), a_, in_.w[r].slices, c_,
                              {.deps = deps_, .label = b_.label("einsum step {}", i)});
      last_einsum_[r] = op;
      out_[r].ready.push_back({op, {}});
      for (std::size_t which = 0; which < streams_.size(); ++which)
        for (std::size_t k = 0; k < 2 && w_.tp > 1; ++k)
          if (now[which][r].buffer == streams_[which].landing[r][k]) streams_[which].users[r][k].push_back({op, {}});
    }
  }
  return std::move(out_);
}

// Partial sums of the shards of step i, one einsum; they lie one below the other in a buffer of the step.
OpId Looped::einsum(std::uint32_t r, std::uint32_t i) {
  const DeviceId d(r);
  a_.clear();
  for (std::size_t which = 0; which < streams_.size(); ++which) {
    const Extent rows = share(shard(streams_[which], which, d, i));
    push_rows(a_, in_.x[r].slices, rows.begin, rows.size);
  }
  if (a_.empty()) return {};
  const Slice to = w_.tp == 1 ? out_[r].slices[0]
                              : b_.all(b_.buffer(d, rows_of(a_), w_.out, w_.wire, BufferRole::scratch, "partial"));
  deps_ = in_.w[r].ready;
  deps_.insert(deps_.end(), in_.x[r].ready.begin(), in_.x[r].ready.end());
  c_ = {to};
  const GemmShape shape{to.rows, w_.out, in_.w[r].slices.empty() ? 0 : rows_of(in_.w[r].slices)};
  const OpId op = b_.gemm(compute_lane(b_, d), gemm_work(ctx_, shape, d), a_, in_.w[r].slices, c_,
                          {.deps = deps_, .label = b_.label("einsum step {}", i)});
  last_einsum_[r] = op;
  return op;
}

std::vector<Tensor> Looped::scatter() {
  for (std::uint32_t i = 0; i < steps_; ++i) {
    // The sums of the last step travel beside the einsum of this one.
    if (i > 0)
      for (Stream& s : streams_) permute(s, i % 2, "permute sum from {} to {}");
    std::vector<Slice> partial(w_.tp);
    std::vector<OpId> computed(w_.tp);
    for (std::uint32_t r = 0; r < w_.tp; ++r) {
      computed[r] = einsum(r, i);
      if (computed[r].valid()) partial[r] = c_[0];
    }
    const bool last = i + 1 == steps_;
    for (std::size_t which = 0; which < streams_.size(); ++which) {
      Stream& s = streams_[which];
      if (i > 0) carry(s, i);
      for (std::uint32_t r = 0; r < w_.tp; ++r) {
        const std::uint32_t rows = share(shard(s, which, DeviceId(r), i)).size;
        if (rows == 0) {
          s.held[r] = {};
          continue;
        }
        const std::uint32_t above = which == 0 ? 0 : share(shard(streams_[0], 0, DeviceId(r), i)).size;
        const Slice mine{partial[r].buffer, partial[r].row + above, rows, 0, w_.out};
        const Slice sum = last && !bi_ && w_.tp > 1 ? out_[r].slices[0] : mine;
        OpId op = computed[r];
        if (i > 0) {
          op = add(r, std::array{mine, s.held[r]}, sum, std::array{Dep{computed[r], {}}, s.arrived[r]});
          for (std::size_t k = 0; k < 2; ++k)
            if (s.held[r].buffer == s.landing[r][k]) s.users[r][k].push_back({op, {}});
        }
        s.held[r] = sum;
        s.arrived[r] = {op, {}};
        if (last && !bi_) out_[r].ready.push_back({op, {}});
      }
    }
  }
  if (!bi_) return std::move(out_);
  permute(streams_[1], steps_ % 2, "epilogue from {} to {}");
  for (std::uint32_t r = 0; r < w_.tp; ++r) {
    if (share(DeviceId(r)).size == 0) continue;
    const OpId op = add(r, std::array{streams_[0].held[r], streams_[1].held[r]}, out_[r].slices[0],
                        std::array{streams_[0].arrived[r], streams_[1].arrived[r]});
    out_[r].ready.push_back({op, {}});
  }
  return std::move(out_);
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  Looped loop(b, ctx, in);
  return ctx.workload.pattern == Pattern::ag_gemm ? loop.gather() : loop.scatter();
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const Workload& w = ctx.workload;
  const GemmShape whole = local_gemm(w, 0);
  if (w.tp == 1) return ClosedForm{times.gemm(whole, false), "Tcomp", "one device", true};
  const bool ag = w.pattern == Pattern::ag_gemm;
  const bool bi = both_ways(ctx);
  const std::uint32_t rows = piece(w.tokens, w.tp, 0).size;
  const Comm comm = comm_of(ctx, 1);
  std::vector<std::pair<DeviceId, DeviceId>> flows;
  const Bytes shard = size_of(w.wire) * (double(rows) * double(ag ? w.in : w.out));
  for (const DeviceId d : comm.ring) flows.emplace_back(d, comm.next(d));
  const PhaseTime alone = phase_time(ctx.topology, times, flows, shard);
  for (const DeviceId d : comm.ring)
    if (bi) flows.emplace_back(d, comm.previous(d));
  const PhaseTime t = phase_time(ctx.topology, times, flows, shard);
  bool exact = t.uniform && w.tokens % w.tp == 0;
  const auto budget = ctx.params.integer("in_flight");
  exact = exact && (budget == 0 || budget >= (bi ? 2 : 1));
  const Seconds g = times.gemm({bi ? 2 * rows : rows, whole.n, whole.k}, false);
  const double steps = bi ? w.tp / 2 : w.tp;
  const Seconds end = (bi ? alone.time : Seconds()) + (steps - 1) * std::max(g, t.time) + g;
  return ClosedForm{end, bi ? "t1 + (N/2-1) max(2 tc, tm) + 2 tc" : "(N-1) max(tc, tm) + tc",
                    "equal shards, ranks in step, adds and copies free", exact};
}

std::vector<ParamInfo> params() {
  ParamInfo direction;
  direction.name = "direction";
  direction.summary = "one stream round the ring, or two with a prologue (AG) or epilogue (RS)";
  direction.fallback = std::string("bi");
  direction.choices = {"uni", "bi"};
  direction.search = {std::string("uni"), std::string("bi")};
  ParamInfo unroll;
  unroll.name = "unroll";
  unroll.unit = "steps";
  unroll.summary = "steps in a loop body; 2 does without copies of the carried buffer";
  unroll.fallback = std::int64_t{2};
  unroll.min = 1;
  unroll.max = 2;
  ParamInfo flight;
  flight.name = "in_flight";
  flight.unit = "permutes";
  flight.summary = "permutes of a device that may be under way; 0 = any number";
  flight.fallback = std::int64_t{0};
  flight.max = 4096;
  return {direction, unroll, flight, mover_param(false, "dma"), ctas_param(), spare_sms_param()};
}

}  // namespace

ScheduleInfo looped_schedule() {
  return {.name = "looped_einsum",
          .summary = "a loop of permutes between ring neighbours, each beside an einsum; one or two streams",
          .source = "Wang et al., ASPLOS 2023; XLA windowed einsum",
          .patterns = kPatterns,
          .params = params(),
          .refuses = refuses,
          .build = build,
          .closed_form = closed_form};
}

}  // namespace overlap
