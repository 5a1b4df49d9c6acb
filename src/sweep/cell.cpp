#include "sweep/cell.hpp"

#include <algorithm>

#include "overlap/error.hpp"
#include "overlap/run.hpp"

namespace overlap {
namespace sweep {
namespace {

double us(Seconds t) {
  return t.si() * 1e6;
}

// What one simulated schedule gives to its row.
struct Outcome {
  Seconds makespan;  // median over the seeds
  Seconds p10;
  Seconds p90;
  std::optional<Seconds> serial;
  Seconds bound;
  std::optional<Seconds> closed_form;
  Seconds communication;
  Bytes extra_memory;
  Phases phases;
};

// Nearest-rank quantile of sorted times.
Seconds quantile(const std::vector<Seconds>& sorted, double q) {
  const auto at = static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1) + 0.5);
  return sorted[at];
}

std::optional<double> metric(const Outcome& o, const std::string& name) {
  const double makespan = us(o.makespan);
  if (name == "makespan_us") return makespan;
  if (name == "p10_us") return us(o.p10);
  if (name == "p90_us") return us(o.p90);
  if (name == "speedup") return o.serial ? std::optional(*o.serial / o.makespan) : std::nullopt;
  if (name == "lower_bound_us") return us(o.bound);
  if (name == "gap_pct") return o.bound > Seconds(0) ? std::optional(100 * (o.makespan / o.bound - 1)) : std::nullopt;
  if (name == "closed_form_us") return o.closed_form ? std::optional(us(*o.closed_form)) : std::nullopt;
  if (name == "communication_us") return us(o.communication);
  if (name == "extra_memory_bytes") return o.extra_memory.si();
  const std::string key = name.substr(0, name.size() - 3);  // "exposed_us" -> "exposed"
  const std::pair<std::string_view, Seconds> phases[] = {
      {"floor", o.phases.floor},           {"kernel", o.phases.kernel},       {"decomposition", o.phases.decomposition},
      {"contention", o.phases.contention}, {"slot_wait", o.phases.slot_wait}, {"launch", o.phases.launch},
      {"exposed", o.phases.exposed},       {"local", o.phases.local},         {"tail", o.phases.tail}};
  for (const auto& [phase, time] : phases) {
    if (phase == key) return us(time);
  }
  throw InputError("", "unknown metric '" + name + "'");
}

// One workload of an experiment under its schedules.
class Layer {
 public:
  Layer(const Study& study, const Experiment& e, const Workload& w)
      : study_(study), e_(e), w_(w), machine_{e.topology, e.devices, e.background}, facts_(layer_facts(e, w)) {}

  void run(std::vector<SweepRow>& rows) {
    const std::size_t first = rows.size();
    std::vector<std::optional<Outcome>> outcomes;
    std::optional<Seconds> baseline;
    for (const ScheduleRequest& request : e_.schedules) {
      rows.push_back(row_of(request));
      const ScheduleContext context{w_, e_.topology, e_.devices, request.params};
      if (const auto refusal = request.info->refuses(context)) {
        rows.back().refusal = refusal->reason;
        outcomes.emplace_back();
        continue;
      }
      outcomes.push_back(simulate_one(request, context));
      const Seconds time = outcomes.back()->makespan;
      if (request.info->name == study_.baseline && (!baseline || time < *baseline)) baseline = time;
    }
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      SweepRow& row = rows[first + i];
      if (outcomes[i]) outcomes[i]->serial = baseline;
      for (const std::string& m : study_.metrics) {
        row.metrics.push_back(outcomes[i] ? metric(*outcomes[i], m) : std::nullopt);
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

  [[nodiscard]] Outcome simulate_one(const ScheduleRequest& request, const ScheduleContext& context) const {
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
    const RunView view{graph, priced.demands, priced.resources, timeline, e_.devices, facts_.cuts, facts_.undivided};
    Outcome o;
    o.makespan = quantile(times, 0.5);
    o.p10 = quantile(times, 0.1);
    o.p90 = quantile(times, 0.9);
    if (wants("lower_bound_us") || wants("gap_pct")) o.bound = strongest(lower_bounds(view)).time;
    if (wants("communication_us")) o.communication = communication_time(view);
    if (wants("extra_memory_bytes")) {
      for (const Bytes b : peak_scratch(view)) o.extra_memory = std::max(o.extra_memory, b);
    }
    if (wants_phases()) o.phases = phases(view);
    if (wants("closed_form_us") && request.info->closed_form != nullptr) {
      if (const auto form = request.info->closed_form(context, facts_.pieces)) o.closed_form = form->makespan;
    }
    return o;
  }

  const Study& study_;
  const Experiment& e_;
  const Workload& w_;
  Machine machine_;
  LayerFacts facts_;
};

}  // namespace

std::vector<SweepRow> evaluate(const Study& study, const Experiment& e, std::size_t workloads) {
  std::vector<SweepRow> rows;
  const std::size_t count = workloads == 0 ? e.workloads.size() : std::min(workloads, e.workloads.size());
  for (std::size_t i = 0; i < count; ++i) Layer(study, e, e.workloads[i]).run(rows);
  return rows;
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
  std::vector<SweepRow> rows = sweep::evaluate(study, plan.experiment(cell));
  const std::vector<std::string> axes = plan.values(cell);
  for (SweepRow& row : rows) {
    row.cell = cell;
    row.axes = axes;
  }
  return rows;
}

}  // namespace overlap
