#include "sweep/cell.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/experiment.hpp"
#include "overlap/error.hpp"
#include "overlap/run.hpp"

namespace overlap {
namespace sweep {
namespace {

double us(Seconds t) {
  return t.si() * 1e6;
}

// Nearest-rank quantile of sorted times.
Seconds quantile(const std::vector<Seconds>& sorted, double q) {
  const auto at = static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5);
  return sorted[at];
}

std::optional<double> metric(const SweepResult& o, std::optional<Seconds> serial, const std::string& name) {
  const double makespan = us(o.makespan);
  if (name == "makespan_us") return makespan;
  if (name == "p10_us") return us(o.p10);
  if (name == "p90_us") return us(o.p90);
  if (name == "speedup") return serial ? std::optional(*serial / o.makespan) : std::nullopt;
  if (name == "lower_bound_us") return us(o.bound);
  if (name == "gap_pct") return o.bound > Seconds(0) ? std::optional(100 * (o.makespan / o.bound - 1)) : std::nullopt;
  if (name == "closed_form_us") return o.closed_form ? std::optional(us(*o.closed_form)) : std::nullopt;
  if (name == "communication_us") return us(o.communication);
  if (name == "extra_memory_bytes") return o.extra_memory.si();
  const std::string key = name.substr(0, name.size() - 3);  // "exposed_us" -> "exposed"
  const std::pair<std::string_view, Seconds> phases[] = {
      {"floor", o.floor},           {"kernel", o.kernel},       {"decomposition", o.decomposition},
      {"contention", o.contention}, {"slot_wait", o.slot_wait}, {"launch", o.launch},
      {"exposed", o.exposed},       {"local", o.local},         {"tail", o.tail}};
  for (const auto& [phase, time] : phases) {
    if (phase == key) return us(time);
  }
  throw InputError("", "unknown metric '" + name + "'");
}

// All that a result depends on beside machine, schedule and study.
std::string workload_key(const Workload& w) {
  return fmt::format("{} {} {} {} {} {} {} {} ", to_text(w.pattern), w.tokens, w.in, w.out, w.tp, to_text(w.operand),
                     to_text(w.output), to_text(w.wire));
}

// One workload of an experiment under its schedules.
class Layer {
 public:
  Layer(const Study& study, const Experiment& e, const Workload& w, const Shared& shared)
      : study_(study), e_(e), w_(w), shared_(shared), machine_{e.topology, e.devices, e.background} {
    key_ = shared.key + workload_key(w);
  }

  void run(std::vector<SweepRow>& rows) {
    const std::size_t first = rows.size();
    std::vector<std::optional<SweepResult>> outcomes;
    std::optional<Seconds> baseline;
    for (const ScheduleRequest& request : e_.schedules) {
      rows.push_back(row_of(request));
      const ScheduleContext context{w_, e_.topology, e_.devices, request.params};
      if (const auto refusal = request.info->refuses(context)) {
        rows.back().refusal = refusal->reason;
        outcomes.emplace_back();
        continue;
      }
      const std::string key = fmt::format("{}{} {}", key_, request.info->name, request.params.to_text());
      outcomes.push_back(shared_.memo->get(key, [&] { return simulate_one(request, context); }));
      const Seconds time = outcomes.back()->makespan;
      if (request.info->name == study_.baseline && (!baseline || time < *baseline)) baseline = time;
    }
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      SweepRow& row = rows[first + i];
      for (const std::string& m : study_.metrics) {
        row.metrics.push_back(outcomes[i] ? metric(*outcomes[i], baseline, m) : std::nullopt);
      }
    }
  }

 private:
  [[nodiscard]] bool wants(std::string_view name) const {
    return std::find(study_.metrics.begin(), study_.metrics.end(), name) != study_.metrics.end();
  }
  [[nodiscard]] bool wants_phases() const {
    for (const std::string_view p : {"floor_us", "kernel_us", "decomposition_us", "contention_us", "slot_wait_us",
                                     "launch_us", "exposed_us", "local_us", "tail_us"}) {
      if (wants(p)) return true;
    }
    return false;
  }

  [[nodiscard]] SweepRow row_of(const ScheduleRequest& request) const {
    SweepRow row;
    row.workload = w_;
    row.machine = e_.topology.name();
    row.family = request.info->name;
    row.schedule = row.family;
    if (const std::string params = request.params.to_text(); !params.empty()) row.schedule += " " + params;
    return row;
  }

  [[nodiscard]] SweepResult simulate_one(const ScheduleRequest& request, const ScheduleContext& context) {
    const LayerFacts& facts = this->facts();
    const OpGraph graph = build_layer(*request.info, context, e_.start_delay);
    const Priced priced = price(graph, machine_, e_.cost);
    SimOptions options = e_.simulation;
    Timeline timeline = simulate(graph, priced.demands, priced.resources, options);
    std::vector<Seconds> times = {timeline.makespan};
    for (std::uint32_t seed = 1; seed < study_.seeds; ++seed) {
      options.seed = e_.simulation.seed + seed;
      times.push_back(simulate(graph, priced.demands, priced.resources, options).makespan);
    }
    std::sort(times.begin(), times.end());
    const RunView view{graph, priced.demands, priced.resources, timeline, e_.devices, facts.cuts, facts.undivided};
    SweepResult o;
    o.makespan = quantile(times, 0.5);
    o.p10 = quantile(times, 0.1);
    o.p90 = quantile(times, 0.9);
    if (wants("lower_bound_us") || wants("gap_pct")) o.bound = strongest(lower_bounds(view)).time;
    if (wants("communication_us")) o.communication = communication_time(view);
    if (wants("extra_memory_bytes")) {
      for (const Bytes b : peak_scratch(view)) o.extra_memory = std::max(o.extra_memory, b);
    }
    if (wants_phases()) {
      const Phases p = phases(view);
      o.floor = p.floor, o.kernel = p.kernel, o.decomposition = p.decomposition, o.contention = p.contention;
      o.slot_wait = p.slot_wait, o.launch = p.launch, o.exposed = p.exposed, o.local = p.local, o.tail = p.tail;
    }
    if (wants("closed_form_us") && request.info->closed_form != nullptr) {
      if (const auto form = request.info->closed_form(context, facts.pieces)) o.closed_form = form->makespan;
    }
    return o;
  }

  // Only for layers of which something must be simulated.
  const LayerFacts& facts() {
    if (!facts_) facts_ = layer_facts(e_, w_);
    return *facts_;
  }

  const Study& study_;
  const Experiment& e_;
  const Workload& w_;
  const Shared& shared_;
  Machine machine_;
  std::string key_;
  std::optional<LayerFacts> facts_;
};

}  // namespace

std::vector<SweepRow> evaluate(const Study& study, const Experiment& e, const Shared& shared, std::size_t workloads) {
  std::vector<SweepRow> rows;
  const std::size_t count = workloads == 0 ? e.workloads.size() : std::min(workloads, e.workloads.size());
  for (std::size_t i = 0; i < count; ++i) Layer(study, e, e.workloads[i], shared).run(rows);
  return rows;
}

Shared shared_of(const StudyPlan& plan, config::Value experiment) {
  std::erase_if(experiment.members, [](const auto& member) {
    return member.first == "workloads" || member.first == "schedules" || member.first == "name";
  });
  return {plan.memo(), config::json_text(experiment)};
}

std::shared_ptr<const FinishedRun> finished_run(const Experiment& e, std::size_t workload, std::size_t request) {
  const ScheduleRequest& r = e.schedules[request];
  const ScheduleContext context{e.workloads[workload], e.topology, e.devices, r.params};
  SimOptions options = e.simulation;
  options.record_rates = true;
  return std::make_shared<FinishedRun>(
      run_layer(*r.info, context, {e.topology, e.devices, e.background}, e.cost, options, e.start_delay));
}

}  // namespace sweep

std::vector<SweepRow> evaluate_cell(const Study& study, const StudyPlan& plan, std::uint64_t cell) {
  config::Value value = plan.experiment_value(cell);
  const Experiment experiment = config::experiment_of(value, study.experiment_name);
  std::vector<SweepRow> rows = sweep::evaluate(study, experiment, sweep::shared_of(plan, std::move(value)));
  const std::vector<std::string> axes = plan.values(cell);
  for (SweepRow& row : rows) {
    row.cell = cell;
    row.axes = axes;
  }
  return rows;
}

}  // namespace overlap
