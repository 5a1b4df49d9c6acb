// X-Stage (arXiv 2607.23264): the epilogue of a tile hands its result to remote stores and the producer goes on; stores
// wait in a finite post-issue buffer (a tank of capacity Q that drains at R), and only a full buffer holds the producer
// up. GEMM+RS by pieces: GEMM of a piece of another owner's rows, then its stores, on one lane.
//
//   order     burst: pieces for others one after another, own pieces last. reshape: something that stores nothing
//             between the bursts, so that each has a gap to drain in.
//   l1        what that is. l1 > 0: pieces of the next wave's first linear, l1 times the FLOPs of this GEMM, by the
//             paper's greedy rule: a piece of this GEMM only when the first linear leads by `lead` rows, else one of
//             the first linear; burst: the whole first linear before. It is work on top of the layer's, so compare the
//             two orders, not with schedules that do not do it. l1 = 0: the own pieces stand in for it (ours).
//   coupling  piggyback: the next piece starts when the stores are issued. coupled: when they are delivered (the wrong
//             alternative that the paper compares with).
//
// Burst-gap model (V bytes a burst, T0 issue time, G compute between): T_issue = max(T0, V/R - G), T_period =
// max(T0 + G, V/R) while V <= Q + R T0; beyond, a finite buffer adds (V - Q)/R + G as a third term.
#include <algorithm>
#include <array>
#include <optional>

#include "schedule/phase_time.hpp"
#include "schedule/signalled.hpp"

namespace overlap::x_stage {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::gemm_rs};

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  if (auto r = refuse_common(ctx, kPatterns)) return r;
  if (ctx.workload.tp > 1 && !ctx.topology.capabilities().peer_access) {
    return Refusal{RefusalKind::capability, "devices of this topology cannot store to each other directly"};
  }
  return std::nullopt;
}

struct Step {
  DeviceId owner;
  Extent rows;
  bool first_linear = false;
};

// The first linear's pieces among those of `second`, each for the same rows.
std::vector<Step> with_first_linear(const ScheduleContext& ctx, const std::vector<Step>& second) {
  std::uint32_t lead = count(ctx, "lead");
  if (ctx.params.text("order") == "burst") lead = ctx.workload.tokens;
  if (lead == 0 && !second.empty()) lead = second[0].rows.size;
  std::vector<Step> out;
  std::size_t first = 0;
  std::uint32_t ahead = 0;  // rows
  for (const Step& s : second) {
    for (; first < second.size() && (ahead < lead || ahead < s.rows.size); ++first) {
      out.push_back(second[first]);
      out.back().first_linear = true;
      ahead += second[first].rows.size;
    }
    out.push_back(s);
    ahead -= s.rows.size;
  }
  return out;
}

// Pieces of rank r in order of execution.
std::vector<Step> steps(const ScheduleContext& ctx, DeviceId r) {
  const Workload& w = ctx.workload;
  const std::uint32_t pieces = count(ctx, "pieces");
  const bool l1 = count(ctx, "l1") > 0;
  std::vector<Step> remote;
  std::vector<Step> own;
  for (std::uint32_t c = 0; c < pieces; ++c) {
    for (std::uint32_t k = 1; k <= w.tp; ++k) {
      const DeviceId owner((r.v + k) % w.tp);
      const Extent rows = chunk_rows(w, pieces, owner.v, c);
      if (rows.size > 0) (owner == r ? own : remote).push_back({owner, rows});
    }
  }
  std::vector<Step> out;
  if (l1 || ctx.params.text("order") == "burst" || own.empty()) {
    out = remote;
    out.insert(out.end(), own.begin(), own.end());
    return l1 ? with_first_linear(ctx, out) : out;
  }
  // Own piece j after its share of the remote ones.
  std::size_t next = 0;
  for (std::size_t i = 0; i < remote.size(); ++i) {
    out.push_back(remote[i]);
    while (next < own.size() && (next + 1) * remote.size() <= (i + 1) * own.size()) out.push_back(own[next++]);
  }
  out.insert(out.end(), own.begin() + static_cast<std::ptrdiff_t>(next), own.end());
  return out;
}

// The next wave's first linear on one rank: Y1 = X1 W1, X1 [tokens, out], W1 [out, l1 in/P].
class FirstLinear {
 public:
  FirstLinear(GraphBuilder& b, const ScheduleContext& ctx, DeviceId d) : b_(b), ctx_(ctx) {
    const Workload& w = ctx.workload;
    const std::uint32_t l1 = count(ctx, "l1");
    const Extent mine = piece(w.in, w.tp, d.v);
    y_.device = d;
    y_.problem = 1;
    y_.global_col = l1 * mine.begin;
    const auto matrix = [&](Matrix m, std::uint32_t rows, std::uint32_t cols, std::uint32_t col,
                            std::string_view name) {
      const BufferRole role = m == Matrix::w ? BufferRole::weight : BufferRole::input;
      const Slice s = b.all(b.buffer(d, rows, cols, w.operand, role, name));
      b.input({m, 1, 0, col, s});
      return s;
    };
    x_ = matrix(Matrix::x, w.tokens, w.out, 0, "next X");
    w_ = matrix(Matrix::w, w.out, l1 * mine.size, y_.global_col, "first W");
    y_.slices = {b.all(b.buffer(d, w.tokens, l1 * mine.size, w.output, BufferRole::output, "next H"))};
  }
  void run(Extent rows, std::span<const Dep> waits) {
    const auto part = [&](Slice s) {
      s.row = rows.begin;
      s.rows = rows.size;
      return s;
    };
    const OpId op = b_.gemm(compute_lane(b_, y_.device), gemm_work(ctx_, {rows.size, w_.cols, x_.cols}, y_.device),
                            std::array{part(x_)}, std::array{w_}, std::array{part(y_.slices[0])},
                            {.deps = waits, .label = b_.label("first linear")});
    y_.ready.push_back({op, {}});
  }
  [[nodiscard]] const Tensor& output() const { return y_; }

 private:
  GraphBuilder& b_;
  const ScheduleContext& ctx_;
  Slice x_;
  Slice w_;
  Tensor y_;
};

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Workload& w = ctx.workload;
  const bool coupled = ctx.params.text("coupling") == "coupled";
  ScatterLayer layer(b, ctx, in);
  struct Sum {
    Extent rows;
    std::vector<Slice> reads;
    std::vector<Dep> deps;
  };
  std::vector<std::vector<Sum>> sums(w.tp);  // by owner, by piece
  const auto sum_of = [&](DeviceId owner, Extent rows) -> Sum& {
    for (Sum& s : sums[owner.index()]) {
      if (s.rows.begin == rows.begin) return s;
    }
    sums[owner.index()].push_back({rows, {}, {}});
    return sums[owner.index()].back();
  };
  std::vector<Tensor> more;
  Transfer store;
  store.mover = Mover::remote_store;
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const DeviceId d(r);
    std::vector<Dep> waits;
    std::optional<FirstLinear> first;
    if (count(ctx, "l1") > 0 && piece(w.in, w.tp, r).size > 0) first.emplace(b, ctx, d);
    for (const Step& s : steps(ctx, d)) {
      if (s.first_linear) {
        if (first) first->run(s.rows, waits);
        continue;
      }
      const OpId gemm =
          layer.gemm(d, {s.rows, layer.cols(), waits}, b.label("GEMM rows of {}", s.owner.v), compute_lane(b, d));
      Sum& sum = sum_of(s.owner, s.rows);
      waits.clear();
      if (s.owner == d) {
        sum.reads.push_back(layer.partial(d, s.rows));
        sum.deps.push_back({gemm, {}});
        continue;
      }
      const Slice land = layer.scratch(s.owner, s.rows.size);
      const OpId op = copy_rows(b, compute_lane(b, d), store, std::array{layer.partial(d, s.rows)}, land,
                                std::array{Dep{gemm, {}}}, b.label("store rows of {}", s.owner.v));
      sum.reads.push_back(land);
      sum.deps.push_back({op, {}});
      if (coupled) waits = {{op, {}}};
    }
    if (first) more.push_back(first->output());
  }
  for (std::uint32_t r = 0; r < w.tp && w.tp > 1; ++r) {
    for (const Sum& s : sums[r]) {
      layer.done(DeviceId(r), b.elementwise(comm_lane(b, DeviceId(r)), {.kind = ElementwiseKind::add}, s.reads,
                                            std::array{layer.result(DeviceId(r), s.rows)},
                                            {.deps = s.deps, .label = b.label("add rows")}));
    }
  }
  std::vector<Tensor> out = layer.take_outputs();
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

// The burst-gap model step by step: `level` bytes lie in the tank; a burst issues at I until it is full, then as it
// drains at R.
std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const Workload& w = ctx.workload;
  if (w.tp == 1) return std::nullopt;
  const std::uint32_t pieces = count(ctx, "pieces");
  const RemoteStores& tank = ctx.devices[0].remote_stores;
  const double issue = tank.issue.si();
  const double drain = tank.drain.si();
  GemmShape shape = local_gemm(w, 0);
  shape.m = chunk_rows(w, pieces, 0, 0).size;
  const double gap = times.gemm(shape, false).si();
  const Bytes burst = size_of(w.wire) * (double(shape.m) * double(w.out));
  bool exact = w.tokens % (w.tp * pieces) == 0;
  for (std::uint32_t shift = 1; shift < w.tp; ++shift) {
    std::vector<std::pair<DeviceId, DeviceId>> flows;
    for (std::uint32_t r = 0; r < w.tp; ++r) flows.emplace_back(DeviceId(r), DeviceId((r + shift) % w.tp));
    exact = exact && phase_time(ctx.topology, times, flows, burst).time <= burst / tank.drain;
  }
  double now = 0;
  double level = 0;
  double delivered = 0;
  const std::uint32_t l1 = count(ctx, "l1");
  const double other = l1 > 0 ? times.gemm({shape.m, l1 * shape.k, w.out}, false).si() : 0.0;
  for (const Step& s : steps(ctx, DeviceId(0U))) {
    const double busy = s.first_linear ? other : gap;
    level = std::max(0.0, level - drain * busy);
    now += busy;
    if (s.first_linear || s.owner == DeviceId(0U)) continue;
    const double alone = burst.si() / issue;
    const double room = issue > drain ? (tank.buffer.si() - level) / (issue - drain) : alone;
    const bool fills = room < alone;
    const double fast = fills ? room : alone;
    const double slow = fills ? (burst.si() - issue * fast) / drain : 0.0;
    level = fills ? tank.buffer.si() : std::max(0.0, level + (issue - drain) * fast);
    now += fast + slow;
    delivered = now + level / drain;
    if (ctx.params.text("coupling") != "coupled") continue;
    now = delivered;
    level = 0;
  }
  return ClosedForm{Seconds(std::max(now, delivered)), "T_issue = V/I until the tank is full, then V/R",
                    "equal pieces, ranks in step, adds free, routes no slower than the drain", exact};
}

}  // namespace
}  // namespace overlap::x_stage

namespace overlap {

ScheduleInfo x_stage_schedule() {
  return {.name = "x_stage",
          .summary = "remote stores out of the epilogue through a finite buffer; own pieces between bursts",
          .source = "X-Stage (arXiv 2607.23264)",
          .patterns = x_stage::kPatterns,
          .params = {blocks::integer_param("pieces", "pieces", "pieces of each owner's rows", 4, 1, 256, {1, 4}),
                     blocks::choice_param("order", "own pieces last, or between the bursts", "reshape",
                                          {"burst", "reshape"}),
                     blocks::integer_param(
                         "l1", "", "FLOPs of the next wave's first linear run besides, over this GEMM's", 0, 0, 8, {}),
                     blocks::integer_param("lead", "rows", "l1: rows by which the first linear leads; 0 = one piece", 0,
                                           0, 1 << 20, {}),
                     blocks::choice_param("coupling", "next piece when stores are issued, or delivered", "piggyback",
                                          {"piggyback", "coupled"})},
          .refuses = x_stage::refuses,
          .build = x_stage::build,
          .closed_form = x_stage::closed_form};
}

}  // namespace overlap
