// One pass over the rows of a study: winners, speed-ups, selectors; then the sensitivity to uncertain inputs.
#include <algorithm>
#include <map>

#include "overlap/sweep.hpp"
#include "sweep/group.hpp"
#include "sweep/selectors.hpp"
#include "sweep/tornado.hpp"
#include "text/json_writer.hpp"

namespace overlap {
namespace {

struct Winner {
  std::uint64_t wins = 0;
  std::uint64_t ties = 0;  // cells in which it is within the margin of the winner
  double speedup_sum = 0.0;
  double speedup_max = 0.0;
  std::uint64_t compared = 0;  // wins with a baseline beside them
};

struct Tally {
  std::uint64_t groups = 0;
  std::uint64_t rows = 0;
  std::uint64_t refusals = 0;
  double tie_pct = 0.0;
  std::map<std::string, Winner> winners;  // by family
  std::vector<sweep::SelectorScore> selectors;
};

void count_winner(const Study& study, const sweep::Group& g, const std::vector<std::size_t>& ranking, Tally& t) {
  const double best = *g.metric(study, ranking.front(), "makespan_us");
  Winner& w = t.winners[g.rows[ranking.front()].family];
  ++w.wins;
  if (const auto base = g.best_of(study, study.baseline)) {
    const double speedup = *g.metric(study, *base, "makespan_us") / best;
    w.speedup_sum += speedup;
    w.speedup_max = std::max(w.speedup_max, speedup);
    ++w.compared;
  }
  std::vector<std::string> seen = {g.rows[ranking.front()].family};
  for (const std::size_t i : ranking) {
    const std::string& family = g.rows[i].family;
    if (*g.metric(study, i, "makespan_us") > best * (1 + t.tie_pct / 100)) break;
    if (std::find(seen.begin(), seen.end(), family) != seen.end()) continue;
    seen.push_back(family);
    ++t.winners[family].ties;
  }
}

void count_selectors(const Study& study, const Experiment& e, const sweep::Group& g,
                     const std::vector<std::size_t>& ranking, Tally& t) {
  const double best = *g.metric(study, ranking.front(), "makespan_us");
  for (sweep::SelectorScore& s : t.selectors) {
    const auto pick = sweep::pick_of(s.name, study, e, g);
    if (!pick) continue;
    const double regret = 100 * (*g.metric(study, *pick, "makespan_us") / best - 1);
    ++s.cases;
    s.hits += regret <= t.tie_pct ? 1U : 0U;
    s.regret_sum += regret;
    s.regret_max = std::max(s.regret_max, regret);
  }
}

Tally count(const Study& study, const StudyPlan& plan, const std::string& out) {
  Tally t;
  for (const std::string& s : study.selectors) t.selectors.push_back({s});
  sweep::GroupReader reader(study, plan, out);
  sweep::Group g;
  std::uint64_t cell = ~std::uint64_t{0};
  std::optional<Experiment> experiment;
  while (reader.next(g)) {
    ++t.groups;
    t.rows += g.rows.size();
    for (const SweepRow& r : g.rows) t.refusals += r.refusal.empty() ? 0U : 1U;
    if (g.rows.front().cell != cell && (!study.selectors.empty() || !experiment)) {
      cell = g.rows.front().cell;
      experiment.emplace(plan.experiment(cell));
      t.tie_pct = sweep::tie_margin_pct(*experiment);
    }
    const std::vector<std::size_t> ranking = g.ranking(study);
    if (ranking.empty()) continue;
    count_winner(study, g, ranking, t);
    count_selectors(study, *experiment, g, ranking, t);
  }
  return t;
}

void write_winners(JsonWriter& w, const Tally& t) {
  w.key("winners").begin_list();
  for (const auto& [family, win] : t.winners) {
    w.begin_object().field("family", family).field("wins", win.wins).field("ties", win.ties);
    if (win.compared > 0) {
      w.field("mean_speedup", win.speedup_sum / static_cast<double>(win.compared));
      w.field("max_speedup", win.speedup_max);
    }
    w.end_object();
  }
  w.end_list();
}

void write_selectors(JsonWriter& w, const Tally& t) {
  w.key("selectors").begin_list();
  for (const sweep::SelectorScore& s : t.selectors) {
    w.begin_object().field("name", s.name).field("cases", s.cases);
    if (s.cases > 0) {
      const auto n = static_cast<double>(s.cases);
      w.field("top1_pct", 100 * static_cast<double>(s.hits) / n);
      w.field("regret_mean_pct", s.regret_sum / n).field("regret_max_pct", s.regret_max);
    }
    w.end_object();
  }
  w.end_list();
}

}  // namespace

std::string summarise(const Study& study, const std::string& out) {
  const StudyPlan plan(study);
  const Tally t = count(study, plan, out);
  JsonWriter w;
  w.begin_object().field("study", study.name).field("cells", plan.cells()).field("groups", t.groups);
  w.field("rows", t.rows).field("refusals", t.refusals).field("tie_pct", t.tie_pct);
  w.field("baseline", study.baseline);
  write_winners(w, t);
  write_selectors(w, t);
  w.key("sensitivity").begin_list();
  for (const sweep::Swing& s : sweep::tornado(study, plan)) {
    w.begin_object().field("parameter", s.parameter).field("low_pct", s.low_pct).field("high_pct", s.high_pct);
    w.field("winners_changed", s.winners_changed).field("cells", s.cells).end_object();
  }
  w.end_list().end_object();
  return std::move(w).take();
}

}  // namespace overlap
