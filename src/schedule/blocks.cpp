#include "schedule/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace overlap::blocks {

LaneId compute_lane(GraphBuilder& b, DeviceId device) {
  return b.lane(device, 0, "compute");
}
namespace {

// "comm", "comm 2", "comm 3", ...: made once, since every transfer asks for its lane.
const std::string& lane_name(const char* base, std::uint32_t index, std::vector<std::string>& names) {
  while (names.size() <= index)
    names.push_back(names.empty() ? std::string(base) : fmt::format("{} {}", base, names.size() + 1));
  return names[index];
}

}  // namespace

LaneId comm_lane(GraphBuilder& b, DeviceId device, std::uint32_t index) {
  thread_local std::vector<std::string> names;
  return b.lane(device, 1 + 2 * index, lane_name("comm", index, names));
}
LaneId reduce_lane(GraphBuilder& b, DeviceId device, std::uint32_t index) {
  thread_local std::vector<std::string> names;
  return b.lane(device, 2 + 2 * index, lane_name("reduce", index, names));
}

void push(std::vector<Slice>& stack, const Slice& s) {
  if (s.rows == 0 || s.cols == 0) return;
  if (!stack.empty()) {
    Slice& last = stack.back();
    if (last.buffer == s.buffer && last.row + last.rows == s.row && last.col == s.col && last.cols == s.cols) {
      last.rows += s.rows;
      return;
    }
  }
  stack.push_back(s);
}

void push_rows(std::vector<Slice>& stack, std::span<const Slice> from, std::uint32_t row, std::uint32_t rows) {
  std::uint32_t begin = 0;
  for (const Slice& s : from) {
    const std::uint32_t lo = std::max(begin, row);
    const std::uint32_t hi = std::min(begin + s.rows, row + rows);
    if (lo < hi) push(stack, {s.buffer, s.row + (lo - begin), hi - lo, s.col, s.cols});
    begin += s.rows;
  }
}

std::uint32_t rows_of(std::span<const Slice> stack) {
  std::uint32_t rows = 0;
  for (const Slice& s : stack) rows += s.rows;
  return rows;
}

Slice columns(Slice s, std::uint32_t col, std::uint32_t cols) {
  s.col += col;
  s.cols = cols;
  return s;
}

// ---- outputs -----------------------------------------------------------------------------------------------------

std::vector<Tensor> outputs(GraphBuilder& b, const Workload& w) {
  std::vector<Tensor> out(w.tp);
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const bool gathers = w.pattern == Pattern::ag_gemm || w.pattern == Pattern::agk_gemm;
    const Extent rows = gathers ? Extent{0, w.tokens} : piece(w.tokens, w.tp, r);
    const Extent cols = gathers ? piece(w.out, w.tp, r) : Extent{0, w.out};
    out[r].device = DeviceId(r);
    out[r].global_row = rows.begin;
    out[r].global_col = cols.begin;
    out[r].slices = {b.all(b.buffer(DeviceId(r), rows.size, cols.size, w.output, BufferRole::output, "Y"))};
  }
  return out;
}

// ---- parameters --------------------------------------------------------------------------------------------------

ParamInfo integer_param(std::string_view name, std::string_view unit, std::string_view summary, std::int64_t fallback,
                        std::int64_t min, std::int64_t max, std::initializer_list<std::int64_t> search) {
  ParamInfo p;
  p.name = name;
  p.unit = unit;
  p.summary = summary;
  p.fallback = fallback;
  p.min = min;
  p.max = max;
  for (const std::int64_t v : search) p.search.emplace_back(v);
  return p;
}

ParamInfo choice_param(std::string_view name, std::string_view summary, std::string_view fallback,
                       std::initializer_list<const char*> choices) {
  ParamInfo p;
  p.name = name;
  p.summary = summary;
  p.fallback = std::string(fallback);
  for (const char* c : choices) {
    p.choices.emplace_back(c);
    p.search.emplace_back(std::string(c));
  }
  return p;
}

ParamInfo mover_param(bool library, std::string_view fallback) {
  if (library)
    return choice_param("mover",
                        "who moves the data: copy engines (DMA), thread blocks on SMs, or a library collective",
                        fallback, {"dma", "sm", "library"});
  return choice_param("mover", "who moves the data: copy engines (DMA) or thread blocks on SMs", fallback,
                      {"dma", "sm"});
}
ParamInfo path_param() {
  return choice_param("path", "dma and sm: every rank to every rank at once, or neighbour to neighbour round a ring",
                      "direct", {"direct", "ring"});
}
ParamInfo ctas_param() {
  return integer_param("ctas", "CTAs",
                       "mover sm: thread blocks of a device that move data, shared by its communication lanes", 16, 1,
                       1024, {});
}
ParamInfo channels_param() {
  return integer_param("channels", "SMs", "mover library: SMs that each member holds; 0 = the library's default", 0, 0,
                       1024, {});
}
ParamInfo spare_sms_param() {
  return integer_param("spare_sms", "SMs", "SMs that the GEMMs leave free for communication kernels", 0, 0, 1024, {});
}
ParamInfo reduce_sms_param() {
  return integer_param("reduce_sms", "SMs",
                       "sums by copies: SMs that the fused GEMM leaves to the kernels that add; 0 = none, -1 = a "
                       "quarter where sum follows sum, none between two ranks",
                       -1, -1, 1024, {});
}

std::uint32_t count(const ScheduleContext& ctx, std::string_view name) {
  return static_cast<std::uint32_t>(ctx.params.integer(name));
}

Comm comm_of(const ScheduleContext& ctx, std::uint32_t lanes) {
  const Params& params = ctx.params;
  Comm comm;
  comm.ranks = ctx.workload.tp;
  comm.lanes = std::max(lanes, 1U);
  const std::string mover = params.has("mover") ? params.text("mover") : "dma";
  if (mover == "library") {
    comm.path = Path::library;
  } else {
    comm.path = params.has("path") && params.text("path") == "ring" ? Path::ring : Path::direct;
  }
  if (mover == "sm") {
    comm.transfer.mover = Mover::sm;
    const auto total = static_cast<std::uint32_t>(params.integer("ctas"));
    comm.transfer.ctas = static_cast<std::uint16_t>(std::max(1U, total / comm.lanes));
  }
  if (params.has("channels")) comm.channels = static_cast<std::uint16_t>(params.integer("channels"));
  comm.ring = ctx.topology.ring_order(comm.ranks);
  comm.position.resize(comm.ranks);
  for (std::uint32_t i = 0; i < comm.ranks; ++i) comm.position[comm.ring[i].index()] = i;
  return comm;
}

Gemm gemm_work(const ScheduleContext& ctx, GemmShape shape, DeviceId device, bool accumulate) {
  Gemm g;
  g.m = shape.m;
  g.n = shape.n;
  g.k = shape.k;
  g.dtype = ctx.workload.operand;
  g.accumulate = accumulate;
  g.max_sms = ctx.params.has("spare_sms") ? unspared_sms(ctx, device) : 0;
  return g;
}

std::uint32_t gemm_sms(const ScheduleContext& ctx, const Comm& comm, DeviceId device) {
  if (comm.transfer.mover != Mover::sm || comm.path == Path::library) return 0;
  const std::uint32_t taken = comm.transfer.ctas * comm.lanes;
  const std::uint32_t sms = ctx.devices[device.index()].sms;
  return sms > taken ? sms - taken : 1;
}

std::uint32_t unspared_sms(const ScheduleContext& ctx, DeviceId device) {
  const std::uint32_t spare = count(ctx, "spare_sms");
  if (spare == 0) return 0;
  const std::uint32_t sms = ctx.devices[device.index()].sms;
  return sms > spare ? sms - spare : 1;
}

std::uint32_t reduce_sms(const ScheduleContext& ctx, DeviceId device) {
  const std::int64_t given = ctx.params.integer("reduce_sms");
  const std::uint32_t sms = ctx.devices[device.index()].sms;
  if (ctx.workload.pattern == Pattern::ag_gemm || ctx.workload.tp == 1 || sms < 2) return 0;
  // Two ranks add once, when the GEMM has ended. Rings of more add all along; on fewer SMs their sums are what takes
  // longest.
  const std::uint32_t fitting = ctx.workload.tp > 2 ? std::max(1U, sms / 4) : 0;
  return std::min(sms - 1, given < 0 ? fitting : static_cast<std::uint32_t>(given));
}

std::uint32_t without_reduce_sms(const ScheduleContext& ctx, DeviceId device, std::uint32_t sms) {
  const std::uint32_t kept = reduce_sms(ctx, device);
  if (kept == 0) return sms;
  const std::uint32_t left = sms == 0 ? ctx.devices[device.index()].sms : sms;
  return left > kept ? left - kept : 1;
}

std::optional<Refusal> refuse_common(const ScheduleContext& ctx, std::span<const Pattern> patterns) {
  const Workload& w = ctx.workload;
  if (std::find(patterns.begin(), patterns.end(), w.pattern) == patterns.end())
    return Refusal{RefusalKind::pattern, fmt::format("it is not defined for {}", to_text(w.pattern))};
  const std::size_t have = std::min<std::size_t>(ctx.topology.device_count(), ctx.devices.size());
  if (w.tp > have)
    return Refusal{RefusalKind::degree, fmt::format("it needs {} devices, the topology has {}", w.tp, have)};
  if (!ctx.params.has("mover") || w.tp == 1) return std::nullopt;
  const std::string& mover = ctx.params.text("mover");
  if (mover == "library") return std::nullopt;
  if (!ctx.topology.capabilities().peer_access)
    return Refusal{RefusalKind::capability, "devices of this topology cannot copy to each other directly"};
  for (std::uint32_t r = 0; r < w.tp; ++r) {
    const Device& d = ctx.devices[r];
    if (mover == "dma" && d.copy_engines == 0)
      return Refusal{RefusalKind::capability, fmt::format("device '{}' has no copy engine", d.name)};
    if (mover == "sm" && d.sms <= 1)
      return Refusal{RefusalKind::capability, fmt::format("device '{}' has no SMs to spare", d.name)};
  }
  return std::nullopt;
}

}  // namespace overlap::blocks
