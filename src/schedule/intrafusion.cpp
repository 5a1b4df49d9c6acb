// IntraFusion: one fused GEMM a rank whose tiles are gated by the readiness of chunks (AG+GEMM: the own chunk first) or
// signal finished chunks (GEMM+RS: the own chunk last), while chunks travel by ring, double ring or all to all.
// Compass (arXiv 2609.10549) 1.3; the all-to-all variant is the order of Flux (arXiv 2406.06858).
//
// Closed forms, n equal chunks, tc = Tcomp/n, tm = time of one step:
//   AG+GEMM, rings: (n-1) max(tc, tm) + tc. All to all, every peer at once: max(tc, t_all) + (n-1) tc.
//   GEMM+RS, rings: max(n tc, tc + (n-1) tm). All to all: max(n tc, (n-1) tc + t_one, tc + t_all), where t_one is one
//   chunk from every rank to one other and t_all all of them; exact where they share nothing or share all.
#include <algorithm>
#include <array>
#include <cmath>

#include "schedule/phase_time.hpp"

namespace overlap::intrafusion {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs};

enum class Variant : std::uint8_t { single_ring, double_ring, all_to_all };

Variant variant_of(const ScheduleContext& ctx) {
  const std::string& text = ctx.params.text("variant");
  if (text == "double_ring") return Variant::double_ring;
  return text == "all_to_all" ? Variant::all_to_all : Variant::single_ring;
}

// The directions in which chunks travel; chunks are cut in as many halves.
std::vector<Comm> comms(const ScheduleContext& ctx) {
  const std::uint32_t p = ctx.workload.tp;
  const Variant v = variant_of(ctx);
  if (v == Variant::all_to_all) {
    const std::uint32_t limit = count(ctx, "in_flight");
    const std::uint32_t peers = std::max(1U, p - 1);
    Comm comm = comm_of(ctx, limit == 0 ? peers : std::min(limit, peers));
    comm.path = Path::direct;
    return {comm};
  }
  const bool twice = v == Variant::double_ring;
  Comm comm = comm_of(ctx, twice ? 2 : 1);
  comm.path = Path::ring;
  comm.lanes = 1;
  if (!twice) return {comm};
  Comm back = comm;
  back.reversed = true;
  back.first_lane = 1;
  return {comm, back};
}

// Tokens of half h of rank r's chunk, in the whole.
Extent chunk(const Workload& w, std::size_t halves, std::size_t h, DeviceId r) {
  const Extent share = piece(w.tokens, w.tp, r.v);
  const Extent part = piece(share.size, static_cast<std::uint32_t>(halves), static_cast<std::uint32_t>(h));
  return {share.begin + part.begin, part.size};
}

// Rank whose chunk is the k-th that arrives at (AG) or leaves (RS) rank r.
DeviceId kth(const ScheduleContext& ctx, const Comm& comm, DeviceId r, std::uint32_t k) {
  const bool scatter_to_all = comm.path == Path::direct && ctx.workload.pattern == Pattern::gemm_rs;
  return scatter_to_all ? comm.next(r, k) : comm.previous(r, k);
}

Gemm fused_work(const ScheduleContext& ctx, const std::vector<Comm>& directions, DeviceId d) {
  const GemmShape shape = local_gemm(ctx.workload, d.v);
  Comm all = directions[0];
  all.lanes *= static_cast<std::uint32_t>(directions.size());
  return {.m = shape.m,
          .n = shape.n,
          .k = shape.k,
          .dtype = ctx.workload.operand,
          .accumulate = false,
          .order = PartOrder::ready,
          .max_sms = without_reduce_sms(ctx, d, gemm_sms(ctx, all, d)),
          .parts = {}};
}

struct Halves {
  std::vector<GatherPlan> plans;
  std::vector<Arrivals> arrivals;
};

Halves gather_halves(GraphBuilder& b, const Workload& w, const LayerInputs& in, const std::vector<Comm>& dirs) {
  Halves out;
  for (std::size_t h = 0; h < dirs.size(); ++h) {
    GatherPlan plan;
    plan.label = b.label("chunk of {} to {}");
    std::uint32_t rows = 0;
    for (std::uint32_t r = 0; r < w.tp; ++r) {
      const Extent mine = chunk(w, dirs.size(), h, DeviceId(r));
      plan.from.emplace_back();
      push_rows(plan.from[r], in.x[r].slices, mine.begin - piece(w.tokens, w.tp, r).begin, mine.size);
      plan.ready.push_back(in.x[r].ready);
      rows += mine.size;
    }
    for (std::uint32_t r = 0; r < w.tp && w.tp > 1; ++r)
      plan.to.push_back(b.all(b.buffer(DeviceId(r), rows, w.in, w.wire, BufferRole::scratch, "gathered X")));
    out.arrivals.emplace_back(w.tp);
    all_gather(b, dirs[h], plan, out.arrivals[h]);
    out.plans.push_back(std::move(plan));
  }
  return out;
}

std::vector<Tensor> build_gather(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Workload& w = ctx.workload;
  const std::vector<Comm> dirs = comms(ctx);
  const std::size_t chunks = dirs.size() * w.tp * w.tp;
  b.reserve({.ops = chunks, .parts = chunks, .slices = 4 * chunks + w.tp, .deps = 2 * chunks});
  const Halves halves = gather_halves(b, w, in, dirs);
  std::vector<Tensor> out = outputs(b, w);
  std::vector<Slice> a;
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const DeviceId d(r);
    const Gemm work = fused_work(ctx, dirs, d);
    const OpId gemm = b.fused_gemm(compute_lane(b, d), work, {.deps = in.w[r].ready, .label = b.label("fused GEMM")});
    for (std::uint32_t k = 0; k < w.tp; ++k) {
      for (std::size_t h = 0; h < dirs.size(); ++h) {
        const DeviceId owner = kth(ctx, dirs[h], d, k);
        const Extent rows = chunk(w, dirs.size(), h, owner);
        if (rows.size == 0) continue;
        a.clear();
        std::span<const Dep> waits = in.x[r].ready;
        if (k == 0) {
          a = halves.plans[h].from[r];
        } else {
          waits = {&halves.arrivals[h].at(d, owner), 1};
          push(a, gathered_piece(halves.plans[h], d, owner));
        }
        Slice c = out[r].slices[0];
        c.row = rows.begin;
        c.rows = rows.size;
        b.part(gemm, {.rect = {rows.begin, rows.size, 0, work.n},
                      .waits = waits,
                      .a = a,
                      .b = in.w[r].slices,
                      .c = std::array{c}});
      }
    }
    out[r].ready.push_back({gemm, {}});
  }
  return out;
}

// One fused GEMM a rank, the own chunk last; notes the part that completes each half of each owner's chunk.
void fused_partials(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in, const std::vector<Comm>& dirs,
                    std::vector<ReducePlan>& plans, std::uint32_t r) {
  const Workload& w = ctx.workload;
  const DeviceId d(r);
  const Gemm work = fused_work(ctx, dirs, d);
  std::vector<Dep> deps = in.w[r].ready;
  deps.insert(deps.end(), in.x[r].ready.begin(), in.x[r].ready.end());
  const OpId gemm = b.fused_gemm(compute_lane(b, d), work, {.deps = deps, .label = b.label("fused GEMM")});
  std::vector<Slice> a;
  for (std::uint32_t k = 1; k <= w.tp; ++k) {
    for (std::size_t h = 0; h < dirs.size(); ++h) {
      const DeviceId owner = kth(ctx, dirs[h], d, k % w.tp);
      const Extent rows = chunk(w, dirs.size(), h, owner);
      if (rows.size == 0) continue;
      a.clear();
      push_rows(a, in.x[r].slices, rows.begin, rows.size);
      Slice c = plans[h].partial[r];
      for (std::uint32_t o = 0; o < owner.v; ++o) c.row += plans[h].to[o].rows;
      c.rows = rows.size;
      const PartId part = b.part(
          gemm,
          {.rect = {rows.begin, rows.size, 0, work.n}, .waits = {}, .a = a, .b = in.w[r].slices, .c = std::array{c}});
      plans[h].ready[std::size_t{r} * w.tp + owner.index()] = {{gemm, part}};
    }
  }
}

std::vector<Tensor> build_scatter(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Workload& w = ctx.workload;
  const std::vector<Comm> dirs = comms(ctx);
  std::vector<Tensor> out = outputs(b, w);
  std::vector<ReducePlan> plans(dirs.size());
  for (std::size_t h = 0; h < dirs.size(); ++h) {
    ReducePlan& plan = plans[h];
    plan.label = b.label("partial of {} to {}");
    plan.ready.resize(std::size_t{w.tp} * w.tp);
    std::uint32_t rows = 0;
    for (std::uint32_t r = 0; r < w.tp; ++r) {
      const Extent mine = chunk(w, dirs.size(), h, DeviceId(r));
      Slice to = out[r].slices[0];
      to.row = mine.begin - piece(w.tokens, w.tp, r).begin;
      to.rows = mine.size;
      plan.to.push_back(to);
      rows += mine.size;
    }
    for (std::uint32_t r = 0; r < w.tp; ++r)
      plan.add_ctas.push_back(static_cast<std::uint16_t>(reduce_sms(ctx, DeviceId(r))));
    for (std::uint32_t r = 0; r < w.tp; ++r)
      plan.partial.push_back(
          w.tp == 1 ? plan.to[0] : b.all(b.buffer(DeviceId(r), rows, w.out, w.wire, BufferRole::scratch, "partial Y")));
  }
  for (std::uint32_t r = 0; r < w.tp; ++r) fused_partials(b, ctx, in, dirs, plans, r);
  std::vector<OpId> done;
  for (std::size_t h = 0; h < dirs.size(); ++h) {
    if (w.tp == 1) {
      if (!plans[h].ready[0].empty()) out[0].ready.push_back(plans[h].ready[0][0]);
      continue;
    }
    reduce_scatter(b, dirs[h], plans[h], w.wire, done);
    for (std::uint32_t r = 0; r < w.tp; ++r)
      if (done[r].valid()) out[r].ready.push_back({done[r], {}});
  }
  return out;
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  return ctx.workload.pattern == Pattern::ag_gemm ? build_gather(b, ctx, in) : build_scatter(b, ctx, in);
}

// Time of each step of the exchange: one chunk (both halves) from every rank, `lanes` shifts at once for all to all.
std::vector<PhaseTime> steps(const ScheduleContext& ctx, const PieceTimes& times, const std::vector<Comm>& dirs) {
  const Workload& w = ctx.workload;
  const std::uint32_t cols = w.pattern == Pattern::ag_gemm ? w.in : w.out;
  const Bytes each = size_of(w.wire) * static_cast<double>(chunk(w, dirs.size(), 0, DeviceId(0U)).size) * double(cols);
  std::vector<PhaseTime> out;
  std::vector<std::pair<DeviceId, DeviceId>> flows;
  if (dirs[0].path == Path::ring) {
    for (const Comm& c : dirs)
      for (const DeviceId d : c.ring) flows.emplace_back(d, c.next(d));
    out.assign(w.tp - 1, phase_time(ctx.topology, times, flows, each));
    return out;
  }
  for (std::uint32_t shift = 1; shift < w.tp; ++shift) {
    for (const DeviceId d : dirs[0].ring) flows.emplace_back(d, dirs[0].next(d, shift));
    if (shift % dirs[0].lanes != 0 && shift + 1 != w.tp) continue;
    out.push_back(phase_time(ctx.topology, times, flows, each));
    flows.clear();
  }
  return out;
}

// One step of the first direction alone, with chunks of half the size.
Seconds half_alone(const ScheduleContext& ctx, const PieceTimes& times, const std::vector<Comm>& dirs) {
  const Workload& w = ctx.workload;
  std::vector<std::pair<DeviceId, DeviceId>> flows;
  for (const DeviceId d : dirs[0].ring) flows.emplace_back(d, dirs[0].next(d));
  const double rows = chunk(w, dirs.size(), 0, DeviceId(0U)).size;
  return phase_time(ctx.topology, times, flows, size_of(w.wire) * (rows * double(w.out))).time;
}

bool close(Seconds a, Seconds b) {
  return std::abs(a / b - 1) < 1e-12;
}

// Chunks that arrive in one step of all to all.
std::uint32_t chunks_in(const Workload& w, const Comm& c, std::size_t step) {
  if (c.path == Path::ring) return 1;
  return std::min(c.lanes, w.tp - 1 - c.lanes * static_cast<std::uint32_t>(step));
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const Workload& w = ctx.workload;
  const Seconds whole = times.gemm(local_gemm(w, 0), false);
  if (w.tp == 1) return ClosedForm{whole, "Tcomp", "one device", true};
  const std::vector<Comm> dirs = comms(ctx);
  const std::vector<PhaseTime> phases = steps(ctx, times, dirs);
  const Seconds tc = whole / static_cast<double>(w.tp);
  bool exact = w.tokens % (w.tp * dirs.size()) == 0;
  Seconds arrival;
  Seconds end = tc;
  const bool gathers = w.pattern == Pattern::ag_gemm;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    exact = exact && phases[i].uniform;
    const double chunks = chunks_in(w, dirs[0], i);
    if (gathers) {
      arrival += phases[i].time;
      end = std::max(end, arrival) + chunks * tc;
    } else {
      arrival = std::max(arrival, tc * (dirs[0].path == Path::ring ? double(i + 1) : 1.0)) + phases[i].time;
    }
  }
  const std::string ring = gathers ? "(n-1) max(tc, tm) + tc" : "max(n tc, tc + (n-1) tm)";
  if (dirs[0].path == Path::ring) {
    if (!gathers) {
      end = std::max(whole, arrival);
      // The first half leaves earlier than the second: exact where the two directions share no link.
      exact = exact && (dirs.size() == 1 || close(steps(ctx, times, dirs)[0].time, half_alone(ctx, times, dirs)));
    }
    return ClosedForm{end, ring, "equal chunks, ranks in step, no contention between GEMM and transfers", exact};
  }
  if (gathers) return ClosedForm{end, "max(tc, t_all) + (n-1) tc", "equal chunks, ranks in step", exact};
  Comm lone = dirs[0];
  lone.lanes = 1;
  const Seconds one = steps(ctx, times, {lone}).back().time;
  end = std::max({whole, whole - tc + one, arrival});
  const double shared = phases[0].time / one;  // 1: peers share nothing; lanes: they share everything
  exact = exact && (phases.size() == 1 || dirs[0].lanes == 1) &&
          (shared < 1.0 + 1e-12 || shared > double(dirs[0].lanes) - 1e-12);
  return ClosedForm{end, "max(n tc, (n-1) tc + t_one, tc + t_all)", "equal chunks, peers share nothing or all", exact};
}

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  return refuse_common(ctx, kPatterns);
}

}  // namespace
}  // namespace overlap::intrafusion

namespace overlap {

ScheduleInfo intrafusion_schedule() {
  return {.name = "intrafusion",
          .summary = "one fused GEMM a rank, tiles gated by (or signalling) chunks that travel meanwhile",
          .source = "Compass (arXiv 2609.10549), topology-aware fusion; all_to_all: Flux (arXiv 2406.06858)",
          .patterns = intrafusion::kPatterns,
          .params = {blocks::choice_param("variant", "how chunks travel", "single_ring",
                                          {"single_ring", "double_ring", "all_to_all"}),
                     blocks::mover_param(false, "dma"), blocks::ctas_param(),
                     blocks::integer_param("in_flight", "peers",
                                           "all_to_all: peers that a rank sends to at once; 0 = all", 0, 0, 4096, {}),
                     blocks::reduce_sms_param()},
          .refuses = intrafusion::refuses,
          .build = intrafusion::build,
          .closed_form = intrafusion::closed_form};
}

}  // namespace overlap
