// select: what the closed-form selectors and gates would pick, each with inputs, branch and deciding comparison.
#include "overlap/select.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "cli/commands.hpp"
#include "cli/sheet.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "overlap/run.hpp"
#include "overlap/selector_study.hpp"

namespace overlap::cli {
namespace {

struct SelectArgs {
  std::string config;
  double alpha = 0.02;
  double beta = 1.0;
  std::string sync = "0 us";
  std::string fixed = "0 us";
  double mult = 1.0;
  std::string machine_time = "1 ms";
  double unfused = 5.0;
  double hetero = 1.0;
  std::string operand_threshold = "0 B";
  std::int64_t max_degree = 16;
  bool study = false;
  Format format = Format::text;
};

std::vector<Choice> choices(const SelectArgs& args, const Experiment& e, const Workload& w) {
  const Machine machine{e.topology, e.devices, e.background};
  const PieceTimes times = piece_times(w, machine, e.cost);
  CompassInputs compass;
  compass.comp = times.gemm(local_gemm(w, 0), false);
  compass.comm = times.collective(collective_bytes(w));
  compass.devices = w.tp;
  compass.max_degree = static_cast<std::uint32_t>(args.max_degree);
  compass.calibration = {args.alpha, args.beta, parse_seconds(args.sync), parse_seconds(args.fixed)};
  std::vector<Choice> out{select_compass(compass), select_agnostic(compass)};
  if (w.pattern == Pattern::ag_gemm) {
    FiccoInputs ficco;
    ficco.shape = local_gemm(w, 0);
    ficco.peak = e.devices[0].peak_of(w.operand);
    ficco.thresholds.machine_time = parse_seconds(args.machine_time);
    ficco.thresholds.unfused_multiple = args.unfused;
    ficco.thresholds.hetero_multiple = args.hetero;
    out.push_back(select_ficco(ficco));
  }
  XlaGateInputs gate;
  gate.comp = compass.comp;
  gate.comm = compass.comm;
  gate.mult = args.mult;
  gate.devices = w.tp;
  gate.operand = collective_bytes(w);
  gate.threshold = parse_bytes(args.operand_threshold);
  if (w.tp > 1) out.push_back(select_xla_gate(gate));
  return out;
}

// Wrong picks of one kind: how many layers, and what they cost.
Sheet mistakes(const SelectorStudy& s) {
  Sheet out{{{"selector", "selector"},
             {"picked", "picked"},
             {"where best was", "best"},
             {"layers", "layers"},
             {"mean regret", "mean_regret"}},
            {}};
  for (const SelectorScore& c : s.scores) {
    std::map<std::pair<std::string, std::string>, std::pair<std::uint32_t, double>> kinds;
    for (const Pick& p : c.picks) {
      if (p.regret() <= 1e-9) continue;
      auto& [count, sum] = kinds[{p.picked, p.best}];
      ++count;
      sum += p.regret();
    }
    for (const auto& [names, kind] : kinds)
      out.rows.push_back({c.selector, names.first, names.second, kind.first, percent(kind.second / kind.first)});
  }
  return out;
}

int study(const SelectArgs& args, const Experiment& e) {
  const SelectorStudy s = study_selectors(e, {});
  Sheet scores{{{"selector", "selector"},
                {"layers", "layers"},
                {"picks the best", "top1"},
                {"mean regret", "mean_regret"},
                {"max regret", "max_regret"},
                {"worst on", "worst"}},
               {}};
  Sheet errs{
      {{"selector", "selector"}, {"layer", "layer"}, {"picked", "picked"}, {"best", "best"}, {"regret", "regret"}}, {}};
  for (const SelectorScore& c : s.scores) {
    scores.rows.push_back({c.selector, static_cast<std::uint32_t>(c.picks.size()), percent(c.top1()),
                           percent(c.mean_regret()), percent(c.max_regret()),
                           c.max_regret() > 0 ? s.layers[c.worst()->layer] : "-"});
    for (const Pick& p : c.picks) {
      if (p.regret() > 1e-9) {
        errs.rows.push_back({c.selector, s.layers[p.layer], p.picked, p.best, percent(p.regret())});
      }
    }
  }
  if (args.format == Format::text) {
    fmt::print("{}: {} layers, Compass calibrated on every fourth: alpha {:.4g}, beta {:.4g}, t_sync {}\n\n", e.name,
               s.layers.size(), s.calibration.alpha, s.calibration.beta, to_text(s.calibration.fusion_sync));
    show({{"", "scores", std::move(scores)}, {"where it errs", "mistakes", mistakes(s)}}, args.format);
    return 0;
  }
  show({{"scores", "scores", std::move(scores)},
        {"kinds of errors", "mistakes", mistakes(s)},
        {"where it errs", "errors", std::move(errs)}},
       args.format);
  return 0;
}

int run(const SelectArgs& args) {
  const Experiment e = load_experiment(args.config);
  if (args.study) return study(args, e);
  std::string text;
  std::string json;
  std::vector<Choice> all;
  for (const Workload& w : e.workloads) {
    const std::vector<Choice> mine = choices(args, e, w);
    text +=
        fmt::format("{} ({}, {} tokens, {} -> {}, TP {})\n\n", w.name, to_text(w.pattern), w.tokens, w.in, w.out, w.tp);
    for (const Choice& c : mine) {
      text += to_text(c) + "\n";
      json += (json.empty() ? "" : ",\n") + to_json(c);
    }
    all.insert(all.end(), mine.begin(), mine.end());
  }
  if (args.format == Format::json) text = "[" + json + "]\n";
  if (args.format == Format::csv) text = to_csv(all);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

Action select_command(Options& o) {
  auto args = std::make_shared<SelectArgs>();
  o.argument("CONFIG", args->config, "experiment file: its layers, machine and cost model give the selectors' inputs");
  o.format(args->format);
  o.flag("--study", args->study, "Simulate what the selectors may pick: how often they are right, and what it costs");
  o.option("--alpha", args->alpha, "A", "Compass: growth of a stage's cost per piece");
  o.option("--beta", args->beta, "B", "Compass: cost of a stage");
  o.option("--sync", args->sync, "TIME", "Compass: fusion overhead a chunk");
  o.option("--fixed", args->fixed, "TIME", "Compass: fusion overhead once");
  o.option("--max-degree", args->max_degree, "D", "Most pieces of a decomposition");
  o.option("--machine-time", args->machine_time, "TIME", "FiCCO: the time that its FLOP/s threshold leaves out");
  o.option("--unfused", args->unfused, "X", "FiCCO: multiple of the machine above which chunks are unfused");
  o.option("--hetero", args->hetero, "X", "FiCCO: multiple above which the own shard is computed first");
  o.option("--mult", args->mult, "M", "XLA: links of the native collective over those of one ring");
  o.option("--operand-threshold", args->operand_threshold, "SIZE", "XLA: operands below stay as they are");
  return [args] { return run(*args); };
}

}  // namespace overlap::cli
