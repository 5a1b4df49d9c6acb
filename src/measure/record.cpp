#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "measure/measure.hpp"

namespace overlap::cuda {
namespace {

std::string range(std::vector<std::uint32_t> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? "[]" : fmt::format("[{}, {}, {}]", v.front(), v[v.size() / 2], v.back());
}

std::string kernels_text(const GpuProgram& program) {
  std::string out;
  std::string last;
  for (const GemmChoice& g : program.gemms()) {
    const std::string text = fmt::format("[{}, {}, {}, \"{}\", {}]", g.m, g.n, g.k, escaped(g.kernel), g.launches);
    if (text != last) out += (out.empty() ? "" : ", ") + text;
    last = text;
  }
  std::string notes;
  for (const std::string& n : program.notes()) {
    notes += fmt::format("{}\"{}\"", notes.empty() ? "" : ", ", escaped(n));
  }
  return (out.empty() ? "" : fmt::format(", \"gemm_kernels\": [{}]", out)) +
         (notes.empty() ? "" : fmt::format(", \"notes\": [{}]", notes));
}

// At most `points` pairs [seconds since start, mean us of the runs since the last pair].
std::string series_text(const GpuLoad& load, std::size_t points) {
  const std::size_t each = std::max<std::size_t>(1, load.times.size() / points);
  std::string out;
  for (std::size_t i = 0; i + each <= load.times.size(); i += each) {
    double sum = 0;
    for (std::size_t j = i; j < i + each; ++j) sum += load.times[j].si();
    out += fmt::format("{}[{:.3f}, {:.1f}]", out.empty() ? "" : ", ", load.ends[i + each - 1].si(),
                       sum * 1e6 / static_cast<double>(each));
  }
  return out;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

// Sorted v: median v[n/2], p10 v[n/10], p90 v[9n/10].
std::string statistics(const std::vector<double>& raw_us) {
  std::vector<double> v = raw_us;
  std::sort(v.begin(), v.end());
  const std::size_t n = v.size();
  return fmt::format(
      "\"reps\": {}, \"median_us\": {:.3f}, \"min_us\": {:.3f}, \"max_us\": {:.3f}, \"p10_us\": {:.3f}, "
      "\"p90_us\": {:.3f}",
      n, v[n / 2], v.front(), v.back(), v[n / 10], v[9 * n / 10]);
}

std::string spans_text(const OpGraph& graph, const LaunchPlan& plan, const Timeline& t) {
  std::string out;
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    const Op& op = graph.ops()[i];
    for (const LaneId lane : graph.lane_refs(op.lanes)) {
      Seconds begin = t.ops[i].admitted;
      for (const MemberTimes& m : t.members) {
        if (m.op == OpId(i) && m.device == graph.lane(lane).device) begin = m.admitted;
      }
      out += fmt::format("{}[{}, \"{}\", {:.2f}, {:.2f}]", out.empty() ? "" : ", ", plan.streams[lane.index()].gpu,
                         graph.text(op.label), begin.si() * 1e6, t.ops[i].end.si() * 1e6);
    }
  }
  return out;
}

std::string record_text(const Job& job, const Seen& seen, const GpuProgram& program) {
  std::string out = statistics(seen.raw_us);
  if (job.every_raw) out += fmt::format(", \"raw_us\": [{:.2f}]", fmt::join(seen.raw_us, ", "));
  out += fmt::format(", \"sm_mhz\": {}, \"watts\": {}", range(seen.sm_mhz), range(seen.watts));
  if (seen.checked) out += fmt::format(", \"error\": {:.2e}", seen.error);
  return out + kernels_text(program);
}

std::string measured_spans(const Job& job, const OpGraph& graph, const LaunchPlan& plan, const GpuSpans& spans) {
  std::string out = fmt::format(", \"clock_error_us\": {:.2f}, \"spans\": [{}]", spans.clock_error.si() * 1e6,
                                spans_text(graph, plan, spans.timeline));
  const auto gpu = [&](OpId op) { return plan.map.gpu_of[graph.device_of(graph.op(op)).index()]; };
  std::string parts;
  std::string tiles;
  for (const TileTimes& t : spans.tiles) {
    const auto& gemm = std::get<Gemm>(graph.op(t.op).work);
    const std::string head = fmt::format("{}, \"{}\"", gpu(t.op), graph.text(graph.op(t.op).label));
    std::vector<double> us;
    for (std::uint32_t p = gemm.parts.begin; p < gemm.parts.end; ++p) {
      us.push_back(spans.timeline.part_ends[p].si() * 1e6);
    }
    parts += fmt::format("{}[{}, [{:.1f}]]", parts.empty() ? "" : ", ", head, fmt::join(us, ", "));
    us.clear();
    for (const Seconds end : t.ends) us.push_back(end.si() * 1e6);
    tiles += fmt::format("{}[{}, {}, {}, {}, [{:.1f}]]", tiles.empty() ? "" : ", ", head, t.ctas, t.tile_rows,
                         t.tile_cols, fmt::join(us, ", "));
  }
  if (job.tiles && !parts.empty()) out += fmt::format(", \"part_ends\": [{}]", parts);
  if (job.every_tile && !tiles.empty()) out += fmt::format(", \"tile_ends\": [{}]", tiles);
  return out;
}

std::string contention_text(const OpGraph& graph, const Timeline& t) {
  Seconds begin = kForever;
  Seconds end;
  Seconds comm;
  std::uint32_t gemms = 0;
  for (std::size_t i = 0; i < graph.ops().size(); ++i) {
    if (std::holds_alternative<Gemm>(graph.ops()[i].work)) {
      begin = std::min(begin, t.ops[i].begin);
      end = std::max(end, t.ops[i].end);
      ++gemms;
    } else {
      comm = std::max(comm, t.ops[i].end);
    }
  }
  return fmt::format(", \"gemm_us\": {:.2f}, \"comm_total_us\": {:.2f}", (end - begin).si() * 1e6 / std::max(1U, gemms),
                     comm.si() > 0 ? (comm - begin).si() * 1e6 : 0.0);
}

std::string load_text(GpuSession& session, GpuProgram& program, Seconds duration, const Seen& seen) {
  constexpr std::size_t kRaw = 50;
  constexpr std::size_t kSeries = 100;
  Seen loaded = seen;
  std::atomic<bool> over{false};
  std::thread reader([&] {
    for (int i = 0; !over; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (i % 10 != 9) continue;
      const GpuState state = session.state().front();
      loaded.sm_mhz.push_back(static_cast<std::uint32_t>(state.sm_mhz));
      loaded.watts.push_back(static_cast<std::uint32_t>(state.watts));
    }
  });
  const auto stop = [&] {
    over = true;
    reader.join();
  };
  GpuLoad load;
  try {
    load = program.repeat(duration);
  } catch (...) {
    stop();
    throw;
  }
  stop();
  const std::size_t half = load.times.size() / 2;
  std::vector<double> second;
  for (std::size_t i = half; i < load.times.size(); ++i) second.push_back(load.times[i].si() * 1e6);
  const std::size_t step = std::max<std::size_t>(1, second.size() / kRaw);
  std::vector<double> raw;
  for (std::size_t i = 0; i < second.size() && raw.size() < kRaw; i += step) raw.push_back(second[i]);
  std::string out = fmt::format("{}, \"raw_us\": [{:.2f}], \"runs\": {}, \"host_waits\": {:.2f}, ", statistics(second),
                                fmt::join(raw, ", "), load.times.size(), load.host_waits);
  out += fmt::format("\"sm_mhz\": {}, \"watts\": {}, \"series_s_us\": [{}]", range(loaded.sm_mhz), range(loaded.watts),
                     series_text(load, kSeries));
  if (loaded.checked) out += fmt::format(", \"error\": {:.2e}", loaded.error);
  return out + kernels_text(program);
}

}  // namespace overlap::cuda
