// Checks of one run: those that every run gets for free, and those of --check.
#include <fmt/core.h>

#include <cmath>

#include "overlap/codec.hpp"
#include "overlap/graph_check.hpp"
#include "overlap/run.hpp"

namespace overlap {
namespace {

constexpr std::size_t kMostMessages = 5;
constexpr std::uint32_t kMostPieces = 512;

void append(std::vector<std::string>& out, std::string_view what, const std::vector<std::string>& problems) {
  for (std::size_t i = 0; i < problems.size() && i < kMostMessages; ++i) {
    out.push_back(fmt::format("{}: {}", what, problems[i]));
  }
  if (problems.size() > kMostMessages) {
    out.push_back(fmt::format("{}: and {} more", what, problems.size() - kMostMessages));
  }
}

bool equal(Seconds a, Seconds b) {
  return std::abs((a - b).si()) <= 1e-9 * std::max(std::abs(a.si()), std::abs(b.si()));
}

}  // namespace

std::vector<std::string> check_layer(const ScheduleInfo& info, const ScheduleContext& context, const OpGraph& graph,
                                     std::span<const Seconds> start_delay) {
  std::vector<std::string> out;
  append(out, "not well formed", validate(graph));
  if (!out.empty()) return out;
  append(out, "race", find_races(graph));
  for (std::uint32_t pieces = 8; pieces <= kMostPieces; pieces *= 2) {
    const Workload small = twin(context.workload, pieces);
    const OpGraph twin_graph =
        build_layer(info, {small, context.topology, context.devices, context.params}, start_delay);
    if (!same_structure(graph, twin_graph)) continue;
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      append(out, "reference run", reference_run(twin_graph, seed, real_codecs()));
    return out;
  }
  out.emplace_back("reference run: no scaled-down twin has the same structure");
  return out;
}

std::vector<std::string> check_run(const ScheduleReport& s, const RunView& view) {
  std::vector<std::string> out;
  append(out, "bytes", delivered_bytes(view).mismatches);
  if (!equal(s.phases.total(), s.makespan)) {
    out.push_back(fmt::format("phases sum to {}, the makespan is {}", to_text(s.phases.total()), to_text(s.makespan)));
  }
  Seconds at;
  bool whole = true;
  for (const PathStep& p : s.path) {
    whole = whole && equal(p.begin, at);
    at = p.end;
  }
  if (!whole || !equal(at, s.makespan)) out.emplace_back("the critical path does not cover the makespan");
  for (const Bound& b : s.bounds) {
    if (s.makespan < b.time * (1.0 - 1e-9)) {
      out.push_back(
          fmt::format("faster than its lower bound of {} ({} {})", to_text(b.time), to_text(b.kind), b.where));
    }
  }
  return out;
}

}  // namespace overlap
