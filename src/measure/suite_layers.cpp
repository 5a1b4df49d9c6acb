// Layers of the suite and the points of the design space that they are measured on.
#include <fmt/format.h>

#include <algorithm>

#include "measure/baseline.hpp"
#include "measure/suite_parts.hpp"

namespace overlap::cuda {
namespace {

// Points of the design space that two GPUs are measured on; those of schedules that the table lacks are left out.
struct Point {
  const char* schedule;
  Given params;
};

std::vector<Point> gather_points() {
  std::vector<Point> out = {{"serial", {{"mover", word("library")}}}, {"serial", {{"mover", word("dma")}}}};
  for (const std::int64_t d : {2, 4, 8}) {
    out.push_back({"interdecom", {{"d", number(d)}, {"mover", word("library")}}});
    out.push_back({"interdecom", {{"d", number(d)}, {"mover", word("dma")}}});
  }
  for (const std::int64_t d : {1, 2, 4, 8}) {
    out.push_back({"ficco", {{"variant", word("hetero-unfused-1d")}, {"chunks", number(d)}}});
  }
  for (const std::int64_t d : {2, 4}) {
    out.push_back({"ficco", {{"variant", word("uniform-fused-1d")}, {"chunks", number(d)}}});
    out.push_back({"ficco", {{"variant", word("uniform-fused-2d")}, {"chunks", number(d)}}});
    out.push_back({"ficco", {{"variant", word("hetero-fused-1d")}, {"chunks", number(d)}}});
  }
  for (const char* v : {"single_ring", "double_ring", "all_to_all"})
    out.push_back({"intrafusion", {{"variant", word(v)}}});
  out.push_back({"looped_einsum", {{"direction", word("uni")}}});
  out.push_back({"looped_einsum", {{"direction", word("bi")}}});
  out.push_back({"shard_p2p", {{"order", word("ring")}}});
  out.push_back({"looped_einsum", {{"direction", word("uni")}, {"in_flight", number(1)}}});
  for (const std::int64_t d : {1, 4}) out.push_back({"commfuse", {{"chunks", number(d)}}});
  for (const char* base : {"serial", "interdecom"}) out.push_back({"compressed", {{"base", word(base)}}});
  out.push_back({"compressed", {{"base", word("interdecom")}, {"split", word("on")}}});
  for (const char* name : {"async_tp", "flux", "tile_signal", "distributed_gemm"}) out.push_back({name, {}});
  return out;
}

std::vector<Point> scatter_points() {
  std::vector<Point> out = {{"serial", {{"mover", word("library")}}}, {"serial", {{"mover", word("dma")}}}};
  for (const std::int64_t d : {2, 4, 8}) {
    out.push_back({"interdecom", {{"d", number(d)}, {"mover", word("library")}}});
    out.push_back({"interdecom", {{"d", number(d)}, {"mover", word("dma")}}});
  }
  for (const std::int64_t d : {1, 2, 4, 8}) out.push_back({"commfuse", {{"chunks", number(d)}}});
  for (const char* v : {"single_ring", "double_ring", "all_to_all"}) {
    out.push_back({"intrafusion", {{"variant", word(v)}}});
    out.push_back({"intrafusion", {{"variant", word(v)}, {"reduce_sms", number(0)}}});
  }
  out.push_back({"looped_einsum", {{"direction", word("uni")}}});
  out.push_back({"looped_einsum", {{"direction", word("bi")}}});
  out.push_back({"shard_p2p", {{"order", word("ring")}}});
  out.push_back({"wave_groups", {}});
  for (const char* base : {"serial", "interdecom"}) out.push_back({"compressed", {{"base", word(base)}}});
  for (const char* order : {"burst", "reshape"}) out.push_back({"x_stage", {{"order", word(order)}}});
  for (const char* name : {"async_tp", "flux", "tile_signal", "distributed_gemm", "domino"}) out.push_back({name, {}});
  return out;
}

void add_parts(std::vector<Job>& jobs, const Workload& w, GemmShape s) {
  const bool gathers = w.pattern == Pattern::ag_gemm;
  const std::string kind = gathers ? "ag_gemm" : "gemm_rs";
  const auto part = [&](std::string name, std::uint32_t d, std::function<OpGraph()> graph) {
    Job j = plain_job(
        kind, fmt::format("\"schedule\": \"{}\", \"d\": {}, \"gpus\": {}, {}", name, d, kSuiteGpus, shape_keys(s)),
        std::move(graph));
    j.group = fmt::format("{} {} {} {}", kind, s.m, s.n, s.k);
    jobs.push_back(std::move(j));
  };
  part("gemm_only", 1, [w] { return gemm_only(w, Cut::rows, 1); });
  part(gathers ? "ag_only_nccl" : "rs_only_nccl", 1, [w] { return collective_only(w, true); });
  if (gathers) part("ag_only_dma", 1, [w] { return collective_only(w, false); });
  for (const std::uint32_t d : {2U, 4U, 8U}) {
    part("decomp_only", d, [w, d] { return gemm_only(w, Cut::rows, d); });
    if (d < 8) part("decompk_only", d, [w, d] { return gemm_only(w, Cut::k, d); });
  }
}

}  // namespace

// Layers of published models per GPU at TP 2 to 8, and (last six of each) layers whose GEMM is shorter than its
// collective on this link.
const std::vector<GemmShape>& gather_shapes() {
  static const std::vector<GemmShape> shapes = {
      {4096, 7168, 4096},  {2048, 7168, 4096},  {4096, 3072, 4096},   {8192, 3072, 4096}, {8192, 14336, 4096},
      {4096, 1280, 8192},  {8192, 1280, 8192},  {4096, 7168, 8192},   {8192, 7168, 8192}, {16384, 3584, 8192},
      {2048, 13824, 5120}, {4096, 13824, 5120}, {8192, 2560, 5120},   {4096, 4608, 7168}, {8192, 2304, 7168},
      {16384, 2304, 7168}, {4096, 6144, 12288}, {2048, 24576, 12288}, {8192, 512, 8192},  {16384, 512, 4096},
      {8192, 768, 4096},   {16384, 256, 8192},  {4096, 512, 16384},   {8192, 384, 12288}};
  return shapes;
}

const std::vector<GemmShape>& scatter_shapes() {
  static const std::vector<GemmShape> shapes = {
      {4096, 4096, 7168},  {8192, 4096, 7168},   {8192, 4096, 1536},  {4096, 8192, 3584}, {8192, 8192, 3584},
      {8192, 8192, 1024},  {4096, 5120, 6912},   {8192, 7168, 2304},  {2048, 4096, 7168}, {4096, 4096, 1536},
      {8192, 8192, 7168},  {16384, 8192, 3584},  {2048, 5120, 6912},  {4096, 7168, 2304}, {16384, 7168, 2304},
      {4096, 12288, 6144}, {2048, 12288, 12288}, {16384, 4096, 1024}, {8192, 8192, 512},  {16384, 4096, 512},
      {8192, 4096, 768},   {8192, 12288, 384},   {4096, 16384, 512},  {16384, 8192, 256}};
  return shapes;
}

void add_layers(std::vector<Job>& jobs, Pattern pattern, const Topology& topology, const std::vector<Device>& devices) {
  const bool gathers = pattern == Pattern::ag_gemm;
  for (const GemmShape& s : gathers ? gather_shapes() : scatter_shapes()) {
    const Workload w = layer(pattern, s, kSuiteGpus);
    add_parts(jobs, w, s);
    for (const Point& p : gathers ? gather_points() : scatter_points()) {
      const ScheduleInfo* info = schedule_named(p.schedule);
      if (info == nullptr || std::find(info->patterns.begin(), info->patterns.end(), pattern) == info->patterns.end())
        continue;
      jobs.push_back(layer_job(w, *info, complete_params(*info, p.params), topology, devices));
      const Job plain = jobs.back();
      const auto otherwise = [&](std::string_view suffix) -> Job& {  // the same graph, run by other means
        jobs.push_back(plain);
        jobs.back().keys.insert(plain.keys.find("\", \"d\""), suffix);
        return jobs.back();
      };
      if (info->name == std::string_view("intrafusion") &&
          (gathers || plain.keys.find("reduce0") != std::string::npos)) {
        Job& events = otherwise("_chunks");
        events.fused = events.stream_memory = false;
        otherwise("_stream_memory").fused = false;
      }
      if (info->name == std::string_view("x_stage")) otherwise("_epilogue").epilogue_stores = true;
    }
  }
}

}  // namespace overlap::cuda
