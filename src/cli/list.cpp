// list schedules|topologies|devices|workloads|models
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/sheet.hpp"
#include "config/paths.hpp"
#include "cost/gemm_plan.hpp"
#include "overlap/config.hpp"
#include "topology/generator.hpp"

namespace overlap::cli {
namespace {

using Lister = int (*)(Format);

std::string value_text(const ParamValue& v) {
  return std::visit([](const auto& x) { return fmt::format("{}", x); }, v);
}

std::string param_text(const ScheduleInfo& info) {
  std::string out;
  for (const ParamInfo& p : info.params) {
    out += out.empty() ? "" : " ";
    out += fmt::format("{}={}", p.name, value_text(p.fallback));
    if (!p.choices.empty()) out += fmt::format(" ({})", fmt::join(p.choices, "|"));
  }
  return out;
}

int list_schedules(Format format) {
  Sheet s{{{"schedule", "schedule"},
           {"patterns", "patterns"},
           {"parameters and defaults", "parameters"},
           {"summary", "summary"},
           {"source", "source"}},
          {}};
  for (const ScheduleInfo& i : schedules()) {
    std::string patterns;
    for (const Pattern p : i.patterns) patterns.append(patterns.empty() ? "" : " ").append(to_text(p));
    s.rows.push_back({i.name, patterns, param_text(i), i.summary, i.source});
  }
  show({{"", "schedules", std::move(s)}}, format);
  return 0;
}

int list_topologies(Format format) {
  Sheet files{{{"topology", "topology"},
               {"devices", "devices"},
               {"nodes", "nodes"},
               {"links", "directed_links"},
               {"file", "file"}},
              {}};
  for (const std::string& file : config::bundled_files("topologies")) {
    const Topology t = load_topology(file);
    files.rows.push_back({t.name(), t.device_count(), static_cast<std::uint32_t>(t.nodes().size()),
                          static_cast<std::uint32_t>(t.links().size()), file});
  }
  Sheet kinds{{{"kind", "kind"}, {"summary", "summary"}}, {}};
  for (const Generator& g : generators()) kinds.rows.push_back({g.kind, g.summary});
  show({{"bundled topologies", "topologies", std::move(files)},
        {"kinds that a topology file may have", "kinds", std::move(kinds)}},
       format);
  return 0;
}

int list_devices(Format format) {
  Sheet s{{{"device", "device"},
           {"SMs", "sms"},
           {"bf16 peak", "bf16_flop_per_s"},
           {"HBM", "hbm_bytes_per_s"},
           {"memory", "memory_bytes"},
           {"standing", "standing"},
           {"file", "file"}},
          {}};
  for (const std::string& file : config::bundled_files("configs/devices")) {
    const Device d = load_device(file);
    const auto& peak = d.peak[static_cast<std::size_t>(DType::bf16)];
    s.rows.push_back(
        {d.name, d.sms, peak ? Cell(*peak) : Cell("-"), d.hbm, d.memory, d.estimate ? "estimate" : "fitted", file});
  }
  show({{"", "devices", std::move(s)}}, format);
  return 0;
}

int list_workloads(Format format) {
  Sheet s{{{"file", "file"}, {"workloads", "workloads"}, {"summary", "summary"}, {"source", "source"}}, {}};
  for (const std::string& file : config::bundled_files("workloads")) {
    const WorkloadSet set = load_workloads(file);
    s.rows.push_back({file, static_cast<std::uint32_t>(set.workloads.size()), set.summary, set.source});
  }
  show({{"", "workloads", std::move(s)}}, format);
  return 0;
}

int list_models(Format format) {
  Sheet s{{{"what", "what"}, {"model", "model"}, {"summary", "summary"}}, {}};
  for (const cost::ComputeModelInfo& m : cost::compute_models()) s.rows.push_back({"compute", m.name, m.summary});
  for (const auto& [name, summary] : {
           std::pair{"fluid", "latency, then max-min sharing of every link of the route (default)"},
           std::pair{"alpha_beta",
                     "latency and bytes over the slowest link; blind to contention but for device limits"},
       }) {
    s.rows.push_back({"network", name, summary});
  }
  show({{"", "models", std::move(s)}}, format);
  return 0;
}

void add(Options& o, const std::string& name, const std::string& summary, Lister lister) {
  o.command(name, summary, [lister](Options& s) -> Action {
    const auto format = std::make_shared<Format>(Format::text);
    s.format(*format);
    return [format, lister] { return lister(*format); };
  });
}

}  // namespace

Action list_command(Options& o) {
  add(o, "schedules", "Every schedule with its parameters", list_schedules);
  add(o, "topologies", "Bundled machines and the kinds of topology file", list_topologies);
  add(o, "devices", "Bundled devices", list_devices);
  add(o, "workloads", "Bundled workload files", list_workloads);
  add(o, "models", "Cost models of compute and network", list_models);
  return {};
}

}  // namespace overlap::cli
