#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "cli/parallel.hpp"
#include "overlap/error.hpp"
#include "overlap/run.hpp"
#include "overlap/selector_study.hpp"

namespace overlap {
namespace {

// A setting that a selector may pick, by the name that it gives it.
struct Named {
  std::string name;
  std::string schedule;
  std::vector<std::pair<std::string, ParamValue>> given;
};

using Degrees = std::vector<std::uint32_t>;
const Degrees kDegrees = {1, 2, 4, 8, 16};

std::vector<Named> settings() {
  std::vector<Named> out{{"serial", "serial", {{"mover", std::string("dma")}}},
                         {"serial library", "serial", {{"mover", std::string("library")}}},
                         {"intrafusion", "intrafusion", {{"variant", std::string("single_ring")}}}};
  for (const std::uint32_t d : kDegrees) {
    if (d > 1) out.push_back({fmt::format("interdecom d={}", d), "interdecom", {{"d", std::int64_t{d}}}});
  }
  for (const char* v : {"uniform-fused-1d", "uniform-fused-2d", "hetero-fused-1d", "hetero-unfused-1d"}) {
    out.push_back({v, "ficco", {{"variant", std::string(v)}}});
  }
  out.push_back({"windowed-einsum", "looped_einsum", {{"direction", std::string("bi")}}});
  return out;
}

const ScheduleInfo* schedule_or_null(const std::string& name) {
  for (const ScheduleInfo& s : schedules()) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

// Simulated times of one layer by name; what refuses is absent.
using Times = std::map<std::string, Seconds>;

struct Row {
  const Workload* workload = nullptr;
  Times times;
  Seconds comp;
  Seconds comm;          // by copies: what the serial schedule adds to the GEMM
  Seconds comm_library;  // the library's collective
};

class StudyRunner {
 public:
  StudyRunner(const Experiment& e, const StudyOptions& options)
      : e_(e), options_(options), machine_{e.topology, e.devices, e.background} {}

  SelectorStudy run() {
    simulate_all();
    SelectorStudy out;
    for (const Row& r : rows_) {
      const Workload& w = *r.workload;
      out.layers.push_back(
          fmt::format("{} {} {} tokens, {} -> {}, TP {}", w.name, to_text(w.pattern), w.tokens, w.in, w.out, w.tp));
    }
    calibration_ = calibrate();
    out.calibration = calibration_;
    out.scores.push_back(score("compass", compass_names(), [&](const Row& r) { return select_compass(compass(r)); }));
    out.scores.push_back(
        score("agnostic (FasterMoE)", compass_names(), [&](const Row& r) { return select_agnostic(compass(r)); }));
    const std::vector<std::string> variants = {"uniform-fused-1d", "uniform-fused-2d", "hetero-fused-1d",
                                               "hetero-unfused-1d"};
    for (const double t : options_.machine_times) {
      out.scores.push_back(score(fmt::format("ficco-tree machine_time={}", to_text(Seconds(t))), variants,
                                 [&](const Row& r) { return select_ficco(ficco(r, Seconds(t))); }));
    }
    for (const double m : options_.mults) {
      out.scores.push_back(score(fmt::format("xla-gate mult={:g}", m), {"serial library", "windowed-einsum"},
                                 [&](const Row& r) { return gate(r, m); }));
    }
    std::erase_if(out.scores, [](const SelectorScore& s) { return s.picks.empty(); });
    return out;
  }

 private:
  void simulate_all() {
    const std::vector<Named> all = settings();
    rows_.resize(e_.workloads.size());
    std::mutex mutex;
    std::size_t done = 0;
    for_each_index(rows_.size(), [&](std::size_t i) {
      Row& r = rows_[i];
      r.workload = &e_.workloads[i];
      for (const Named& n : all) one(r, n);
      const PieceTimes times = piece_times(*r.workload, machine_, e_.cost);
      r.comp = times.gemm(local_gemm(*r.workload, 0), false);
      r.comm_library = times.collective(collective_bytes(*r.workload));
      if (const auto it = r.times.find("serial"); it != r.times.end()) r.comm = it->second - r.comp;
      const std::lock_guard lock(mutex);
      if (options_.progress) options_.progress(++done, rows_.size());
    });
  }

  void one(Row& r, const Named& n) const {
    const ScheduleInfo* info = schedule_or_null(n.schedule);
    if (info == nullptr) return;
    if (std::find(info->patterns.begin(), info->patterns.end(), r.workload->pattern) == info->patterns.end()) return;
    const Params params = complete_params(*info, n.given);
    const ScheduleContext ctx{*r.workload, e_.topology, e_.devices, params};
    if (info->refuses(ctx)) return;
    r.times[n.name] = run_layer(*info, ctx, machine_, e_.cost, e_.simulation).timeline.makespan;
  }

  // alpha and beta from every fourth layer's decompositions; the fusion overhead a chunk is the mean of what the
  // simulation adds to the formula there, none if negative.
  [[nodiscard]] CompassCalibration calibrate() const {
    std::vector<CompassSample> samples;
    for (std::size_t i = 0; i < rows_.size(); i += 4) {
      const Row& r = rows_[i];
      if (r.comm.si() <= 0.0) continue;
      for (const std::uint32_t d : kDegrees) {
        const auto it = r.times.find(fmt::format("interdecom d={}", d));
        if (it != r.times.end()) samples.push_back({r.comp, r.comm, d, it->second});
      }
    }
    CompassCalibration c;
    if (samples.size() > 1) c = calibrate_compass(samples);
    c.alpha = std::max(c.alpha, 1e-6);
    double sum = 0;
    double count = 0;
    for (std::size_t i = 0; i < rows_.size(); i += 4) {
      const auto it = rows_[i].times.find("intrafusion");
      if (it == rows_[i].times.end() || rows_[i].comm.si() <= 0.0) continue;
      const std::uint32_t n = rows_[i].workload->tp;
      sum += (it->second - compass_fusion(rows_[i].comp, rows_[i].comm, n, {})).si() / n;
      ++count;
    }
    if (count > 0) c.fusion_sync = Seconds(std::max(0.0, sum / count));
    return c;
  }

  static std::vector<std::string> compass_names() {
    std::vector<std::string> out{"serial", "intrafusion"};
    for (const std::uint32_t d : kDegrees) {
      if (d > 1) out.push_back(fmt::format("interdecom d={}", d));
    }
    return out;
  }

  [[nodiscard]] CompassInputs compass(const Row& r) const {
    CompassInputs in;
    in.comp = r.comp;
    in.comm = r.comm;
    in.devices = r.workload->tp;
    in.max_degree = kDegrees.back();
    in.allowed = kDegrees;
    in.calibration = calibration_;
    return in;
  }

  [[nodiscard]] FiccoInputs ficco(const Row& r, Seconds machine_time) const {
    FiccoInputs in;
    in.shape = local_gemm(*r.workload, 0);
    in.peak = e_.devices[0].peak_of(r.workload->operand);
    in.thresholds.machine_time = machine_time;
    return in;
  }

  [[nodiscard]] static Choice gate(const Row& r, double mult) {
    XlaGateInputs in;
    in.comp = r.comp;
    in.comm = r.comm_library;
    in.mult = mult;
    in.devices = r.workload->tp;
    in.operand = collective_bytes(*r.workload);
    in.threshold = Bytes();
    Choice c = select_xla_gate(in);
    if (c.pick == "serial") c.pick = "serial library";
    return c;
  }

  // Layers on which every name can run and the selector's inputs are sound.
  template <class Select>
  SelectorScore score(std::string name, const std::vector<std::string>& names, Select select) const {
    SelectorScore out;
    out.selector = std::move(name);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& r = rows_[i];
      const bool all = std::all_of(names.begin(), names.end(), [&](const auto& n) { return r.times.contains(n); });
      if (!all || r.comm.si() <= 0.0 || r.workload->tp < 2) continue;
      const Choice c = select(r);
      Pick p;
      p.layer = i;
      p.picked = c.pick;
      p.picked_time = r.times.at(c.pick);
      p.decision = c.decision;
      p.best_time = kForever;
      for (const std::string& n : names) {
        if (r.times.at(n) < p.best_time) {
          p.best_time = r.times.at(n);
          p.best = n;
        }
      }
      out.picks.push_back(std::move(p));
    }
    return out;
  }

  const Experiment& e_;
  const StudyOptions& options_;
  Machine machine_;
  std::vector<Row> rows_;
  CompassCalibration calibration_;
};

}  // namespace

double SelectorScore::top1() const {
  const auto right = std::count_if(picks.begin(), picks.end(), [](const Pick& p) { return p.regret() <= 1e-9; });
  return picks.empty() ? 0.0 : static_cast<double>(right) / static_cast<double>(picks.size());
}

double SelectorScore::mean_regret() const {
  double sum = 0;
  for (const Pick& p : picks) sum += p.regret();
  return picks.empty() ? 0.0 : sum / static_cast<double>(picks.size());
}

double SelectorScore::max_regret() const {
  const Pick* w = worst();
  return w == nullptr ? 0.0 : w->regret();
}

const Pick* SelectorScore::worst() const {
  const auto it = std::max_element(picks.begin(), picks.end(),
                                   [](const Pick& a, const Pick& b) { return a.regret() < b.regret(); });
  return it == picks.end() ? nullptr : &*it;
}

SelectorStudy study_selectors(const Experiment& experiment, const StudyOptions& options) {
  return StudyRunner(experiment, options).run();
}

}  // namespace overlap
