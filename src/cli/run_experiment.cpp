// Every workload of an experiment under every schedule, analysed, ranked and held against closed forms and bounds.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "analysis/ranking.hpp"
#include "cli/parallel.hpp"
#include "overlap/error.hpp"
#include "overlap/run.hpp"

namespace overlap {
namespace {

CollectiveKind collective_of(Pattern p) {
  switch (p) {
    case Pattern::ag_gemm:
    case Pattern::agk_gemm:
    case Pattern::bulk:
      return CollectiveKind::all_gather;
    case Pattern::gemm_rs:
      return CollectiveKind::reduce_scatter;
    case Pattern::gemm_ar:
      return CollectiveKind::all_reduce;
    case Pattern::a2a_gemm:
      return CollectiveKind::all_to_all;
  }
  return CollectiveKind::all_gather;
}

std::string_view verb(CollectiveKind k) {
  switch (k) {
    case CollectiveKind::all_gather:
      return "all-gather";
    case CollectiveKind::reduce_scatter:
      return "reduce-scatter";
    case CollectiveKind::all_reduce:
      return "all-reduce";
    case CollectiveKind::all_to_all:
      return "all-to-all";
    case CollectiveKind::broadcast:
      return "broadcast";
  }
  return "";
}

std::string text(const ParamValue& v) {
  if (const auto* s = std::get_if<std::string>(&v)) return *s;
  if (const auto* i = std::get_if<std::int64_t>(&v)) return std::to_string(*i);
  return fmt::format("{}", std::get<double>(v));
}

// Name and what tells this request from the defaults and from its siblings: "interdecom d=4".
std::string label_of(const ScheduleRequest& r, std::span<const ScheduleRequest> all) {
  std::string out(r.info->name);
  for (std::size_t p = 0; p < r.params.all().size(); ++p) {
    const auto& [name, value] = r.params.all()[p];
    bool telling = false;
    for (const ParamInfo& info : r.info->params) telling = telling || (info.name == name && info.fallback != value);
    for (const ScheduleRequest& o : all) telling = telling || (o.info == r.info && o.params.all()[p].second != value);
    if (telling) out += fmt::format(" {}={}", name, text(value));
  }
  return out;
}

struct Layer {
  const Workload* workload = nullptr;
  LayerFacts facts;
};

class Runner {
 public:
  Runner(const Experiment& e, const RunOptions& options)
      : e_(e),
        options_(options),
        plans_(make_gemm_plans()),
        machine_{e.topology, e.devices, e.background, plans_.get()},
        requests_(chosen()) {}

  RunReport run() {
    RunReport report;
    report.config = e_.name;
    report.machine = machine_text();
    report.models = models_text();
    for (const Workload& w : e_.workloads) layers_.push_back({&w, layer_facts(e_, w, plans_.get())});
    std::vector<ScheduleReport> results(layers_.size() * requests_.size());
    for_each_index(results.size(), [&](std::size_t i) {
      results[i] = one(layers_[i / requests_.size()], requests_[i % requests_.size()]);
      report_progress(results.size());
    });
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      std::vector<ScheduleReport> mine(std::make_move_iterator(results.begin() + index(l)),
                                       std::make_move_iterator(results.begin() + index(l + 1)));
      report.workloads.push_back(workload_report(*layers_[l].workload, std::move(mine)));
    }
    report.notes = notes();
    return report;
  }

 private:
  [[nodiscard]] std::ptrdiff_t index(std::size_t layer) const {
    return static_cast<std::ptrdiff_t>(layer * requests_.size());
  }

  [[nodiscard]] std::vector<ScheduleRequest> chosen() const {
    if (options_.schedule.empty()) return e_.schedules;
    const ScheduleInfo& wanted = find_schedule(options_.schedule);
    std::vector<ScheduleRequest> out;
    bool serial = false;
    for (const ScheduleRequest& r : e_.schedules) {
      if (r.info == &wanted || r.info->name == "serial") out.push_back(r);
      serial = serial || r.info->name == "serial";
    }
    const auto add = [&](const ScheduleInfo& info) { out.push_back({&info, complete_params(info, {})}); };
    if (std::none_of(out.begin(), out.end(), [&](const ScheduleRequest& r) { return r.info == &wanted; })) add(wanted);
    if (!serial && wanted.name != "serial") add(find_schedule("serial"));
    return out;
  }

  [[nodiscard]] ScheduleReport one(const Layer& l, const ScheduleRequest& request) const {
    const Workload& w = *l.workload;
    const ScheduleContext context{w, e_.topology, e_.devices, request.params};
    ScheduleReport s;
    s.label = label_of(request, requests_);
    s.schedule = request.info->name;
    s.params = request.params.to_text();
    if (const auto refusal = request.info->refuses(context)) {
      s.refusal = refusal->reason;
      return s;
    }
    auto finished = std::make_shared<FinishedRun>();
    finished->graph = build_layer(*request.info, context, e_.start_delay);
    Priced priced = price(finished->graph, machine_, e_.cost);
    finished->timeline = simulate(finished->graph, priced.demands, priced.resources, e_.simulation);
    finished->demands = std::move(priced.demands);
    finished->resources = std::move(priced.resources);
    const RunView view{finished->graph, finished->demands, finished->resources, finished->timeline,
                       e_.devices,      l.facts.cuts,      l.facts.undivided};
    analyse(s, view, w);
    if (request.info->closed_form != nullptr) closed_form(s, *request.info, context, l.facts.pieces);
    s.cross.effects = effects_off(*request.info, context, view, s.cross.closed_form, l.facts.pieces_without, machine_,
                                  e_.cost, e_.simulation, options_.effects);
    if (options_.explain) s.losses = losses_of(context, view, s.phases, machine_, e_.cost, e_.simulation);
    s.checks = check_run(s, view);
    if (options_.check) {
      for (std::string& c : check_layer(*request.info, context, finished->graph, e_.start_delay))
        s.checks.push_back(std::move(c));
    }
    s.run = std::move(finished);
    return s;
  }

  static void analyse(ScheduleReport& s, const RunView& view, const Workload& w) {
    s.makespan = view.timeline.makespan;
    s.phases = phases(view);
    s.bounds = lower_bounds(view);
    s.path = critical_path(view);
    s.links = link_uses(view);
    for (const Bytes b : peak_scratch(view)) s.extra_memory = std::max(s.extra_memory, b);
    s.communication = communication_time(view);
    s.bandwidth = collective_bandwidth(collective_of(w.pattern), w.tp, collective_bytes(w), s.communication);
  }

  static void closed_form(ScheduleReport& s, const ScheduleInfo& info, const ScheduleContext& context,
                          const PieceTimes& pieces) {
    const std::optional<ClosedForm> form = info.closed_form(context, pieces);
    if (!form) return;
    s.cross.closed_form = form->makespan;
    s.cross.formula = form->formula;
    s.cross.assumes = form->assumes;
  }

  [[nodiscard]] WorkloadReport workload_report(const Workload& w, std::vector<ScheduleReport> results) const {
    WorkloadReport out;
    out.name = w.name;
    out.pattern = to_text(w.pattern);
    out.layer = fmt::format("{} tokens, {} -> {}, TP {}", w.tokens, w.in, w.out, w.tp);
    const GemmShape g = local_gemm(w, 0);
    out.per_gpu =
        fmt::format("GEMM {} x {} x {} (m n k, {}), {} of {} ({} on the wire)", g.m, g.n, g.k, to_text(w.operand),
                    verb(collective_of(w.pattern)), to_text(collective_bytes(w)), to_text(w.wire));
    out.checked = options_.check;
    const auto ran = std::stable_partition(results.begin(), results.end(),
                                           [](const ScheduleReport& s) { return s.refusal.empty(); });
    const auto count = static_cast<std::size_t>(ran - results.begin());
    std::vector<std::size_t> places = places_by_time(count, [&](std::size_t i) { return results[i].makespan.si(); });
    for (std::size_t i = count; i < results.size(); ++i) places.push_back(i);
    results = in_places(std::move(results), places);
    const auto serial = std::find_if(results.begin(), results.end(), [](const ScheduleReport& s) {
      return s.schedule == "serial" && s.refusal.empty();
    });
    if (serial != results.end()) {
      const Seconds makespan = serial->makespan;
      const Seconds computing = serial->phases.computing();
      out.ideal_overlap = std::max(computing, serial->communication);
      if (out.ideal_overlap > Seconds{}) out.ideal_speedup = makespan / out.ideal_overlap;
      for (ScheduleReport& s : results) {
        if (!s.refusal.empty()) continue;
        s.speedup = makespan / s.makespan;
        s.efficiency = overlap_efficiency(makespan, computing, s.makespan);
      }
    }
    if (options_.explain && !results.empty() && results.front().refusal.empty()) {
      for (const ScheduleRequest& r : requests_) {
        if (r.info->name != results.front().schedule || r.params.to_text() != results.front().params) continue;
        out.sensitivities = sensitivities(e_, w, r);
        break;
      }
    }
    out.schedules = std::move(results);
    return out;
  }

  [[nodiscard]] std::string machine_text() const {
    std::vector<std::pair<std::string, std::size_t>> kinds;
    for (const Device& d : e_.devices) {
      if (kinds.empty() || kinds.back().first != d.name) kinds.emplace_back(d.name, 0);
      ++kinds.back().second;
    }
    std::string out;
    for (const auto& [name, count] : kinds) out += fmt::format("{}{} x {}", out.empty() ? "" : " + ", count, name);
    return out + " on " + e_.topology.name();
  }

  [[nodiscard]] std::string models_text() const {
    static constexpr std::string_view kCompute[] = {"ideal", "roofline", "tile"};
    static constexpr std::string_view kNetwork[] = {"max-min fluid", "contention-blind alpha-beta"};
    std::string out = fmt::format("{} compute, {} network", kCompute[static_cast<std::size_t>(e_.cost.compute)],
                                  kNetwork[static_cast<std::size_t>(e_.cost.network)]);
    if (e_.simulation.seed != 0) out += fmt::format(", seed {}", e_.simulation.seed);
    return out;
  }

  [[nodiscard]] std::vector<std::string> notes() const {
    std::vector<std::string> out;
    std::string last;
    for (const Device& d : e_.devices) {
      if (d.name == last) continue;
      last = d.name;
      if (d.estimate) {
        out.push_back(fmt::format("{} is an estimate from data sheets: nothing on it was measured", d.name));
      } else if (d.validated_error > 0.0) {
        out.push_back(fmt::format("predictions on {} were off by {:.1f} % (median) when validated", d.name,
                                  d.validated_error * 100.0));
      }
    }
    for (const Workload& w : e_.workloads) {
      const std::uint32_t split = w.pattern == Pattern::ag_gemm ? w.out : w.in;
      if (w.tokens % w.tp != 0 || split % w.tp != 0) {
        out.push_back(
            fmt::format("{}: TP {} does not divide {} tokens x {}: the first ranks have one row or column more", w.name,
                        w.tp, w.tokens, split));
      }
    }
    return out;
  }

  void report_progress(std::size_t total) {
    if (!options_.progress) return;
    const std::lock_guard lock(progress_);
    options_.progress(++done_, total);
  }

  const Experiment& e_;
  const RunOptions& options_;
  std::shared_ptr<GemmPlans> plans_;
  Machine machine_;
  std::vector<ScheduleRequest> requests_;
  std::vector<Layer> layers_;
  std::mutex progress_;
  std::size_t done_ = 0;
};

}  // namespace

RunReport run_experiment(const Experiment& experiment, const RunOptions& options) {
  return Runner(experiment, options).run();
}

}  // namespace overlap
