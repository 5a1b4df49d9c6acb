// What is scored beside single times: the best environment of a shape, clocks under sustained load, and the closed form
// of Compass on the same records.
#include <algorithm>
#include <cmath>
#include <map>

#include "overlap/engine.hpp"
#include "overlap/graph_builder.hpp"
#include "overlap/select.hpp"
#include "overlap/validate.hpp"
#include "validate/report.hpp"

namespace overlap::validation {
namespace {

std::string shape_of(const Record& r) {
  return std::to_string(r.shape.m) + "x" + std::to_string(r.shape.n) + "x" + std::to_string(r.shape.k);
}

double middle(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

// Curve of (seconds since the load began, time of a GEMM): time ratio of the last two thirds to the first 25 ms, and
// when half of that rise was reached for good.
struct Clock {
  double ratio = 1.0;
  double onset = 0.0;
};
Clock clock_of(const std::vector<std::pair<double, double>>& series) {
  if (series.empty()) return {};
  const double length = series.back().first;
  std::vector<double> cool, steady;
  for (const auto& [at, time] : series) {
    if (at <= 0.025) cool.push_back(time);
    if (at >= length / 3) steady.push_back(time);
  }
  Clock c;
  if (cool.empty() || steady.empty()) return c;
  const double base = middle(cool);
  c.ratio = middle(steady) / base;
  const double half = 1 + 0.5 * (c.ratio - 1);
  for (std::size_t i = 0; i + 2 < series.size(); ++i) {
    const bool risen = series[i].second > half * base && series[i + 1].second > half * base;
    if (risen && series[i + 2].second > half * base) {
      c.onset = series[i].first;
      break;
    }
  }
  return c;
}

// GEMMs back to back on one device for as long as the record lasted.
Clock simulated_clock(const Record& r, const Device& device, const Topology& topology, const CostOptions& cost) {
  const Seconds one = gemm_time(device, r.shape, DType::bf16, DType::bf16, false, cost.compute);
  const double length = r.series.back().first;
  const auto count = static_cast<std::uint32_t>(std::clamp(length / one.si(), 10.0, 50e3));
  GraphBuilder b(1);
  const LaneId lane = b.lane(DeviceId(0U), 0, "comp");
  Gemm g;
  g.m = r.shape.m, g.n = r.shape.n, g.k = r.shape.k;
  const Slice c = b.all(b.buffer(DeviceId(0U), g.m, g.n, DType::bf16, BufferRole::scratch, "C"));
  for (std::uint32_t i = 0; i < count; ++i) b.gemm(lane, g, {}, {}, {&c, 1}, {});
  const OpGraph graph = std::move(b).finish();
  const std::vector<Device> devices(1, device);
  Priced priced = price(graph, {topology, devices}, cost);
  priced.resources.power = {device.power};
  const Timeline t = simulate(graph, priced.demands, priced.resources, {});
  std::vector<std::pair<double, double>> series;
  for (const OpTimes& o : t.ops) series.emplace_back(o.end.si(), (o.end - o.begin).si());
  return clock_of(series);
}

bool ties(const Record& a, const Record& b) {
  return (a.median >= b.min && a.median <= b.max) || (b.median >= a.min && b.median <= a.max);
}

}  // namespace

Environments environments_of(const RecordSet& set, const std::vector<Prediction>& predictions) {
  std::map<std::string, std::vector<std::size_t>> shapes;
  for (std::size_t i = 0; i < set.records.size(); ++i) {
    const Record& r = set.records[i];
    if (r.kind != "interdecom_env" || r.d < 2) continue;
    shapes[(r.schedule.starts_with("rs_") ? "RS " : "AG ") + shape_of(r)].push_back(i);
  }
  Environments out;
  for (const auto& [name, rows] : shapes) {
    if (rows.size() < 2) continue;
    const auto least = [&](auto time) {
      return *std::min_element(rows.begin(), rows.end(),
                               [&](std::size_t a, std::size_t b) { return time(a) < time(b); });
    };
    const std::size_t pick = least([&](std::size_t i) { return predictions[i].median; });
    const std::size_t best = least([&](std::size_t i) { return set.records[i].median; });
    const Record& p = set.records[pick];
    const Record& m = set.records[best];
    out.shapes.push_back({name, p, m, pick == best || ties(p, m), 100 * (p.median / m.median - 1)});
  }
  return out;
}

std::vector<SustainedScore> sustained_of(const RecordSet& set, const Device& device, const Topology& topology,
                                         const ReplayOptions& options) {
  std::vector<SustainedScore> out;
  if (!device.power) return out;
  for (const Record& r : set.sustained) {
    const Clock m = clock_of(r.series), p = simulated_clock(r, device, topology, options.cost);
    out.push_back({shape_of(r) + (r.gpus > 1 ? ", both GPUs" : ", one GPU"), m.ratio, p.ratio, m.onset, p.onset});
  }
  return out;
}

// Given the measured times of both parts, with alpha and beta fitted to the family's other shapes.
Rivals compass_of(const RecordSet& set, const std::vector<Prediction>& predictions) {
  struct Parts {
    Seconds comp, nccl, dma;
  };
  std::map<std::string, Parts> parts;
  std::map<std::string, std::vector<std::size_t>> families;
  for (std::size_t i = 0; i < set.records.size(); ++i) {
    const Record& r = set.records[i];
    if ((r.kind != "ag_gemm" && r.kind != "gemm_rs") || r.fused) continue;
    Parts& p = parts[r.contest()];
    if (r.schedule == "gemm_only") p.comp = r.median;
    if (r.schedule == "ag_only_nccl" || r.schedule == "rs_only_nccl") p.nccl = r.median;
    if (r.schedule == "ag_only_dma") p.dma = r.median;
    for (const char* family : {"interdecom", "hetero_unfused", "uniform_fused", "local_last"}) {
      if (r.schedule.starts_with(family)) families[r.kind + " " + r.schedule].push_back(i);
    }
  }
  std::vector<double> form, simulator;
  for (const auto& [name, rows] : families) {
    const bool nccl = name.ends_with("_nccl");
    const auto sample = [&](std::size_t i) {
      const Record& r = set.records[i];
      const Parts& p = parts[r.contest()];
      const Seconds comm = nccl || p.dma.si() <= 0 ? p.nccl : p.dma;
      return CompassSample{p.comp, comm, r.d, r.median};
    };
    for (const std::size_t i : rows) {
      const CompassSample own = sample(i);
      std::vector<CompassSample> others;
      for (const std::size_t k : rows) {
        const CompassSample s = sample(k);
        if (set.records[k].contest() != set.records[i].contest() && s.comp.si() > 0 && s.comm.si() > 0 && s.degree > 1)
          others.push_back(s);
      }
      const bool fits = std::any_of(others.begin(), others.end(),
                                    [&](const CompassSample& s) { return s.degree != others.front().degree; });
      if (!fits || own.comp.si() <= 0 || own.comm.si() <= 0) continue;
      const Seconds t = compass_decomp(own.comp, own.comm, own.degree, calibrate_compass(others));
      form.push_back(100 * std::abs(t / own.time - 1));
      simulator.push_back(100 * std::abs(predictions[i].median / own.time - 1));
    }
  }
  Rivals r;
  r.n = static_cast<std::uint32_t>(form.size());
  if (r.n == 0) return r;
  for (std::vector<double>* v : {&form, &simulator}) std::sort(v->begin(), v->end());
  const auto at = [&](const std::vector<double>& v, double q) {
    return v[static_cast<std::size_t>(q * static_cast<double>(v.size() - 1))];
  };
  r.form_median = at(form, 0.5), r.form_p90 = at(form, 0.9);
  r.simulator_median = at(simulator, 0.5), r.simulator_p90 = at(simulator, 0.9);
  return r;
}

}  // namespace overlap::validation
