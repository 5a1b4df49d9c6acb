#include "measure/suite.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "measure/baseline.hpp"
#include "measure/suite_parts.hpp"
#include "overlap/error.hpp"

namespace overlap::cuda {
namespace {

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

// Library collectives by the channels that they may use, and the all-gather also in place.
void add_channels(std::vector<Job>& jobs) {
  for (std::uint64_t bytes = 4096; bytes <= (std::uint64_t{256} << 20U); bytes *= 2) {
    for (const std::uint32_t channels : {0U, 4U, 8U, 16U}) {
      const auto add = [&](const char* op, bool in_place, std::function<OpGraph()> graph) {
        add_primitive(jobs, "nccl",
                      fmt::format("\"op\": \"{}\", \"bytes\": {}, \"in_place\": {}, \"max_channels\": {}, \"gpus\": {}",
                                  op, bytes, in_place ? 1 : 0, channels, kSuiteGpus),
                      std::move(graph));
        jobs.back().channels = channels;
      };
      add("all_gather", true, [=] { return gather_in_place(bytes, kSuiteGpus, channels); });
      if (channels == 0) continue;
      for (const auto& [kind, name] :
           {std::pair{CollectiveKind::all_gather, "all_gather"}, {CollectiveKind::reduce_scatter, "reduce_scatter"}}) {
        const CollectiveKind k = kind;
        add(name, false, [=] { return collective(k, bytes, kSuiteGpus, channels); });
      }
    }
  }
}

void add_primitives(std::vector<Job>& jobs) {
  add_primitive(jobs, "empty", "", [] { return empty(kSuiteGpus); });
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
      add_primitive(jobs, "nccl", fmt::format("\"op\": \"{}\", {}, \"gpus\": {}", name, keys, kSuiteGpus),
                    [k, bytes] { return collective(k, bytes, kSuiteGpus); });
    }
  }
  add_channels(jobs);
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

// Finish time of every tile of the tile kernel, in two parts (as little signalling as a fused Gemm has) and with a part
// and a flag for each tile.
void add_tiles(std::vector<Job>& jobs) {
  const GemmShape tile{128, 256, 0};
  for (const GemmShape s : {GemmShape{4096, 4096, 4096},
                            {8192, 8192, 1024},
                            {2048, 7168, 4096},
                            {16384, 1280, 8192},
                            {8192, 8192, 8192},
                            {1024, 4096, 14336},
                            {3392, 5888, 4736}}) {
    const std::uint32_t every = (s.m + tile.m - 1) / tile.m * ((s.n + tile.n - 1) / tile.n);
    for (const std::uint32_t parts : {2U, every}) {
      const GemmShape part = parts == 2 ? GemmShape{(s.m + 1) / 2, s.n, 0} : tile;
      Job j = plain_job("tiles",
                        fmt::format("{}, \"tile_rows\": {}, \"tile_cols\": {}, \"parts\": {}, \"gpus\": 1",
                                    shape_keys(s), tile.m, tile.n, parts),
                        [s, part] { return tiled_gemm(s, part); });
      j.spans = true;
      j.every_tile = true;
      jobs.push_back(std::move(j));
    }
  }
}

}  // namespace

const std::vector<std::string>& suite_sections() {
  static const std::vector<std::string> names = {"primitives", "gemm",           "contention", "ag_gemm",
                                                 "gemm_rs",    "interdecom_env", "tiles",      "sustained"};
  return names;
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
  if (wanted("ag_gemm")) add_layers(jobs, Pattern::ag_gemm, topology, devices);
  if (wanted("gemm_rs")) add_layers(jobs, Pattern::gemm_rs, topology, devices);
  if (wanted("interdecom_env")) add_race(jobs, topology, devices);
  if (wanted("tiles")) add_tiles(jobs);
  if (wanted("sustained")) add_sustained(jobs, topology, devices);
  return jobs;
}

}  // namespace overlap::cuda
