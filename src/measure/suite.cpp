#include "measure/suite.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "measure/baseline.hpp"
#include "overlap/error.hpp"

namespace overlap::cuda {
namespace {
using Given = std::vector<std::pair<std::string, ParamValue>>;

constexpr std::uint32_t kGpus = 2;

ParamValue number(std::int64_t v) {
  return v;
}
ParamValue word(const char* v) {
  return std::string(v);
}

std::string shape_keys(GemmShape s) {
  return fmt::format("\"m\": {}, \"n\": {}, \"k\": {}", s.m, s.n, s.k);
}

std::string underscored(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

const ScheduleInfo* schedule_named(std::string_view name) {
  for (const ScheduleInfo& s : schedules()) {
    if (underscored(s.name) == name) return &s;
  }
  return nullptr;
}

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
  for (const std::int64_t d : {1, 4}) out.push_back({"commfuse", {{"chunks", number(d)}}});
  out.push_back({"async_tp", {}});
  out.push_back({"flux", {}});
  return out;
}

std::vector<Point> scatter_points() {
  std::vector<Point> out = {{"serial", {{"mover", word("library")}}}, {"serial", {{"mover", word("dma")}}}};
  for (const std::int64_t d : {2, 4, 8}) {
    out.push_back({"interdecom", {{"d", number(d)}, {"mover", word("library")}}});
    out.push_back({"interdecom", {{"d", number(d)}, {"mover", word("dma")}}});
  }
  for (const std::int64_t d : {1, 2, 4, 8}) out.push_back({"commfuse", {{"chunks", number(d)}}});
  for (const char* v : {"single_ring", "double_ring", "all_to_all"})
    out.push_back({"intrafusion", {{"variant", word(v)}}});
  out.push_back({"looped_einsum", {{"direction", word("uni")}}});
  out.push_back({"looped_einsum", {{"direction", word("bi")}}});
  out.push_back({"shard_p2p", {{"order", word("ring")}}});
  out.push_back({"wave_groups", {}});
  out.push_back({"async_tp", {}});
  out.push_back({"flux", {}});
  return out;
}

Job plain_job(std::string section, std::string keys, std::function<OpGraph()> graph) {
  Job j;
  j.section = section;
  j.group = section;
  j.keys = fmt::format("\"kind\": \"{}\", {}", section, keys);
  j.graph = std::move(graph);
  return j;
}

void add_gemms(std::vector<Job>& jobs) {
  std::vector<GemmShape> shapes;
  const auto add = [&](const GemmShape& s) {
    const auto same = [&](const GemmShape& o) { return o.m == s.m && o.n == s.n && o.k == s.k; };
    if (std::find_if(shapes.begin(), shapes.end(), same) == shapes.end()) shapes.push_back(s);
  };
  for (const std::uint32_t m : {64U, 128U, 256U, 512U, 1024U, 2048U, 4096U, 8192U}) {
    for (const auto& [n, k] :
         {std::pair{4096U, 4096U}, {1280U, 8192U}, {8192U, 3584U}, {28672U, 4096U}, {512U, 16384U}, {7168U, 2048U}}) {
      add({m, n, k});
    }
  }
  for (const std::uint32_t e : {1024U, 2048U, 3072U, 4096U, 6144U, 8192U, 10240U}) add({e, e, e});
  for (const std::uint32_t m : {832U, 1472U, 2176U, 3392U, 5504U}) {
    for (const auto& [n, k] : {std::pair{5888U, 4736U}, {3200U, 9472U}, {10112U, 1664U}}) add({m, n, k});
  }
  for (const GemmShape& s : gather_shapes()) add(s);
  for (const GemmShape& s : scatter_shapes()) add(s);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const GemmShape s = shapes[i];
    Job j = plain_job("gemm", fmt::format("{}, \"gpus\": 1", shape_keys(s)), [s] { return single_gemm(s); });
    j.group = fmt::format("gemm {}", i / 24);
    jobs.push_back(std::move(j));
  }
}

void add_primitive(std::vector<Job>& jobs, std::string kind, std::string keys, std::function<OpGraph()> graph) {
  Job j = plain_job("primitives", "", std::move(graph));
  j.keys = fmt::format("\"kind\": \"{}\"{}{}", kind, keys.empty() ? "" : ", ", keys);
  j.group = fmt::format("primitives {}", jobs.size() / 40);
  j.reps = 11;
  j.idle = Seconds(0.002);
  jobs.push_back(std::move(j));
}

void add_primitives(std::vector<Job>& jobs) {
  add_primitive(jobs, "empty", "", [] { return empty(kGpus); });
  for (std::uint64_t bytes = 4096; bytes <= (std::uint64_t{256} << 20U); bytes *= 4) {
    const auto keys = fmt::format("\"bytes\": {}", bytes);
    CopyCase c;
    c.bytes = bytes;
    add_primitive(jobs, "peer_uni", keys, [c] { return copies(c); });
    c.both_ways = true;
    add_primitive(jobs, "peer_bi", keys, [c] { return copies(c); });
    c.both_ways = false;
    c.same_device = true;
    add_primitive(jobs, "copy_hbm", keys, [c] { return copies(c); });
    for (const auto& [kind, name] : {std::pair{CollectiveKind::all_gather, "all_gather"},
                                     {CollectiveKind::reduce_scatter, "reduce_scatter"},
                                     {CollectiveKind::all_reduce, "all_reduce"},
                                     {CollectiveKind::all_to_all, "all_to_all"}}) {
      const CollectiveKind k = kind;
      add_primitive(jobs, "nccl", fmt::format("\"op\": \"{}\", {}, \"gpus\": {}", name, keys, kGpus),
                    [k, bytes] { return collective(k, bytes, kGpus); });
    }
  }
  for (const std::uint64_t bytes : {std::uint64_t{65536}, std::uint64_t{1} << 20U, std::uint64_t{16} << 20U}) {
    for (const std::uint32_t chunks : {2U, 8U, 32U}) {
      CopyCase c;
      c.bytes = bytes;
      c.chunks = chunks;
      add_primitive(jobs, "peer_chunked", fmt::format("\"bytes\": {}, \"chunks\": {}", bytes, chunks),
                    [c] { return copies(c); });
    }
  }
  for (const auto& [kind, name] :
       {std::pair{Chain::lane, "lane"}, {Chain::local, "local"}, {Chain::remote, "remote"}}) {
    for (const std::uint32_t hops : {8U, 32U}) {
      const Chain k = kind;
      add_primitive(jobs, "event_chain", fmt::format("\"path\": \"{}\", \"hops\": {}", name, hops),
                    [k, hops] { return event_chain(k, hops); });
    }
  }
}

void add_contention(std::vector<Job>& jobs) {
  constexpr std::uint64_t kBytes = std::uint64_t{64} << 20U;
  for (const GemmShape s : {GemmShape{8192, 8192, 8192},
                            {8192, 8192, 1024},
                            {4096, 14336, 4096},
                            {2048, 4096, 4096},
                            {16384, 1280, 8192}}) {
    const double us = s.flops().si() / 7e14 * 1e6;
    const auto gemms = static_cast<std::uint32_t>(std::clamp(4000.0 / us, 4.0, 40.0));
    const auto chunks = static_cast<std::uint32_t>(gemms * us / 150.0 * 1.6) + 2;
    for (const auto& [beside, name] : {std::pair{Beside::alone, "alone"},
                                       {Beside::dma_out, "dma_out"},
                                       {Beside::dma_in, "dma_in"},
                                       {Beside::dma_both, "dma_bi"},
                                       {Beside::gather, "nccl_ag"},
                                       {Beside::reduce, "nccl_rs"}}) {
      const Beside b = beside;
      Job j = plain_job("contention", fmt::format("\"mode\": \"{}\", {}", name, shape_keys(s)),
                        [=] { return contention(s, gemms, b, kBytes, chunks); });
      j.keys += fmt::format(", \"gemms\": {}, \"comm_chunks\": {}, \"chunk_bytes\": {}", gemms, chunks, kBytes);
      j.contention = true;
      j.reps = 5;
      jobs.push_back(std::move(j));
    }
  }
}

void add_parts(std::vector<Job>& jobs, const Workload& w, GemmShape s) {
  const bool gathers = w.pattern == Pattern::ag_gemm;
  const std::string kind = gathers ? "ag_gemm" : "gemm_rs";
  const auto part = [&](std::string name, std::uint32_t d, std::function<OpGraph()> graph) {
    Job j =
        plain_job(kind, fmt::format("\"schedule\": \"{}\", \"d\": {}, \"gpus\": {}, {}", name, d, kGpus, shape_keys(s)),
                  std::move(graph));
    j.group = fmt::format("{} {} {} {}", kind, s.m, s.n, s.k);
    jobs.push_back(std::move(j));
  };
  part("gemm_only", 1, [w] { return gemm_only(w, Cut::rows, 1); });
  part(gathers ? "ag_only_nccl" : "rs_only_nccl", 1, [w] { return collective_only(w, true); });
  if (!gathers) return;
  part("ag_only_dma", 1, [w] { return collective_only(w, false); });
  for (const std::uint32_t d : {2U, 4U, 8U}) {
    part("decomp_only", d, [w, d] { return gemm_only(w, Cut::rows, d); });
    if (d < 8) part("decompk_only", d, [w, d] { return gemm_only(w, Cut::k, d); });
  }
}

void add_layers(std::vector<Job>& jobs, Pattern pattern, const std::vector<GemmShape>& shapes,
                const std::vector<Point>& points, const Topology& topology, const std::vector<Device>& devices) {
  for (const GemmShape& s : shapes) {
    const Workload w = layer(pattern, s, kGpus);
    add_parts(jobs, w, s);
    for (const Point& p : points) {
      const ScheduleInfo* info = schedule_named(p.schedule);
      if (info == nullptr || std::find(info->patterns.begin(), info->patterns.end(), pattern) == info->patterns.end())
        continue;
      jobs.push_back(layer_job(w, *info, complete_params(*info, p.params), topology, devices));
      if (p.schedule == std::string_view("intrafusion")) {  // the same graph as chunk launches
        Job chunks = jobs.back();
        chunks.fused = false;
        const std::size_t at = chunks.keys.find("\", \"d\"");
        chunks.keys.insert(at, "_chunks");
        jobs.push_back(std::move(chunks));
      }
    }
  }
}

// Finish time of every tile of the tile kernel: one part a tile.
void add_tiles(std::vector<Job>& jobs) {
  for (const GemmShape s : {GemmShape{4096, 4096, 4096}, {8192, 8192, 1024}, {2048, 7168, 4096}, {16384, 1280, 8192}}) {
    Job j =
        plain_job("tiles", fmt::format("{}, \"tile_rows\": 128, \"tile_cols\": 256, \"gpus\": 1", shape_keys(s)), [s] {
          return tiled_gemm(s, {128, 256, 0});
        });
    j.spans = true;
    j.tiles = true;
    jobs.push_back(std::move(j));
  }
}

// What settles who comes first when a collective and a GEMM want the same SMs.
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
          Job j = layer_job(layer(Pattern::ag_gemm, s, kGpus), *info, complete_params(*info, given), topology, devices);
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

}  // namespace

const std::vector<std::string>& suite_sections() {
  static const std::vector<std::string> names = {"primitives", "gemm",           "contention", "ag_gemm",
                                                 "gemm_rs",    "interdecom_env", "tiles"};
  return names;
}

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
      {4096, 4096, 7168}, {8192, 4096, 7168}, {8192, 4096, 1536}, {4096, 8192, 3584}, {8192, 8192, 3584},
      {8192, 8192, 1024}, {4096, 5120, 6912}, {8192, 7168, 2304}, {8192, 8192, 512},  {16384, 4096, 512},
      {8192, 4096, 768},  {8192, 12288, 384}, {4096, 16384, 512}, {16384, 8192, 256}};
  return shapes;
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
  const auto with = [&](std::string base) { return mover.empty() ? base : base + "_" + mover; };
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
  for (const char* key : {"direction", "order"}) {
    if (params.has(key)) name += "_" + text(key);
  }
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

std::vector<Job> suite(const Topology& topology, const std::vector<Device>& devices,
                       const std::vector<std::string>& sections) {
  for (const std::string& s : sections) {
    if (std::find(suite_sections().begin(), suite_sections().end(), s) == suite_sections().end()) {
      throw InputError("",
                       fmt::format("no section '{}' of the suite; known: {}", s, fmt::join(suite_sections(), ", ")));
    }
  }
  const auto wanted = [&](std::string_view s) {
    return sections.empty() || std::find(sections.begin(), sections.end(), s) != sections.end();
  };
  std::vector<Job> jobs;
  if (wanted("primitives")) add_primitives(jobs);
  if (wanted("gemm")) add_gemms(jobs);
  if (wanted("contention")) add_contention(jobs);
  if (wanted("ag_gemm")) add_layers(jobs, Pattern::ag_gemm, gather_shapes(), gather_points(), topology, devices);
  if (wanted("gemm_rs")) add_layers(jobs, Pattern::gemm_rs, scatter_shapes(), scatter_points(), topology, devices);
  if (wanted("interdecom_env")) add_race(jobs, topology, devices);
  if (wanted("tiles")) add_tiles(jobs);
  return jobs;
}

}  // namespace overlap::cuda
