// Sections that change what runs beside or before: the collective library's race and sustained load.
#include <fmt/format.h>

#include <algorithm>

#include "measure/baseline.hpp"
#include "measure/suite_parts.hpp"

namespace overlap::cuda {

void add_race(std::vector<Job>& jobs, const Topology& topology, const std::vector<Device>& devices) {
  struct Environment {
    bool priority;
    std::uint32_t sms;
    std::uint32_t channels;
  };
  const std::vector<Environment> environments = {{false, 132, 0},  {true, 132, 0},  {false, 132, 4}, {false, 128, 4},
                                                 {false, 132, 8},  {false, 124, 8}, {true, 124, 8},  {false, 132, 16},
                                                 {false, 116, 16}, {true, 116, 16}, {false, 108, 0}};
  for (const GemmShape s : {GemmShape{4096, 7168, 4096}, {16384, 4096, 8192}, {8192, 3584, 8192}}) {
    for (const Environment& e : environments) {
      for (const char* name : {"serial", "interdecom"}) {
        for (const std::int64_t d : {2, 4, 8}) {
          const ScheduleInfo* info = schedule_named(name);
          const bool serial = name == std::string_view("serial");
          if (info == nullptr || (serial && d > 2)) continue;
          Given given{{"mover", word("library")}};
          if (!serial) given.emplace_back("d", number(d));
          Job j = layer_job(layer(Pattern::ag_gemm, s, kSuiteGpus), *info, complete_params(*info, given), topology,
                            devices);
          j.section = "interdecom_env";
          j.group = fmt::format("race {} {} {}", s.m, s.n, s.k);
          j.keys = fmt::format("\"kind\": \"interdecom_env\", \"prio\": {}, \"sm_target\": {}, \"max_channels\": {}, ",
                               e.priority ? 1 : 0, e.sms, e.channels) +
                   j.keys.substr(j.keys.find("\"schedule\""));
          j.channels = e.channels;
          j.priority = e.priority;
          j.gemm_sms = e.sms == 132 ? 0 : e.sms;
          j.reps = 50;
          j.spans = false;
          jobs.push_back(std::move(j));
        }
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
