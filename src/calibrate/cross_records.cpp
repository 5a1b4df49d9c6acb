// Cross-validation on measured records: weight shapes left out, everything fitted without them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "calibrate/calibrate.hpp"
#include "calibrate/kernels.hpp"

namespace overlap::calibrate {
namespace {

Errors errors_from(const Accuracy& a) {
  return {a.n, a.bias_pct, a.median_ape_pct, a.p90_ape_pct};
}

std::string picks_text(const Picks& p) {
  return fmt::format(
      "best named {:.0f} %, within 1 % of best {:.0f} %, regret mean {:.2f} % max {:.2f} %, tau {:.2f}; best d of a "
      "DMA "
      "family {:.0f} %, regret {:.2f} %",
      p.top1, p.within_1pct, p.regret_mean_pct, p.regret_max_pct, p.tau, p.best_d, p.best_d_regret_pct);
}

}  // namespace

void cross_validate_records(Report& report, const Device& base, const Device& fitted, const Topology& base_topology,
                            const Topology& fitted_topology, const config::Value& topology_file, std::uint32_t folds) {
  const RecordSet& set = report.inputs.records;
  if (set.records.empty()) return;
  const Validation training = validate(set, fitted, fitted_topology, {});
  RecordSet left_out;
  std::vector<Prediction> predictions;
  for (std::uint32_t f = 0; f < folds; ++f) {
    const auto out = [&](std::uint32_t n) { return n > 0 && fold_of(n, folds) == f; };
    RecordSet seen, unseen;
    for (const Record& r : set.records) (out(r.shape.n) ? unseen : seen).records.push_back(r);
    if (unseen.records.empty()) continue;
    Report silent;
    silent.inputs.sources = report.inputs.sources;
    silent.topology_base = report.topology_base;
    for (const TimedGemm& g : report.inputs.gemms) {
      if (!out(g.shape.n)) silent.inputs.gemms.push_back(g);
    }
    for (const TimedCollective& c : report.measured_collectives) silent.inputs.collectives.push_back(c);
    for (const PairRate& p : report.measured_pairs) silent.inputs.pairs.push_back(p);
    Device device = base;
    if (device.gemm.kernels) {
      // No GEMM of a left-out n, nor of its pieces, is in the table; coefficients and choices follow from the rest.
      auto table = std::make_shared<KernelTable>(*device.gemm.kernels);
      std::erase_if(table->rows, [&](const MeasuredGemm& g) { return out(g.n); });
      std::erase_if(table->near, [&](const NearGemm& g) { return out(g.n); });
      table->path.clear();
      if (!table->kernels.empty()) {
        fit_kernel_times(*table, nullptr);
        fit_choice(*table);
      }
      cost::index_rows(*table);
      device.gemm.kernels = table;
    }
    fit_kernels(silent, device);
    config::Value file = topology_file;
    const Topology topology = fit_records(silent, device, base_topology, file, seen);
    const Validation v = validate(unseen, device, topology, {});
    for (std::size_t i = 0; i < unseen.records.size(); ++i) {
      left_out.records.push_back(unseen.records[i]);
      predictions.push_back(v.predictions[i]);
    }
  }
  const Validation tested = score(left_out, predictions);
  for (const Accuracy& a : tested.groups) {
    Score s{a.name, {}, errors_from(a)};
    for (const Accuracy& t : training.groups) {
      if (t.name == a.name) s.training = errors_from(t);
    }
    report.folds.push_back(s);
    if (a.name == "interdecom_nccl, d > 1") {
      report.notes.push_back(
          fmt::format("interdecom_nccl, d > 1: {:.0f} % of measured medians inside the seeded runs' "
                      "min..max, {:.0f} % of predictions inside the measured",
                      a.covered_pct, a.inside_pct));
    }
  }
  report.folds.push_back({"all records", errors_from(training.overall), errors_from(tested.overall)});
  report.notes.push_back("picks, training: " + picks_text(training.picks));
  report.notes.push_back("picks, left out: " + picks_text(tested.picks));
}

}  // namespace overlap::calibrate
