#include "schedule/looped_build.hpp"

#include <array>

namespace overlap::blocks {
namespace {

using What = CoreStep::What;

// What every rank holds of one stream in one version.
struct Version {
  std::vector<Slice> held;  // by rank
  std::vector<Dep> ready;   // by rank: invalid op = there from the start
};

struct Stream {
  Comm comm;
  std::vector<Version> versions;
  std::vector<std::array<BufferId, 2>> landing;        // by rank
  std::vector<std::array<std::vector<Dep>, 2>> users;  // by rank: who must be done before the landing is reused
};

class Builder {
 public:
  Builder(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const LoopShape& shape,
          const LoopProgram& program)
      : b_(b),
        ctx_(ctx),
        w_(ctx.workload),
        in_(in),
        shape_(shape),
        program_(program),
        out_(outputs(b, w_)),
        core_(w_.tp),
        pending_(w_.tp),
        began_(w_.tp),
        partial_(shape.scatters() ? shape.steps() : 0),
        computed_(partial_.size()) {
    Comm comm = comm_of(ctx, shape.streams());
    comm.path = Path::ring;
    comm.lanes = 1;
    // Shard p+i reaches p against the order of the ring; the second stream goes with it.
    Comm back = comm;
    back.reversed = true;
    for (std::uint32_t k = 0; k < shape.streams(); ++k) {
      streams_.push_back(stream(shape.bi && k == 0 ? back : comm));
      streams_[k].comm.first_lane = k;
    }
    const std::uint32_t budget = count(ctx, "in_flight");
    for (std::uint32_t r = 0; r < w_.tp && budget > 0; ++r) flags_.push_back(b.token(budget));
  }

  std::vector<Tensor> build() {
    if (!shape_.scatters())
      for (Stream& s : streams_)
        for (std::uint32_t r = 0; r < w_.tp; ++r) s.versions[0].held[r] = in_.x[r].slices[0];
    for (const CoreStep& s : program_.steps) emit(s);
    return std::move(out_);
  }

 private:
  Stream stream(const Comm& comm) {
    Stream s;
    s.comm = comm;
    s.users.resize(w_.tp);
    const std::uint32_t versions = shape_.scatters() ? 2 * shape_.steps() + 2 : shape_.steps() + 1;
    s.versions.assign(versions, {std::vector<Slice>(w_.tp), std::vector<Dep>(w_.tp)});
    const bool along_k = w_.pattern == Pattern::agk_gemm;
    const std::uint32_t rows = along_k ? w_.tokens : piece(w_.tokens, w_.tp, 0).size;
    const std::uint32_t cols = shape_.scatters() ? w_.out : (along_k ? piece(w_.in, w_.tp, 0).size : w_.in);
    for (std::uint32_t r = 0; r < w_.tp && w_.tp > 1; ++r) {
      const auto one = [&] {
        return b_.buffer(DeviceId(r), rows, cols, w_.wire, BufferRole::scratch,
                         shape_.scatters() ? "landing sum" : "landing X");
      };
      const BufferId first = one();
      s.landing.push_back({first, one()});
    }
    return s;
  }

  [[nodiscard]] Extent share(DeviceId r) const { return piece(w_.tokens, w_.tp, r.v); }
  // Shard that a stream brings to rank d in step i.
  [[nodiscard]] DeviceId shard(std::uint32_t k, DeviceId d, std::uint32_t i) const {
    const Comm& c = streams_[k].comm;
    if (!shape_.scatters()) return c.previous(d, i + k);
    if (!shape_.bi) return c.previous(d, i + 1);
    return c.previous(d, k == 0 ? i + w_.tp / 2 + 1 : i + w_.tp / 2);
  }

  void emit(const CoreStep& s) {
    if (s.what == What::start) return start(program_.permutes[s.permute]);
    if (s.what == What::done) return done(program_.permutes[s.permute]);
    for (std::uint32_t r = 0; r < w_.tp; ++r) {
      if (s.what == What::carry) carry(s, r);
      if (s.what == What::add) add(s, r);
      if (s.what == What::join) join(s, r);
      if (s.what != What::einsum) continue;
      if (shape_.scatters()) {
        scatter_einsum(s.step, r);
      } else if (w_.pattern == Pattern::agk_gemm) {
        slice_einsum(s, r);
      } else {
        gather_einsum(s.step, r);
      }
    }
  }

  // ---- permutes ----
  // The core issues a Start after what it did before and after the Dones that hold it up.
  void start(const Permute& p) {
    Stream& s = streams_[p.stream];
    const Version& from = s.versions[p.from];
    Version& to = s.versions[p.from + 1];
    const std::uint32_t slot = (p.from + 1) / (shape_.scatters() ? 2 : 1) % 2;
    std::vector<OpId> sent(w_.tp);
    const char* text = p.role == Permute::Role::prologue   ? "prologue from {} to {}"
                       : p.role == Permute::Role::epilogue ? "epilogue from {} to {}"
                       : shape_.scatters()                 ? "permute sum from {} to {}"
                                                           : "permute from {} to {}";
    for (const DeviceId d : s.comm.ring) {
      const DeviceId next = s.comm.next(d, p.hops);
      const Slice& held = from.held[d.index()];
      if (held.elements() == 0) continue;
      const Slice land{s.landing[next.index()][slot], 0, held.rows, 0, held.cols};
      deps_ = s.users[next.index()][slot];
      wait(from.ready[d.index()]);
      if (p.from == 0 && !shape_.scatters())
        deps_.insert(deps_.end(), in_.x[d.index()].ready.begin(), in_.x[d.index()].ready.end());
      for (const Dep& before : pending_[d.index()]) wait(before);
      wait({core_[d.index()], {}});
      const OpId op = b_.transfer(comm_lane(b_, d, s.comm.first_lane), s.comm.transfer, std::array{held},
                                  std::array{land}, {.deps = deps_, .label = b_.label(text, d.v, next.v)});
      if (!flags_.empty()) b_.use_token(op, flags_[d.index()], 1, 1);
      to.held[next.index()] = land;
      to.ready[next.index()] = {op, {}};
      sent[d.index()] = op;
    }
    for (std::uint32_t r = 0; r < w_.tp; ++r) {
      if (sent[r].valid()) used(p.stream, r, from.held[r], sent[r]);
      if (to.held[r].elements() > 0) s.users[r][slot].clear();
    }
  }

  void done(const Permute& p) {
    const Version& v = streams_[p.stream].versions[p.from + 1];
    for (std::uint32_t r = 0; r < w_.tp; ++r)
      if (v.ready[r].op.valid()) pending_[r].push_back(v.ready[r]);
  }

  void used(std::uint32_t stream, std::uint32_t r, const Slice& what, OpId by) {
    Stream& s = streams_[stream];
    for (std::size_t k = 0; k < 2 && !s.landing.empty(); ++k)
      if (what.buffer == s.landing[r][k]) s.users[r][k].push_back({by, {}});
  }

  // ---- what the core computes ----
  void wait(const Dep& d) {
    if (d.op.valid()) deps_.push_back(d);
  }
  void wait_core(std::uint32_t r) {
    for (const Dep& d : pending_[r]) wait(d);
    pending_[r].clear();
  }
  void wait_inputs(std::uint32_t r, bool x) {
    deps_ = in_.w[r].ready;
    if (x) deps_.insert(deps_.end(), in_.x[r].ready.begin(), in_.x[r].ready.end());
  }

  void carry(const CoreStep& s, std::uint32_t r) {
    Stream& stream = streams_[s.stream];
    Version& v = stream.versions[loop_version(shape_, s.stream, s.step) - (shape_.scatters() ? 1 : 0)];
    Slice& held = v.held[r];
    if (held.elements() == 0) return;
    const Slice to = b_.all(b_.buffer(DeviceId(r), held.rows, held.cols, w_.wire, BufferRole::scratch, "carried"));
    deps_.clear();
    wait(v.ready[r]);
    wait_core(r);
    core_[r] = b_.elementwise(compute_lane(b_, DeviceId(r)), {}, std::array{held}, std::array{to},
                              {.deps = deps_, .label = b_.label("carry step {}", s.step)});
    used(s.stream, r, held, core_[r]);
    held = to;
    v.ready[r] = {core_[r], {}};
  }

  OpId gemm(std::uint32_t r, const GemmShape& shape, std::span<const Slice> w, bool accumulate, std::uint32_t step) {
    const DeviceId d(r);
    core_[r] = b_.gemm(compute_lane(b_, d), gemm_work(ctx_, shape, d, accumulate), a_, w, c_,
                       {.deps = deps_, .label = b_.label("einsum step {}", step)});
    return core_[r];
  }

  void gather_einsum(std::uint32_t i, std::uint32_t r) {
    a_.clear();
    c_.clear();
    wait_inputs(r, i == 0);
    wait_core(r);
    for (std::uint32_t k = 0; k < streams_.size(); ++k) {
      const Version& v = streams_[k].versions[loop_version(shape_, k, i)];
      const Extent rows = share(shard(k, DeviceId(r), i));
      push(a_, v.held[r]);
      push_rows(c_, out_[r].slices, rows.begin, rows.size);
      wait(v.ready[r]);
    }
    if (a_.empty()) return;
    const OpId op = gemm(r, {rows_of(a_), c_[0].cols, w_.in}, in_.w[r].slices, false, i);
    out_[r].ready.push_back({op, {}});
    for (std::uint32_t k = 0; k < streams_.size(); ++k)
      used(k, r, streams_[k].versions[loop_version(shape_, k, i)].held[r], op);
  }

  // Contracting dimension: all rows, the shard's columns of X and rows of W, added to Y.
  void slice_einsum(const CoreStep& s, std::uint32_t r) {
    const Version& v = streams_[s.stream].versions[loop_version(shape_, s.stream, s.step)];
    const Extent k = piece(w_.in, w_.tp, shard(s.stream, DeviceId(r), s.step).v);
    if (k.size == 0) return;
    wait_inputs(r, s.step == 0);
    wait_core(r);
    wait(v.ready[r]);
    a_ = {v.held[r]};
    c_ = out_[r].slices;
    std::vector<Slice> w;
    push_rows(w, in_.w[r].slices, k.begin, k.size);
    const OpId op = gemm(r, {w_.tokens, c_[0].cols, k.size}, w, began_[r], s.step);
    began_[r] = true;
    out_[r].ready.push_back({op, {}});
    used(s.stream, r, v.held[r], op);
  }

  // Partial sums of the shards of step i, one einsum; they lie one below the other in a buffer of the step.
  void scatter_einsum(std::uint32_t i, std::uint32_t r) {
    partial_[i].resize(w_.tp);
    computed_[i].resize(w_.tp);
    a_.clear();
    for (std::uint32_t k = 0; k < (shape_.bi ? 2U : 1U); ++k) {
      const Extent rows = share(shard(k, DeviceId(r), i));
      push_rows(a_, in_.x[r].slices, rows.begin, rows.size);
    }
    if (!a_.empty()) {
      const Slice to =
          w_.tp == 1 ? out_[r].slices[0]
                     : b_.all(b_.buffer(DeviceId(r), rows_of(a_), w_.out, w_.wire, BufferRole::scratch, "partial"));
      wait_inputs(r, true);
      wait_core(r);
      c_ = {to};
      computed_[i][r] = gemm(r, {to.rows, w_.out, rows_of(in_.w[r].slices)}, in_.w[r].slices, false, i);
      partial_[i][r] = to;
      if (w_.tp == 1) out_[r].ready.push_back({computed_[i][r], {}});
    }
    for (std::uint32_t k = 0; k < streams_.size(); ++k) {  // the sum that a stream starts with
      if (shape_.bi ? i > 0 : i != k) continue;
      streams_[k].versions[0].held[r] = mine(k, i, r);
      streams_[k].versions[0].ready[r] = {computed_[i][r], {}};
    }
  }

  // The stream's rows of the partial sum of step i.
  [[nodiscard]] Slice mine(std::uint32_t k, std::uint32_t i, std::uint32_t r) const {
    const std::uint32_t rows = share(shard(k, DeviceId(r), i)).size;
    if (rows == 0) return {};
    const Slice& all = partial_[i][r];
    return {all.buffer, k == 1 && shape_.bi ? share(shard(0, DeviceId(r), i)).size : 0, rows, 0, w_.out};
  }

  void sum(std::uint32_t r, std::span<const Slice> reads, const Slice& to) {
    core_[r] = b_.elementwise(compute_lane(b_, DeviceId(r)), {.kind = ElementwiseKind::add}, reads, std::array{to},
                              {.deps = deps_, .label = b_.label("add")});
  }

  void add(const CoreStep& s, std::uint32_t r) {
    Stream& stream = streams_[s.stream];
    const std::uint32_t version = loop_version(shape_, s.stream, s.step);
    const Version& there = stream.versions[version - 1];
    Version& after = stream.versions[version];
    const Slice here = mine(s.stream, s.step, r);
    if (here.rows == 0) return;
    const bool home = s.step + 1 == shape_.steps() && !shape_.bi;
    const Slice to = home ? out_[r].slices[0] : here;
    deps_.clear();
    wait({computed_[s.step][r], {}});
    wait(there.ready[r]);
    wait_core(r);
    sum(r, std::array{here, there.held[r]}, to);
    used(s.stream, r, there.held[r], core_[r]);
    after.held[r] = to;
    after.ready[r] = {core_[r], {}};
    if (home) out_[r].ready.push_back({core_[r], {}});
  }

  // The two accumulators become the result: of two directions, or of two chains with the partial of the last step.
  void join(const CoreStep& s, std::uint32_t r) {
    if (share(DeviceId(r)).size == 0) return;
    deps_.clear();
    std::vector<Slice> reads;
    const auto take = [&](std::uint32_t k, std::uint32_t version) {
      const Version& v = streams_[k].versions[version];
      reads.push_back(v.held[r]);
      wait(v.ready[r]);
    };
    const std::uint32_t last = loop_version(shape_, s.stream, s.step);
    if (shape_.bi) {
      take(0, last);
      take(1, last + 1);
    } else {
      reads.push_back(mine(s.stream, s.step, r));
      wait({computed_[s.step][r], {}});
      if (last > 0) take(1, last - 1);
      take(0, last + 1);
    }
    wait_core(r);
    sum(r, reads, out_[r].slices[0]);
    out_[r].ready.push_back({core_[r], {}});
  }

  GraphBuilder& b_;
  const ScheduleContext& ctx_;
  const Workload& w_;
  const LayerInputs& in_;
  const LoopShape& shape_;
  const LoopProgram& program_;
  std::vector<Tensor> out_;
  std::vector<OpId> core_;                   // by rank: the core's last op
  std::vector<std::vector<Dep>> pending_;    // by rank: permutes that its next op must wait for
  std::vector<bool> began_;                  // by rank: something is in Y already
  std::vector<std::vector<Slice>> partial_;  // by step, rank
  std::vector<std::vector<OpId>> computed_;  // by step, rank
  std::vector<Stream> streams_;
  std::vector<TokenId> flags_;
  std::vector<Slice> a_;
  std::vector<Slice> c_;
  std::vector<Dep> deps_;
};

}  // namespace

std::vector<Tensor> build_loop(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in,
                               const LoopShape& shape, const LoopProgram& program) {
  return Builder(b, ctx, in, shape, program).build();
}

}  // namespace overlap::blocks
