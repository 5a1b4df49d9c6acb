// Sections that change what runs beside or before: the collective library's race and sustained load.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "measure/baseline.hpp"
#include "measure/suite_parts.hpp"

namespace overlap::cuda {

namespace {

struct Environment {
  bool priority;
  std::uint32_t sms;
  std::uint32_t channels;
};

// Channels that NCCL_MAX_NCHANNELS allows, 0 without it. NCCL reads it once a process, so a process has one such
// environment.
std::uint32_t allowed_channels() {
  const char* text = std::getenv("NCCL_MAX_NCHANNELS");
  return text == nullptr ? 0 : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

// What runs in each environment: the parts alone, the serial layer and InterDecom.
std::vector<Job> racers(const Workload& w, GemmShape s, const Topology& topology, const std::vector<Device>& devices) {
  const bool gathers = w.pattern == Pattern::ag_gemm;
  std::vector<Job> out;
  const auto part = [&](const char* name, std::function<OpGraph()> graph) {
    out.push_back(
        plain_job("", fmt::format("\"schedule\": \"{}\", \"d\": 1, \"gpus\": {}, {}", name, kSuiteGpus, shape_keys(s)),
                  std::move(graph)));
  };
  part("gemm_only", [w] { return gemm_only(w, Cut::rows, 1); });
  part(gathers ? "ag_only_nccl" : "rs_only_nccl", [w] { return collective_only(w, true); });
  const auto schedule = [&](const char* name, Given given) {
    const ScheduleInfo* info = schedule_named(name);
    if (info == nullptr) return;
    given.emplace_back("mover", word("library"));
    out.push_back(layer_job(w, *info, complete_params(*info, given), topology, devices));
    if (!gathers) out.back().keys.insert(out.back().keys.find("\"schedule\": \"") + 13, "rs_");
  };
  schedule("serial", {});
  for (const std::int64_t d : {2, 4, 8}) schedule("interdecom", {{"d", number(d)}});
  return out;
}

}  // namespace

void add_race(std::vector<Job>& jobs, const Topology& topology, const std::vector<Device>& devices) {
  const std::vector<Environment> environments = {{false, 132, 0},  {true, 132, 0},  {false, 132, 4}, {false, 128, 4},
                                                 {false, 132, 8},  {false, 124, 8}, {true, 124, 8},  {false, 132, 16},
                                                 {false, 116, 16}, {true, 116, 16}, {false, 108, 0}};
  const std::vector<std::pair<Pattern, GemmShape>> layers = {
      {Pattern::ag_gemm, {4096, 7168, 4096}}, {Pattern::ag_gemm, {16384, 4096, 8192}},
      {Pattern::ag_gemm, {8192, 3584, 8192}}, {Pattern::gemm_rs, {8192, 8192, 3584}},
      {Pattern::gemm_rs, {4096, 8192, 7168}}, {Pattern::gemm_rs, {8192, 4096, 2048}}};
  const std::uint32_t allowed = allowed_channels();
  for (const auto& [pattern, s] : layers) {
    for (const Environment& e : environments) {
      if (allowed > 0 && e.channels != allowed) continue;
      for (Job& j : racers(layer(pattern, s, kSuiteGpus), s, topology, devices)) {
        j.section = "interdecom_env";
        j.group = fmt::format("race {} {} {} {}", to_text(pattern), s.m, s.n, s.k);
        j.keys = fmt::format("\"kind\": \"interdecom_env\", \"prio\": {}, \"sm_target\": {}, \"max_channels\": {}, ",
                             e.priority ? 1 : 0, e.sms, e.channels) +
                 j.keys.substr(j.keys.find("\"schedule\""));
        j.channels = allowed > 0 ? 0 : e.channels;
        j.priority = e.priority;
        j.gemm_sms = e.sms == 132 ? 0 : e.sms;
        j.reps = 16;
        j.spans = true;
        jobs.push_back(std::move(j));
      }
    }
  }
}

Job sustained(Job job, Seconds duration) {
  constexpr std::string_view kKind = "\"kind\": ";
  job.keys.replace(0, kKind.size(), "\"kind\": \"sustained\", \"of\": ");
  job.sustained = duration;
  return job;
}

void add_sustained(std::vector<Job>& jobs, const Topology& topology, const std::vector<Device>& devices) {
  const auto add = [&](Job j, double seconds) {
    j = sustained(std::move(j), Seconds(seconds));
    j.section = "sustained";
    j.group = "sustained";
    jobs.push_back(std::move(j));
  };
  for (const GemmShape s : {GemmShape{8192, 8192, 8192}, {4096, 14336, 4096}, {8192, 8192, 1024}, {2048, 4096, 4096}}) {
    for (const bool both : {false, true}) {
      add(plain_job("gemm", fmt::format("{}, \"gpus\": {}", shape_keys(s), both ? 2 : 1),
                    [s, both] {
                      return both ? gemm_only(layer(Pattern::ag_gemm, s, kSuiteGpus), Cut::rows, 1) : single_gemm(s);
                    }),
          1.6);
    }
  }
  struct Point {
    const char* schedule;
    Given params;
  };
  const std::vector<Point> points = {{"serial", {{"mover", word("library")}}},
                                     {"serial", {{"mover", word("dma")}}},
                                     {"interdecom", {{"d", number(4)}, {"mover", word("library")}}},
                                     {"interdecom", {{"d", number(4)}, {"mover", word("dma")}}},
                                     {"ficco", {{"variant", word("hetero-unfused-1d")}, {"chunks", number(2)}}},
                                     {"intrafusion", {{"variant", word("all_to_all")}}},
                                     {"commfuse", {{"chunks", number(1)}}}};
  for (const Pattern pattern : {Pattern::ag_gemm, Pattern::gemm_rs}) {
    const bool gathers = pattern == Pattern::ag_gemm;
    for (const GemmShape s : {GemmShape{8192, 7168, 8192}, {8192, 3072, 4096}, {16384, 512, 4096}}) {
      const GemmShape shape = gathers ? s : GemmShape{s.m, s.k, s.n};
      const Workload w = layer(pattern, shape, kSuiteGpus);
      for (const Point& p : points) {
        const ScheduleInfo* info = schedule_named(p.schedule);
        if (info == nullptr || std::find(info->patterns.begin(), info->patterns.end(), pattern) == info->patterns.end())
          continue;
        add(layer_job(w, *info, complete_params(*info, p.params), topology, devices), 0.8);
      }
    }
  }
}

}  // namespace overlap::cuda
