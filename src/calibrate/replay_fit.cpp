// Costs of streams, events, copies and joins: the values with which replayed records take the time that was measured.
// The model of a record is that of `validate`, so a coefficient means here what it means there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "calibrate/calibrate.hpp"
#include "calibrate/solver.hpp"
#include "calibrate/text.hpp"
#include "cost/kernel_model.hpp"
#include "overlap/kernel_table.hpp"

namespace overlap::calibrate {
namespace {

struct Tuned {
  std::string_view name, unit;
  double scale, high, prior;  // of the unit in SI; largest value and width of the prior, in the unit
  double (*get)(const Device&);
  void (*set)(Device&, KernelTable*, double);  // the table is null where the device has none
};
#define OVERLAP_STREAM(member)                          \
  [](const Device& d) { return d.stream.member.si(); }, \
      [](Device& d, KernelTable*, double v) { d.stream.member = Seconds(v); }
constexpr std::array kTuned = {
    Tuned{"stream/join", "us", 1e-6, 60, 20, OVERLAP_STREAM(join)},
    Tuned{"stream/remote_join", "us", 1e-6, 80, 20, OVERLAP_STREAM(remote_join)},
    Tuned{"stream/release_join", "us", 1e-6, 80, 20, OVERLAP_STREAM(release_join)},
    Tuned{"stream/kernel_gap", "us", 1e-6, 10, 2, OVERLAP_STREAM(kernel_gap)},
    Tuned{"stream/satisfied_wait", "us", 1e-6, 10, 2, OVERLAP_STREAM(satisfied_wait)},
    Tuned{"stream/remote_wait", "us", 1e-6, 40, 5, OVERLAP_STREAM(remote_wait)},
    Tuned{"stream/copy_start", "us", 1e-6, 20, 1, OVERLAP_STREAM(copy_start)},
    Tuned{"stream/copy_gap", "us", 1e-6, 10, 2, OVERLAP_STREAM(copy_gap)},
    Tuned{"stream/copy_event", "us", 1e-6, 10, 2, OVERLAP_STREAM(copy_event)},
    Tuned{"stream/kernel_event", "us", 1e-6, 10, 1, OVERLAP_STREAM(kernel_event)},
    Tuned{"gemm/busy_node", "", 1, 0.3, 0.05, [](const Device& d) { return d.gemm.busy_node; },
          [](Device& d, KernelTable*, double v) { d.gemm.busy_node = v; }},
    Tuned{"GEMM beside copies out: slower by", "", 1, 0.4, 0.1,
          [](const Device& d) { return d.gemm.kernels ? d.gemm.kernels->copy_out : 0.0; },
          [](Device&, KernelTable* t, double v) {
            if (t != nullptr) t->copy_out = v;
          }},
    Tuned{"GEMM beside copies in: slower by", "", 1, 0.4, 0.1,
          [](const Device& d) { return d.gemm.kernels ? d.gemm.kernels->copy_in : 0.0; },
          [](Device&, KernelTable* t, double v) {
            if (t != nullptr) t->copy_in = v;
          }},
    Tuned{"clock dip as load begins: time lost", "us", 1e-6, 20, 2,
          [](const Device& d) { return d.gemm.kernels ? d.gemm.kernels->dip.loss.si() : 0.0; },
          [](Device&, KernelTable* t, double v) {
            if (t != nullptr) t->dip.loss = Seconds(v);
          }},
};
#undef OVERLAP_STREAM

// Records whose time no race and no collective decides.
bool plain(const Record& r) {
  static constexpr std::array<std::string_view, 8> kKinds = {"gemm",     "ag_gemm",      "gemm_rs", "empty",
                                                             "peer_uni", "peer_chunked", "peer_bi", "contention"};
  if (std::find(kKinds.begin(), kKinds.end(), r.kind) == kKinds.end()) return false;
  if (r.fused || !r.graph.empty() || r.method.clock_ratio != 1.0 || contains(r.schedule, "nccl")) return false;
  return r.schedule != "dma_bi_local";
}

// One standard error of the record's median, and what the model cannot know.
double noise_of(const Record& r) {
  const double spread = (r.max - r.min) / r.median / 3;
  return std::hypot(0.006, spread);
}

Errors errors_on(const std::vector<const Record*>& records, const Device& d, const Topology& t) {
  std::vector<double> off;
  off.reserve(records.size());
  for (const Record* r : records) off.push_back(predict(*r, d, t, {}).median / r->median - 1);
  return errors_of(off);
}

// Mean error in % with what noise makes large held down: a few records more or less do not turn it.
double race_score(const std::vector<const Record*>& records, const Device& d, const Topology& t) {
  double sum = 0;
  for (const Record* r : records) {
    const double off = 100 * std::abs(predict(*r, d, t, {}).median / r->median - 1);
    sum += std::min(off, 10.0) + 0.1 * off;
  }
  return sum / static_cast<double>(records.size());
}

// Half of the fit's records are enough when there are many; every schedule and size stays.
constexpr std::size_t kMost = 500;

std::vector<const Record*> at_most(std::vector<const Record*> records) {
  while (records.size() > kMost) {
    std::vector<const Record*> half;
    for (std::size_t i = 0; i < records.size(); i += 2) half.push_back(records[i]);
    records = std::move(half);
  }
  return records;
}

// The coefficients as one least-squares problem; where `clock` is asked for, that of the GPUs under load over the
// clock of the base's kernel table comes last.
class Replays {
 public:
  Replays(std::vector<const Record*> use, const Device& base, const Topology& topology)
      : use_(std::move(use)), topology_(topology), base_(base), trial_(base) {
    if (base.gemm.kernels) trial_.gemm.kernels = table_ = std::make_shared<KernelTable>(*base.gemm.kernels);
  }

  Solution solve(bool clock) {
    LeastSquares p;
    p.residuals = use_.size();
    p.loss = 1.5;
    p.step = 1e-4;
    p.iterations = 25;
    const auto add = [&p](double low, double high, double start, double prior) {
      p.lower.push_back(low);
      p.upper.push_back(high);
      p.start.push_back(start);
      p.prior.push_back(prior);
    };
    for (const Tuned& t : kTuned)
      add(0, t.high, std::clamp(t.get(base_) / t.scale, 0.001 * t.high, 0.999 * t.high), t.prior);
    if (clock) add(0.7, 1.4, 1, 0.1);
    p.evaluate = [this](std::span<const double> x, std::span<double> r) {
      apply(x);
      for (std::size_t i = 0; i < use_.size(); ++i)
        r[i] = std::log(predict(*use_[i], trial_, topology_, {}).median / use_[i]->median) / noise_of(*use_[i]);
    };
    Solution s = calibrate::solve(p);
    apply(s.p);
    return s;
  }

  // The base with the coefficients of the last solution.
  [[nodiscard]] const Device& device() const { return trial_; }

 private:
  void apply(std::span<const double> x) {
    const double clock = x.size() > kTuned.size() ? x.back() : 1.0;
    if (table_ && clock != std::exchange(clock_, clock)) *table_ = *cost::at_clock(*base_.gemm.kernels, clock);
    for (std::size_t i = 0; i < kTuned.size(); ++i) kTuned[i].set(trial_, table_.get(), x[i] * kTuned[i].scale);
    if (table_) table_->path.clear();  // differs from its file: written anew
  }

  std::vector<const Record*> use_;
  const Topology& topology_;
  Device base_, trial_;
  std::shared_ptr<KernelTable> table_;
  double clock_ = 1.0;
};

// Another clock than that of the base's kernel table shows in long GEMMs of one GPU, which no cost of a launch can
// change by more than this: they are off to one side.
bool clock_is_off(const std::vector<const Record*>& records, const Device& d, const Topology& t) {
  constexpr double kLong = 200e-6, kOffPercent = 1;
  constexpr std::size_t kEnough = 5;
  std::vector<double> off;
  for (const Record* r : records) {
    if (r->kind == "gemm" && r->median.si() > kLong) off.push_back(predict(*r, d, t, {}).median / r->median - 1);
  }
  return d.gemm.kernels && off.size() >= kEnough && std::abs(errors_of(off).bias_pct) > kOffPercent;
}

}  // namespace

bool is_race(const Record& r) {
  if (r.kind == "interdecom_env") return r.d > 1;
  return r.d > 1 && r.schedule == "interdecom_nccl" && (r.kind == "ag_gemm" || r.kind == "gemm_rs");
}

void fit_replay(Report& report, Device& device, const Topology& topology, const RecordSet& set) {
  std::vector<const Record*> all;
  for (const Record& r : set.records) {
    if (plain(r)) all.push_back(&r);
  }
  if (all.size() < 20) return;
  const std::vector<const Record*> use = at_most(all);
  const auto rows = static_cast<std::uint32_t>(use.size());
  Fit fit{"streams, events and copies, by replay", errors_on(all, device, topology), {}, {}, {}};
  Replays replays(use, device, topology);
  Solution s = replays.solve(false);
  const bool clock = clock_is_off(all, replays.device(), topology);
  if (clock) s = replays.solve(true);
  for (std::size_t i = 0; i < kTuned.size(); ++i) {
    const Tuned& t = kTuned[i];
    if (!device.gemm.kernels && contains(t.name, " ")) continue;
    fit.coefficients.push_back({std::string(t.name), s.p[i], s.sigma[i], std::string(t.unit), "replayed records", rows,
                                t.get(device) / t.scale});
  }
  if (clock)
    fit.coefficients.push_back(
        {"clock under load over the kernel table's", s.p.back(), s.sigma.back(), "", "replayed records", rows, 1.0});
  device = replays.device();
  fit.after = errors_on(all, device, topology);
  report.fits.push_back(std::move(fit));
}

void fit_race(Report& report, Device& device, const Topology& topology, const RecordSet& set) {
  std::vector<const Record*> races;
  for (const Record& r : set.records) {
    if (is_race(r) && r.method.clock_ratio == 1.0) races.push_back(&r);
  }
  if (races.size() < 10) return;
  Fit fit{"race of collective and GEMM", errors_on(races, device, topology), {}, {}, {}};
  // A race has no slope to follow: values are tried, one coefficient after the other.
  struct Tried {
    const char* name;
    Seconds StreamCosts::*member;
    std::vector<double> us;
    double before;
  };
  std::array<Tried, 3> tried = {
      Tried{"stream/local_wait", &StreamCosts::local_wait, {0.5, 1, 1.7, 2.5, 4, 6}, 0},
      Tried{"stream/race_window", &StreamCosts::race_window, {0, 1.5, 2.5, 4, 5.5, 7, 10, 15, 30}, 0},
      Tried{"stream/collective_gap", &StreamCosts::collective_gap, {0, 1, 2, 3, 4, 5, 6, 8}, 0},
  };
  double best = race_score(races, device, topology);
  for (Tried& t : tried) t.before = (device.stream.*t.member).si() * 1e6;
  for (int round = 0; round < 2; ++round) {
    for (const Tried& t : tried) {
      Seconds chosen = device.stream.*t.member;
      for (const double us : t.us) {
        device.stream.*t.member = Seconds(us * 1e-6);
        const double score = race_score(races, device, topology);
        if (score > 0.99 * best) continue;  // seeds alone move it by as much
        best = score;
        chosen = device.stream.*t.member;
      }
      device.stream.*t.member = chosen;
    }
  }
  fit.after = errors_on(races, device, topology);
  for (const Tried& t : tried) {
    const double us = (device.stream.*t.member).si() * 1e6;
    const std::string how = fmt::format("best of {} values tried, twice in turn", t.us.size());
    fit.coefficients.push_back(
        {t.name, us, std::max(1.0, 0.3 * us), "us", how, static_cast<std::uint32_t>(races.size()), t.before});
  }
  report.fits.push_back(std::move(fit));
}

}  // namespace overlap::calibrate
