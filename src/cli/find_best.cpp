#include "overlap/best.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "analysis/ranking.hpp"
#include "cli/parallel.hpp"
#include "overlap/analysis.hpp"
#include "overlap/error.hpp"

namespace overlap {
namespace {

std::string value_text(const ParamValue& v) {
  return std::visit([](const auto& x) { return fmt::format("{}", x); }, v);
}

struct Setting {
  const ScheduleInfo* info = nullptr;
  Params params;
};

std::size_t busiest_launches(const OpGraph& graph) {
  std::vector<std::size_t> count(graph.devices(), 0);
  for (const Op& op : graph.ops()) {
    const auto* e = std::get_if<Elementwise>(&op.work);
    if (e != nullptr && e->kind == ElementwiseKind::delay) continue;
    for (const LaneId l : graph.lane_refs(op.lanes)) ++count[graph.lane(l).device.index()];
  }
  return count.empty() ? 0 : *std::max_element(count.begin(), count.end());
}

Candidate simulate_one(const Setting& s, const ScheduleContext& ctx, const Machine& machine, const CostOptions& cost,
                       const SimOptions& simulation, Seconds host_launch) {
  const OpGraph graph = build_layer(*s.info, ctx, {}, host_launch);
  const Priced priced = price(graph, machine, cost);
  const Timeline timeline = simulate(graph, priced.demands, priced.resources, simulation);
  Candidate c;
  c.info = s.info;
  c.params = s.params;
  c.makespan = timeline.makespan;
  for (const Bytes b : peak_scratch({graph, priced.demands, priced.resources, timeline, machine.devices})) {
    c.extra_memory = std::max(c.extra_memory, b);
  }
  c.launches = busiest_launches(graph);
  return c;
}

// What the winner needs set, from the names of its parameters.
std::vector<std::string> knobs_of(const Candidate& best, const std::vector<Candidate>& ranked) {
  static const std::map<std::string, std::string, std::less<>> kMeaning = {
      {"d", "pieces that the layer is cut in"},
      {"chunks", "chunks of a shard"},
      {"signals", "flags a shard"},
      {"mover", "who moves the data"},
      {"ctas", "thread blocks of copy kernels"},
      {"channels", "SMs of the library's collective (NCCL_MAX_NCHANNELS)"},
      {"spare_sms", "SMs that GEMMs leave free"},
      {"reduce_sms", "SMs of kernels that add beside the fused GEMM; -1 = a quarter, none between two ranks"},
      {"algorithm", "library algorithm (NCCL_ALGO)"},
      {"codec", "compression"},
      {"groups", "wave groups"},
      {"path", "direct copies or a ring"}};
  std::vector<std::string> out{fmt::format("schedule {}: {}", best.info->name, best.info->summary)};
  for (const auto& [name, value] : best.params.all()) {
    const auto it = kMeaning.find(name);
    std::string line = fmt::format("{} = {}", name, value_text(value));
    if (it != kMeaning.end()) line += " (" + it->second + ")";
    // How much the setting matters: the best run with another value of it.
    for (const Candidate& c : ranked) {
      if (c.info != best.info || c.params.all().size() != best.params.all().size()) continue;
      const auto& all = c.params.all();
      const auto other = std::find_if(all.begin(), all.end(), [&](const auto& p) { return p.first == name; });
      if (other == all.end() || other->second == value) continue;
      line += fmt::format("; {} costs {:.1f} %", value_text(other->second), (c.makespan / best.makespan - 1.0) * 100.0);
      break;
    }
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace

std::string label_of(const Candidate& c) {
  std::string out(c.info->name);
  for (const auto& [name, value] : c.params.all()) {
    for (const ParamInfo& p : c.info->params) {
      if (p.name == name && (p.search.size() > 1 || p.fallback != value))
        out += fmt::format(" {}={}", name, value_text(value));
    }
  }
  return out;
}

std::vector<Params> search_settings(const ScheduleInfo& info) {
  std::vector<std::vector<std::pair<std::string, ParamValue>>> space{{}};
  for (const ParamInfo& p : info.params) {
    if (p.search.empty()) continue;
    std::vector<std::vector<std::pair<std::string, ParamValue>>> wider;
    for (const auto& given : space) {
      for (const ParamValue& v : p.search) {
        wider.push_back(given);
        wider.back().emplace_back(std::string(p.name), v);
      }
    }
    space = std::move(wider);
  }
  std::vector<Params> out;
  out.reserve(space.size());
  for (const auto& given : space) out.push_back(complete_params(info, given));
  return out;
}

Best find_best(const Workload& w, const Machine& machine, const CostOptions& cost, const SimOptions& simulation,
               const BestOptions& options) {
  Best best;
  std::vector<Setting> settings;
  for (const ScheduleInfo& info : schedules()) {
    const auto& names = options.schedules;
    if (!names.empty() && std::find(names.begin(), names.end(), info.name) == names.end()) continue;
    const std::vector<Params> all = search_settings(info);
    if (all.size() > options.most_settings) {
      throw InputError(
          "", fmt::format("schedule '{}' has {} settings, more than {}", info.name, all.size(), options.most_settings));
    }
    std::string reason;
    const std::size_t before = settings.size();
    for (const Params& p : all) {
      if (const auto r = info.refuses({w, machine.topology, machine.devices, p})) {
        reason = r->reason;
      } else {
        settings.push_back({&info, p});
      }
    }
    if (settings.size() == before) best.refused.emplace_back(info.name, reason);
  }
  std::vector<Candidate> results(settings.size());
  std::vector<std::string> errors(settings.size());
  std::mutex mutex;
  std::size_t done = 0;
  for_each_index(settings.size(), [&](std::size_t i) {
    const ScheduleContext ctx{w, machine.topology, machine.devices, settings[i].params};
    try {
      results[i] = simulate_one(settings[i], ctx, machine, cost, simulation, options.host_launch);
    } catch (const CheckError& stuck) {  // this setting cannot finish on this machine: named, not fatal
      results[i].info = nullptr;
      errors[i] = stuck.what();
    }
    if (!options.progress) return;
    const std::lock_guard lock(mutex);
    options.progress(++done, settings.size());
  });
  for (std::size_t i = 0; i < results.size(); ++i) {
    Candidate& c = results[i];
    if (c.info == nullptr) {
      best.refused.emplace_back(std::string(settings[i].info->name) + " " + settings[i].params.to_text(),
                                errors[i].substr(0, errors[i].find(". Waiting:")));
      continue;
    }
    const bool large = options.memory_limit && c.extra_memory > *options.memory_limit;
    (large ? best.too_large : best.ranked).push_back(std::move(c));
  }
  for (std::vector<Candidate>* list : {&best.ranked, &best.too_large}) {
    const auto places = places_by_time(
        list->size(), [&](std::size_t i) { return (*list)[i].makespan.si(); },
        [&](std::size_t a, std::size_t b) { return (*list)[a].launches < (*list)[b].launches; });
    *list = in_places(std::move(*list), places);
  }
  if (best.ranked.empty()) {
    throw CheckError(best.too_large.empty()
                         ? fmt::format("no schedule can run {} here", w.name)
                         : fmt::format("every schedule needs more than {} a device; the least is {}",
                                       to_text(*options.memory_limit),
                                       to_text(std::min_element(best.too_large.begin(), best.too_large.end(),
                                                                [](const Candidate& a, const Candidate& b) {
                                                                  return a.extra_memory < b.extra_memory;
                                                                })
                                                   ->extra_memory)));
  }
  for (std::uint32_t r = 0; r < w.tp; ++r) best.error = std::max(best.error, machine.devices[r].validated_error);
  for (Candidate& c : best.ranked) c.tied = c.makespan <= best.ranked[0].makespan * (1.0 + best.error);
  best.bounds = physical_bounds(w, machine);
  best.gap = best.ranked[0].makespan / best.bounds[0].time - 1.0;
  best.knobs = knobs_of(best.ranked[0], best.ranked);
  return best;
}

}  // namespace overlap
