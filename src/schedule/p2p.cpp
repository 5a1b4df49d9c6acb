#include "schedule/p2p.hpp"

#include <algorithm>
#include <array>

#include "schedule/phase_time.hpp"

namespace overlap::blocks {
namespace {

class P2p {
 public:
  P2p(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Comm& comm, std::uint32_t chunks)
      : b_(b), ctx_(ctx), w_(ctx.workload), in_(in), comm_(comm), chunks_(chunks), out_(outputs(b, w_)) {}

  std::vector<Tensor> gather();
  std::vector<Tensor> scatter();
  std::vector<Tensor> exchange();

 private:
  [[nodiscard]] Extent share(DeviceId r) const { return piece(w_.tokens, w_.tp, r.v); }
  // Piece c of a rank's share, relative to the share.
  [[nodiscard]] Extent part(DeviceId r, std::uint32_t c) const { return piece(share(r).size, chunks_, c); }
  [[nodiscard]] LaneId lane(DeviceId d, std::uint32_t shift) const {
    return comm_lane(b_, d, comm_.first_lane + (shift - 1) % comm_.lanes);
  }
  std::size_t at(DeviceId holder, DeviceId owner, std::uint32_t c) const {
    return (holder.index() * w_.tp + owner.index()) * chunks_ + c;
  }
  Label label(std::string_view text, DeviceId a, DeviceId d) const { return b_.label(text, a.v, d.v); }

  OpId gemm(DeviceId d, std::span<const Slice> a, std::span<const Slice> w, std::span<const Slice> c,
            std::span<const Dep> deps, bool accumulate, Label text) {
    deps_.assign(in_.w[d.index()].ready.begin(), in_.w[d.index()].ready.end());
    deps_.insert(deps_.end(), deps.begin(), deps.end());
    const GemmShape shape{rows_of(a), c[0].cols, a[0].cols};
    return b_.gemm(compute_lane(b_, d), gemm_work(ctx_, shape, d, accumulate), a, w, c, {.deps = deps_, .label = text});
  }

  void send_shards(std::span<const BufferId> received);
  void send_blocks(std::span<const BufferId> received);

  GraphBuilder& b_;
  const ScheduleContext& ctx_;
  const Workload& w_;
  const LayerInputs& in_;
  const Comm& comm_;
  std::uint32_t chunks_;
  std::vector<Tensor> out_;
  std::vector<Slice> landed_;  // by at(): where the piece lies at its holder
  std::vector<OpId> arrival_;  // by at()
  std::vector<Slice> a_;
  std::vector<Slice> c_;
  std::vector<Dep> deps_;
};

void P2p::send_shards(std::span<const BufferId> received) {
  std::vector<std::uint32_t> row(w_.tp, 0);
  for (std::uint32_t shift = 1; shift < w_.tp; ++shift)
    for (std::uint32_t c = 0; c < chunks_; ++c)
      for (const DeviceId owner : comm_.ring) {
        const Extent mine = part(owner, c);
        if (mine.size == 0) continue;
        const DeviceId holder = comm_.next(owner, shift);
        const bool first = shift == 1 || comm_.path != Path::ring;
        const DeviceId from = first ? owner : comm_.next(owner, shift - 1);
        const Slice to = b_.rows(received[holder.index()], row[holder.index()], mine.size);
        row[holder.index()] += mine.size;
        a_.clear();
        if (first)
          push_rows(a_, in_.x[owner.index()].slices, mine.begin, mine.size);
        else
          push(a_, landed_[at(from, owner, c)]);
        const Dep before{first ? OpId() : arrival_[at(from, owner, c)], {}};
        const std::span<const Dep> deps =
            first ? std::span<const Dep>(in_.x[owner.index()].ready) : std::span(&before, 1);
        landed_[at(holder, owner, c)] = to;
        arrival_[at(holder, owner, c)] =
            b_.transfer(lane(from, comm_.path == Path::ring ? 1 : shift), comm_.transfer, a_, std::array{to},
                        {.deps = deps, .label = label("slice of {} to {}", owner, holder)});
      }
}

std::vector<Tensor> P2p::gather() {
  landed_.resize(std::size_t{w_.tp} * w_.tp * chunks_);
  arrival_.resize(landed_.size());
  std::vector<BufferId> received;
  for (std::uint32_t r = 0; r < w_.tp && w_.tp > 1; ++r)
    received.push_back(
        b_.buffer(DeviceId(r), w_.tokens - share(DeviceId(r)).size, w_.in, w_.wire, BufferRole::scratch, "received X"));
  send_shards(received);
  for (std::uint32_t j = 0; j < w_.tp; ++j)
    for (std::uint32_t r = 0; r < w_.tp; ++r) {
      const DeviceId d(r);
      const DeviceId owner = comm_.previous(d, j);
      for (std::uint32_t c = 0; c < (j == 0 ? 1 : chunks_); ++c) {
        const Extent mine = j == 0 ? Extent{0, share(owner).size} : part(owner, c);
        if (mine.size == 0) continue;
        const Slice remote = landed_[at(d, owner, c)];
        const Dep arrived{arrival_[at(d, owner, c)], {}};
        const Slice y{out_[r].slices[0].buffer, share(owner).begin + mine.begin, mine.size, 0, out_[r].slices[0].cols};
        const OpId op =
            gemm(d, j == 0 ? std::span<const Slice>(in_.x[r].slices) : std::span(&remote, 1), in_.w[r].slices,
                 std::array{y}, j == 0 ? std::span<const Dep>(in_.x[r].ready) : std::span(&arrived, 1), false,
                 label("GEMM slice of {}", owner, d));
        out_[r].ready.push_back({op, {}});
      }
    }
  return std::move(out_);
}

std::vector<Tensor> P2p::scatter() {
  std::vector<BufferId> partial;
  std::vector<BufferId> landed;
  std::vector<std::uint32_t> row(w_.tp, 0);
  std::vector<std::vector<Slice>> reads(w_.tp * std::size_t{chunks_});
  std::vector<std::vector<Dep>> ready(w_.tp * std::size_t{chunks_});
  for (std::uint32_t r = 0; r < w_.tp; ++r) {
    const DeviceId d(r);
    partial.push_back(w_.tp == 1 ? out_[0].slices[0].buffer
                                 : b_.buffer(d, w_.tokens, w_.out, w_.wire, BufferRole::scratch, "partial Y"));
    if (w_.tp > 1)
      landed.push_back(
          b_.buffer(d, share(d).size * (w_.tp - 1), w_.out, w_.wire, BufferRole::scratch, "received partial"));
  }
  for (std::uint32_t j = 1; j <= w_.tp; ++j)
    for (std::uint32_t r = 0; r < w_.tp; ++r) {
      const DeviceId d(r);
      const DeviceId owner = comm_.next(d, j % w_.tp);
      const bool own = owner == d;
      std::vector<Dep> done;
      for (std::uint32_t c = 0; c < (own ? 1 : chunks_); ++c) {
        const Extent mine = own ? Extent{0, share(d).size} : part(owner, c);
        if (mine.size == 0) continue;
        a_.clear();
        push_rows(a_, in_.x[r].slices, share(owner).begin + mine.begin, mine.size);
        const Slice sum = b_.rows(partial[r], share(owner).begin + mine.begin, mine.size);
        const OpId op =
            gemm(d, a_, in_.w[r].slices, std::array{sum}, in_.x[r].ready, false, label("GEMM slice for {}", owner, d));
        if (own) {
          for (std::uint32_t i = 0; i < chunks_; ++i) ready[r * chunks_ + i].push_back({op, {}});
          if (w_.tp == 1) out_[r].ready.push_back({op, {}});
          continue;
        }
        const Slice to = b_.rows(landed[owner.index()], row[owner.index()], mine.size);
        row[owner.index()] += mine.size;
        const OpId sent =
            b_.transfer(lane(d, j), comm_.transfer, std::array{sum}, std::array{to},
                        {.deps = std::array{Dep{op, {}}}, .label = label("partial of {} to {}", d, owner)});
        reads[owner.index() * chunks_ + c].push_back(to);
        ready[owner.index() * chunks_ + c].push_back({sent, {}});
      }
    }
  for (std::uint32_t r = 0; r < w_.tp && w_.tp > 1; ++r)
    for (std::uint32_t c = 0; c < chunks_; ++c) {
      const Extent mine = part(DeviceId(r), c);
      if (mine.size == 0) continue;
      reads[r * chunks_ + c].push_back(b_.rows(partial[r], share(DeviceId(r)).begin + mine.begin, mine.size));
      const Slice y{out_[r].slices[0].buffer, mine.begin, mine.size, 0, w_.out};
      const OpId op =
          b_.elementwise(reduce_lane(b_, DeviceId(r)), {.kind = ElementwiseKind::add}, reads[r * chunks_ + c],
                         std::array{y}, {.deps = ready[r * chunks_ + c], .label = b_.label("add piece {}", c)});
      out_[r].ready.push_back({op, {}});
    }
  return std::move(out_);
}

// Piece c of the rows of `holder` x the columns of `owner`, from the owner to the holder.
void P2p::send_blocks(std::span<const BufferId> received) {
  for (std::uint32_t shift = 1; shift < w_.tp; ++shift)
    for (std::uint32_t c = 0; c < chunks_; ++c)
      for (const DeviceId owner : comm_.ring) {
        const DeviceId holder = comm_.next(owner, shift);
        const Extent rows = part(holder, c);
        const Extent cols = piece(w_.in, w_.tp, owner.v);
        if (rows.size == 0 || cols.size == 0) continue;
        a_.clear();
        push_rows(a_, in_.x[owner.index()].slices, share(holder).begin + rows.begin, rows.size);
        // Blocks of different owners lie one below the other, so that each is contiguous.
        const std::uint32_t below = share(holder).size * (shift - 1) + rows.begin;
        const Slice to{received[holder.index()], below, rows.size, 0, cols.size};
        landed_[at(holder, owner, c)] = to;
        arrival_[at(holder, owner, c)] =
            b_.transfer(lane(owner, shift), comm_.transfer, a_, std::array{to},
                        {.deps = in_.x[owner.index()].ready, .label = label("block of {} to {}", owner, holder)});
      }
}

std::vector<Tensor> P2p::exchange() {
  landed_.resize(std::size_t{w_.tp} * w_.tp * chunks_);
  arrival_.resize(landed_.size());
  std::vector<BufferId> received;
  for (std::uint32_t r = 0; r < w_.tp && w_.tp > 1; ++r)
    received.push_back(b_.buffer(DeviceId(r), share(DeviceId(r)).size * (w_.tp - 1), piece(w_.in, w_.tp, 0).size,
                                 w_.wire, BufferRole::scratch, "received X"));
  send_blocks(received);
  for (std::uint32_t j = 0; j < w_.tp; ++j)
    for (std::uint32_t r = 0; r < w_.tp; ++r) {
      const DeviceId d(r);
      const DeviceId owner = comm_.previous(d, j);
      const Extent cols = piece(w_.in, w_.tp, owner.v);
      if (cols.size == 0) continue;
      c_.clear();
      push_rows(c_, in_.w[r].slices, cols.begin, cols.size);
      for (std::uint32_t c = 0; c < (j == 0 ? 1 : chunks_); ++c) {
        const Extent rows = j == 0 ? Extent{0, share(d).size} : part(d, c);
        if (rows.size == 0) continue;
        a_.clear();
        if (j == 0)
          push_rows(a_, in_.x[r].slices, share(d).begin, rows.size);
        else
          push(a_, landed_[at(d, owner, c)]);
        const Dep arrived{arrival_[at(d, owner, c)], {}};
        const Slice y{out_[r].slices[0].buffer, rows.begin, rows.size, 0, w_.out};
        const OpId op =
            gemm(d, a_, c_, std::array{y}, j == 0 ? std::span<const Dep>(in_.x[r].ready) : std::span(&arrived, 1),
                 j > 0, label("GEMM block of {}", owner, d));
        out_[r].ready.push_back({op, {}});
      }
    }
  return std::move(out_);
}

}  // namespace

std::vector<Tensor> p2p_gather(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Comm& comm,
                               std::uint32_t chunks) {
  return P2p(b, ctx, in, comm, chunks).gather();
}
std::vector<Tensor> p2p_scatter(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Comm& comm,
                                std::uint32_t chunks) {
  return P2p(b, ctx, in, comm, chunks).scatter();
}
std::vector<Tensor> p2p_exchange(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const Comm& comm,
                                 std::uint32_t chunks) {
  return P2p(b, ctx, in, comm, chunks).exchange();
}

std::optional<ClosedForm> p2p_closed_form(const ScheduleContext& ctx, const PieceTimes& times, const Comm& comm,
                                          std::uint32_t chunks) {
  const Workload& w = ctx.workload;
  const GemmShape whole = local_gemm(w, 0);
  if (w.tp == 1) return ClosedForm{times.gemm(whole, false), "Tcomp", "one device", true};
  if (comm.lanes > 1) return std::nullopt;
  const bool exchanges = w.pattern == Pattern::a2a_gemm;
  const bool scatters = w.pattern == Pattern::gemm_rs;
  const std::uint32_t share = piece(w.tokens, w.tp, 0).size;
  const std::uint32_t k = exchanges ? piece(w.in, w.tp, 0).size : whole.k;
  const double width = scatters ? w.out : (exchanges ? k : w.in);
  const auto gemm = [&](std::uint32_t rows, bool own) { return times.gemm({rows, whole.n, k}, exchanges && !own); };
  bool exact = w.tokens % (w.tp * chunks) == 0 && (!exchanges || w.in % w.tp == 0);
  Seconds compute = scatters ? Seconds() : gemm(share, true);
  Seconds network;
  for (std::uint32_t shift = 1; shift < w.tp; ++shift) {
    std::vector<std::pair<DeviceId, DeviceId>> flows;
    for (const DeviceId d : comm.ring) flows.emplace_back(d, comm.next(d, comm.path == Path::ring ? 1 : shift));
    for (std::uint32_t c = 0; c < chunks; ++c) {
      const std::uint32_t rows = piece(share, chunks, c).size;
      if (rows == 0) continue;
      const PhaseTime t = phase_time(ctx.topology, times, flows, size_of(w.wire) * (double(rows) * width));
      exact = exact && t.uniform;
      if (scatters) {
        compute += gemm(rows, false);
        network = std::max(network, compute) + t.time;
      } else {
        network += t.time;
        compute = std::max(compute, network) + gemm(rows, false);
      }
    }
  }
  if (scatters) compute = std::max(compute + gemm(share, true), network);
  return ClosedForm{compute, scatters ? "max(n tc, tc + (n-1) tm)" : "(n-1) max(tc, tm) + tc",
                    "equal slices, ranks in step, adds free, no contention between GEMM and transfers", exact};
}

}  // namespace overlap::blocks
