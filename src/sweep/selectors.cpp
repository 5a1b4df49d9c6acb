#include "sweep/selectors.hpp"

#include <algorithm>
#include <charconv>

#include "overlap/select.hpp"

namespace overlap::sweep {
namespace {

// The value of "name=" in a schedule's text; empty when it has none.
std::string_view param(std::string_view schedule, std::string_view name) {
  const std::string key = " " + std::string(name) + "=";
  const std::size_t at = schedule.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = schedule.substr(at + key.size());
  return rest.substr(0, rest.find(' '));
}

std::optional<std::uint32_t> degree_of(const SweepRow& row) {
  const std::string_view text = param(row.schedule, "d");
  std::uint32_t d = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), d);
  return error == std::errc{} && !text.empty() ? std::optional(d) : std::nullopt;
}

struct Times {
  Seconds comp;
  Seconds comm;
};

// Of the undivided GEMM and collective, from the serial row: what a profile of the plain layer gives.
std::optional<Times> times_of(const Study& study, const Group& g) {
  const auto serial = g.best_of(study, "serial");
  if (!serial) return std::nullopt;
  const auto floor = g.metric(study, *serial, "floor_us");
  const auto kernel = g.metric(study, *serial, "kernel_us");
  const auto comm = g.metric(study, *serial, "communication_us");
  if (!floor || !kernel || !comm || *comm <= 0 || *floor + *kernel <= 0) return std::nullopt;
  return Times{Seconds((*floor + *kernel) * 1e-6), Seconds(*comm * 1e-6)};
}

// The fastest row of the family among those that `accept`.
template <class Accept>
std::optional<std::size_t> best_where(const Study& study, const Group& g, Accept accept) {
  for (const std::size_t i : g.ranking(study)) {
    if (accept(g.rows[i])) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> pick_compass(const Study& study, const Group& g, bool agnostic) {
  const auto times = times_of(study, g);
  if (!times) return std::nullopt;
  CompassInputs in;
  in.comp = times->comp;
  in.comm = times->comm;
  in.devices = g.rows.front().workload.tp;
  for (const SweepRow& row : g.rows) {
    const auto d = degree_of(row);
    if (row.family == "interdecom" && row.refusal.empty() && d) in.allowed.push_back(*d);
  }
  std::sort(in.allowed.begin(), in.allowed.end());
  in.allowed.erase(std::unique(in.allowed.begin(), in.allowed.end()), in.allowed.end());
  if (in.allowed.empty()) return std::nullopt;
  const Choice c = agnostic ? select_agnostic(in) : select_compass(in);
  if (c.pick == "intrafusion") return g.best_of(study, "intrafusion");
  if (c.pick == "serial") return g.best_of(study, "serial");
  return best_where(study, g, [&](const SweepRow& r) { return r.family == "interdecom" && degree_of(r) == c.degree; });
}

std::optional<std::size_t> pick_ficco(const Study& study, const Experiment& e, const Group& g) {
  if (g.rows.front().workload.pattern != Pattern::ag_gemm) return std::nullopt;
  FiccoInputs in;
  in.shape = local_gemm(g.rows.front().workload, 0);
  in.peak = e.devices.front().peak_of(e.workloads.front().operand);
  const Choice c = select_ficco(in);
  return best_where(study, g, [&](const SweepRow& r) {
    return r.family.rfind("ficco", 0) == 0 && (r.family + " " + r.schedule).find(c.pick) != std::string::npos;
  });
}

std::optional<std::size_t> pick_gate(const Study& study, const Group& g) {
  const auto times = times_of(study, g);
  const Workload& w = g.rows.front().workload;
  if (!times || w.pattern == Pattern::a2a_gemm || w.pattern == Pattern::bulk) return std::nullopt;
  XlaGateInputs in;
  in.comp = times->comp;
  in.comm = times->comm;
  in.devices = w.tp;
  in.operand = collective_bytes(w);
  in.threshold = Bytes(0);
  const Choice c = select_xla_gate(in);
  if (c.pick == "serial") return g.best_of(study, "serial");
  return best_where(study, g, [](const SweepRow& r) { return r.family.rfind("looped", 0) == 0; });
}

}  // namespace

std::optional<std::size_t> pick_of(const std::string& selector, const Study& study, const Experiment& experiment,
                                   const Group& group) {
  if (selector == "compass") return pick_compass(study, group, false);
  if (selector == "agnostic") return pick_compass(study, group, true);
  if (selector == "ficco") return pick_ficco(study, experiment, group);
  return pick_gate(study, group);
}

}  // namespace overlap::sweep
