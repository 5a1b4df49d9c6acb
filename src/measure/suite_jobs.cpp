// Names and keys of measured schedules, and the job of a schedule on a layer.
#include <fmt/format.h>

#include <algorithm>

#include "measure/suite_parts.hpp"

namespace overlap::cuda {
namespace {

std::string underscored(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

}  // namespace

std::string shape_keys(GemmShape s) {
  return fmt::format("\"m\": {}, \"n\": {}, \"k\": {}", s.m, s.n, s.k);
}

const ScheduleInfo* schedule_named(std::string_view name) {
  for (const ScheduleInfo& s : schedules()) {
    if (underscored(s.name) == name) return &s;
  }
  return nullptr;
}

Job plain_job(std::string section, std::string keys, std::function<OpGraph()> graph) {
  Job j;
  j.section = section;
  j.group = section;
  j.keys = fmt::format("\"kind\": \"{}\", {}", section, keys);
  j.graph = std::move(graph);
  return j;
}

Workload layer(Pattern pattern, GemmShape shape, std::uint32_t gpus) {
  Workload w;
  w.name = fmt::format("{}x{}x{}", shape.m, shape.n, shape.k);
  w.pattern = pattern;
  w.tp = gpus;
  w.tokens = shape.m;
  w.in = pattern == Pattern::ag_gemm ? shape.k : shape.k * gpus;
  w.out = pattern == Pattern::ag_gemm ? shape.n * gpus : shape.n;
  return w;
}

MeasuredName measured_name(const ScheduleInfo& info, const Params& params) {
  const auto text = [&](std::string_view key) { return params.has(key) ? params.text(key) : std::string(); };
  const auto integer = [&](std::string_view key) { return params.has(key) ? params.integer(key) : std::int64_t{1}; };
  const std::string mover = text("mover") == "library" ? "nccl" : text("mover");
  const auto with = [&](const std::string& base) { return mover.empty() ? base : base + "_" + mover; };
  if (info.name == "serial") return {with("serial"), 1};
  if (info.name == "interdecom") return {with("interdecom"), integer("d")};
  std::string name = underscored(info.name);
  std::string variant = text("variant");
  std::replace(variant.begin(), variant.end(), '-', '_');
  if (info.name == "ficco") {
    name = variant.substr(0, variant.rfind("_1d"));
    return {with(name), integer("chunks")};
  }
  if (!variant.empty()) name += "_" + variant;
  for (const char* key : {"base", "codec", "direction", "order"}) {
    if (params.has(key)) name += "_" + text(key);
  }
  if (params.has("reduce_sms") && integer("reduce_sms") >= 0) name += fmt::format("_reduce{}", integer("reduce_sms"));
  if (text("split") == "on") name += "_split";
  if (integer("in_flight") > 0 && info.name == "looped_einsum")
    name += fmt::format("_in_flight{}", integer("in_flight"));
  return {with(name), params.has("chunks") ? integer("chunks") : 1};
}

Job layer_job(const Workload& w, const ScheduleInfo& info, const Params& params, const Topology& topology,
              const std::vector<Device>& devices) {
  const MeasuredName name = measured_name(info, params);
  GemmShape s = local_gemm(w, 0);
  std::string values;
  for (const auto& [key, value] : params.all()) {
    const std::string text = std::holds_alternative<std::string>(value)
                                 ? fmt::format("\"{}\"", std::get<std::string>(value))
                             : std::holds_alternative<double>(value) ? fmt::format("{}", std::get<double>(value))
                                                                     : fmt::format("{}", std::get<std::int64_t>(value));
    values += fmt::format("{}\"{}\": {}", values.empty() ? "" : ", ", key, text);
  }
  const std::string kind = w.pattern == Pattern::ag_gemm   ? "ag_gemm"
                           : w.pattern == Pattern::gemm_rs ? "gemm_rs"
                                                           : std::string(to_text(w.pattern));
  Job j = plain_job(kind, "", [&topology, &devices, w, &info, params] {
    return build_layer(info, ScheduleContext{w, topology, devices, params});
  });
  j.keys = fmt::format(
      "\"kind\": \"{}\", \"schedule\": \"{}\", \"d\": {}, \"gpus\": {}, {}, \"graph\": \"{}\", \"params\": {{{}}}",
      kind, name.schedule, name.d, w.tp, shape_keys(s), info.name, values);
  j.group = fmt::format("{} {} {} {}", kind, s.m, s.n, s.k);
  j.spans = true;
  j.tiles = true;
  return j;
}

}  // namespace overlap::cuda
