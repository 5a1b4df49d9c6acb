// FlashOverlap (Infinigence, arXiv 2504.19519): one GEMM at full speed that signals finished groups of whole waves; a
// waiting kernel starts the library's collective for each group. GEMM+RS and GEMM+AR.
//
// A group here is a band of rows of every owner's share (reduce-scatter) or of the result (all-reduce): parts are
// rectangles, so a group is its waves rounded to whole rows, which the paper reaches by reordering tiles in memory.
// Group sizes: equal, or with `first_small` the first half as large as the others, as its search tends to pick.
//
// Predictor of the paper (predict_wave_groups): 2 SMs are given to the collective, waves = ceil(tiles/(SMs - 2)); group
// i's collective starts at max(end of its waves, end of the collective before); total = end of the last one. One group
// is the GEMM plus the whole collective: no overlap.
#include <algorithm>
#include <array>

#include "schedule/signalled.hpp"

namespace overlap::wave_groups {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::gemm_rs, Pattern::gemm_ar};

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  if (auto r = refuse_common(ctx, kPatterns)) return r;
  return refuse_few_tokens(ctx);
}

// Groups that leave each of them something of every owner's share.
std::uint32_t group_count(const ScheduleContext& ctx) {
  const Workload& w = ctx.workload;
  const bool small = ctx.params.text("sizes") == "first_small";
  const std::uint32_t least = w.pattern == Pattern::gemm_ar ? w.tokens : w.tokens / w.tp;
  return std::max(1U, std::min(count(ctx, "groups"), small ? (least + 1) / 2 : least));
}

// Band of `group` in an extent: equal, or the first half as large.
Extent band(std::uint32_t extent, std::uint32_t groups, std::uint32_t group, bool first_small) {
  if (!first_small) return piece(extent, groups, group);
  const std::uint32_t halves = 2 * groups - 1;
  const std::uint32_t from = group == 0 ? 0 : 2 * group - 1;
  const Extent a = piece(extent, halves, from);
  if (group == 0) return a;
  return {a.begin, a.size + piece(extent, halves, from + 1).size};
}

std::vector<Extent> group_rows(const ScheduleContext& ctx, std::uint32_t group) {
  const Workload& w = ctx.workload;
  const std::uint32_t groups = group_count(ctx);
  const bool small = ctx.params.text("sizes") == "first_small";
  if (w.pattern == Pattern::gemm_ar) return {band(w.tokens, groups, group, small)};
  std::vector<Extent> out;
  for (std::uint32_t o = 0; o < w.tp; ++o) {
    const Extent share = piece(w.tokens, w.tp, o);
    const Extent part = band(share.size, groups, group, small);
    out.push_back({share.begin + part.begin, part.size});
  }
  return out;
}

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const Workload& w = ctx.workload;
  const std::uint32_t groups = group_count(ctx);
  ScatterLayer layer(b, ctx, in);
  std::vector<OpId> gemm;
  std::vector<LaneId> lanes;
  std::vector<std::size_t> first_part;  // by group
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    std::vector<PartWant> parts;
    first_part.clear();
    for (std::uint32_t g = 0; g < groups; ++g) {
      first_part.push_back(parts.size());
      for (const Extent& e : group_rows(ctx, g)) {
        if (e.size > 0) parts.push_back({e, layer.cols(), {}});
      }
    }
    first_part.push_back(parts.size());
    const DeviceId d(r);
    gemm.push_back(layer.fused(d, parts, PartOrder::ready, b.label("GEMM"), w.tp > 1 ? unspared_sms(ctx, d) : 0));
    lanes.push_back(comm_lane(b, d));
  }
  if (w.tp == 1) return layer.take_outputs();
  const bool all = layer.reduces_all();
  for (std::uint32_t g = 0; g < groups; ++g) {
    if (first_part[g] == first_part[g + 1]) continue;
    const std::vector<Extent> bands = group_rows(ctx, g);
    std::vector<Dep> deps;
    std::vector<Slice> reads;
    std::vector<Slice> writes;
    for (std::uint32_t r = 0; r < w.tp; ++r) {
      for (std::size_t i = first_part[g]; i < first_part[g + 1]; ++i) deps.push_back(part_of(b, gemm[r], i));
      for (const Extent& e : bands) reads.push_back(layer.partial(DeviceId(r), e));
      writes.push_back(layer.result(DeviceId(r), all ? bands[0] : bands[r]));
    }
    const OpId op = b.collective(lanes,
                                 {all ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter,
                                  CollectiveAlgorithm::automatic, static_cast<std::uint16_t>(count(ctx, "channels"))},
                                 reads, writes, {.deps = deps, .label = b.label("reduce group {}", g)});
    for (std::uint32_t r = 0; r < w.tp; ++r) layer.done(DeviceId(r), op);
  }
  return layer.take_outputs();
}

std::optional<ClosedForm> closed_form(const ScheduleContext& ctx, const PieceTimes& times) {
  const Workload& w = ctx.workload;
  const std::uint32_t groups = group_count(ctx);
  if (w.tp == 1 || ctx.params.text("sizes") != "equal") return std::nullopt;
  if (w.tokens % (w.tp * groups) != 0) return std::nullopt;
  const Seconds comp = times.gemm(local_gemm(w, 0), false);
  const Seconds comm = times.collective(collective_bytes(w) / static_cast<double>(groups));
  Seconds end;
  for (std::uint32_t g = 1; g <= groups; ++g) {
    end = std::max(end, comp * (static_cast<double>(g) / groups)) + comm;
  }
  return ClosedForm{end, "end_i = max(i Tcomp/g, end_(i-1)) + Tcomm(bytes/g)",
                    "equal groups, ranks in step, no SMs taken", unspared_sms(ctx, DeviceId(0U)) == 0};
}

}  // namespace
}  // namespace overlap::wave_groups

namespace overlap {

ScheduleInfo wave_groups_schedule() {
  ParamInfo spare = blocks::spare_sms_param();
  spare.fallback = std::int64_t{2};
  ParamInfo channels = blocks::channels_param();
  channels.fallback = std::int64_t{2};
  return {.name = "wave_groups",
          .summary = "one GEMM signals groups of waves; the library reduces each group meanwhile",
          .source = "FlashOverlap (arXiv 2504.19519)",
          .patterns = wave_groups::kPatterns,
          .params = {blocks::integer_param("groups", "groups", "groups that are reduced one after another", 4, 1, 256,
                                           {2, 4, 8}),
                     blocks::choice_param("sizes", "sizes of the groups", "equal", {"equal", "first_small"}), channels,
                     spare},
          .refuses = wave_groups::refuses,
          .build = wave_groups::build,
          .closed_form = wave_groups::closed_form};
}

}  // namespace overlap
