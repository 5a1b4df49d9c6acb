// Looped einsum: the contracting dimension, accumulator chains and the placement of Starts and Dones.
#include <fmt/format.h>

#include "catch.hpp"
#include "machines.hpp"
#include "overlap/graph_check.hpp"
#include "schedule/looped_program.hpp"

using namespace crosscheck;
using namespace overlap::blocks;

namespace {

Given with(std::initializer_list<std::pair<const char*, const char*>> words, std::int64_t chains = 1,
           std::int64_t in_flight = 0) {
  Given g{{"chains", chains}, {"in_flight", in_flight}};
  for (const auto& [name, value] : words) g.emplace_back(name, std::string(value));
  return g;
}

OpGraph graph(const Topology& t, const Workload& w, const Given& given) {
  const std::vector<Device> devices = ideal_devices(w.tp);
  const ScheduleInfo& info = find_schedule("looped_einsum");
  const Params params = complete_params(info, given);
  return build_layer(info, {w, t, devices, params});
}

struct Count {
  std::size_t einsums = 0, accumulating = 0, permutes = 0, adds = 0;
  double bytes = 0;
};
Count count(const OpGraph& g) {
  Count c;
  for (const Op& op : g.ops()) {
    if (const auto* gemm = std::get_if<Gemm>(&op.work)) {
      ++c.einsums;
      c.accumulating += gemm->accumulate ? 1 : 0;
    } else if (std::holds_alternative<Transfer>(op.work)) {
      ++c.permutes;
      c.bytes += g.bytes(op.writes).si();
    } else {
      ++c.adds;
    }
  }
  return c;
}

// One shard takes `hop` units over a link of a ring of eight, an einsum of one shard 1 unit of `unit` s.
struct Loop {
  Topology topology;
  std::vector<Device> devices = ideal_devices(8);
  Workload w;
  explicit Loop(Pattern p, double hop, const char* kind = "ring", double unit = 1)
      : topology(ring(8, Bandwidth(1.0))), w(layer(p, 8, 512, 512, 512)) {
    const Bandwidth rate(collective_bytes(w).si() / 8 / (hop * unit));
    topology = std::string(kind) == "ring" ? ring(8, rate) : mesh(8, rate);
    for (Device& d : devices)
      for (auto& peak : d.peak) peak = FlopRate(local_gemm(w, 0).flops().si() / (8 * unit));
  }
  double run(const Given& given) const {
    return simulate_on(topology, devices, w, "looped_einsum", given, ideal_options()).timeline.makespan.si();
  }
};

bool near(double a, double b) {
  return a - b < 1e-9 * b && b - a < 1e-9 * b;
}

}  // namespace

TEST_CASE(
    "contracting dimension: N einsums of all rows and an N-th of K, the bytes of the row loop, N - 1 accumulate") {
  const Topology t = ring(8, Bandwidth(1e9));
  const Workload along_k = layer(Pattern::agk_gemm, 8, 64, 128, 32);
  const Workload rows = layer(Pattern::ag_gemm, 8, 64, 128, 32);
  const Given uni = with({{"direction", "uni"}});
  const OpGraph g = graph(t, along_k, uni);
  for (const Op& op : g.ops()) {
    const auto* gemm = std::get_if<Gemm>(&op.work);
    if (gemm == nullptr) continue;
    CHECK(gemm->m == 64);
    CHECK(gemm->n == 4);
    CHECK(gemm->k == 16);
  }
  const Count c = count(g);
  CHECK(c.einsums == 8 * 8);
  CHECK(c.accumulating == 8 * 7);
  CHECK(c.permutes == 8 * 7);
  CHECK(c.adds == 0);
  CHECK(c.bytes == count(graph(t, rows, uni)).bytes);
  const Count both = count(graph(t, along_k, with({{"direction", "bi"}})));
  CHECK(both.einsums == 8 * 8);
  CHECK(both.accumulating == 8 * 7);
  CHECK(both.permutes == 8 * (1 + 2 * 3));
}

TEST_CASE("two accumulator chains: one permute fewer than steps, two hops each but the last, one join") {
  const Topology t = ring(8, Bandwidth(1e9));
  const Workload w = layer(Pattern::gemm_rs, 8, 64, 128, 32);
  const OpGraph g = graph(t, w, with({{"direction", "uni"}}, 2));
  const Count one = count(graph(t, w, with({{"direction", "uni"}})));
  const Count two = count(g);
  CHECK(two.permutes == one.permutes);
  CHECK(two.bytes == one.bytes);
  CHECK(two.adds == one.adds - 8);  // the join adds three
  std::size_t far = 0;
  for (const Op& op : g.ops()) {
    if (!std::holds_alternative<Transfer>(op.work)) continue;
    const std::uint32_t from = g.buffer(g.slices(op.reads)[0].buffer).device.v;
    const std::uint32_t to = g.buffer(g.slices(op.writes)[0].buffer).device.v;
    far += (to + 8 - from) % 8 == 2 ? 1 : 0;
  }
  CHECK(far == 8 * 6);
  CHECK(refuses(ring(5, Bandwidth(1e9)), ideal_devices(5), layer(Pattern::gemm_rs, 5, 64, 64, 64), "looped_einsum",
                with({{"direction", "uni"}}, 2)));
}

TEST_CASE("every order of every loop is well formed, free of races and right") {
  for (const Pattern p : {Pattern::ag_gemm, Pattern::agk_gemm, Pattern::gemm_rs})
    for (const std::uint32_t n : {1U, 2U, 4U, 6U, 8U})
      for (const char* direction : {"uni", "bi"})
        for (const char* placement : {"bottom_up", "top_down"})
          for (const std::int64_t chains : {1, 2})
            for (const std::int64_t flags : {0, 1, 2})
              for (const std::int64_t unroll : {1, 2}) {
                Given given = with({{"direction", direction}, {"placement", placement}}, chains, flags);
                given.emplace_back("unroll", unroll);
                for (const std::uint32_t more : {0U, 3U}) {
                  const Workload w = layer(p, n, 2 * n + more, n + more, n + 1);
                  const OpGraph g = graph(ring(n, Bandwidth(1e9)), w, given);
                  INFO(fmt::format("{} n {} {} {} chains {} flags {} unroll {}", to_text(p), n, direction, placement,
                                   chains, flags, unroll));
                  const auto first = [](const std::vector<std::string>& v) { return v.empty() ? "" : v.front(); };
                  CHECK(first(validate(g)) == "");
                  CHECK(first(find_races(g)) == "");
                  CHECK(first(reference_run(g, n, {})) == "");
                }
              }
}

TEST_CASE("top-down runs out of einsums to hide a reduce-scatter's permutes behind, bottom-up does not") {
  // Einsums of 1 s. Up to a permute of 1 s both hide all; beyond, top-down spends two einsums on each of the first
  // permutes and has none for the rest.
  for (const double hop : {0.5, 0.99}) {
    const Loop l(Pattern::gemm_rs, hop);
    CHECK(near(l.run(with({{"direction", "uni"}})), 8.0));
    CHECK(near(l.run(with({{"direction", "uni"}, {"placement", "top_down"}})), 8.0));
  }
  for (const double hop : {1.25, 1.5, 2.0}) {
    const Loop l(Pattern::gemm_rs, hop);
    CHECK(near(l.run(with({{"direction", "uni"}})), 7 * hop + 1));
    // Permutes 1-3 behind two einsums each, the fourth behind one, three behind none.
    CHECK(
        near(l.run(with({{"direction", "uni"}, {"placement", "top_down"}})), 1 + 3 * 2 + std::max(1.0, hop) + 3 * hop));
  }
  const Loop gather(Pattern::ag_gemm, 1.5);  // each einsum needs its Done: nothing to put off
  CHECK(near(gather.run(with({{"direction", "uni"}, {"placement", "top_down"}})), 7 * 1.5 + 1));
}

TEST_CASE("two chains hide latency that one cannot: each permute has two einsums to arrive") {
  const auto time = [](std::int64_t chains, double latency) {
    const Loop l(Pattern::gemm_rs, 0.1, "mesh", 0.1);
    TopologyBuilder b("far");
    std::vector<NodeId> nodes;
    for (std::uint32_t r = 0; r < 8; ++r) {
      Node n;
      n.name = "gpu" + std::to_string(r);
      nodes.push_back(b.node(n));
      b.device(nodes.back());
    }
    const Bandwidth rate = l.topology.route_bandwidth(DeviceId(0U), DeviceId(1U));
    for (std::uint32_t i = 0; i < 8; ++i)
      for (std::uint32_t j = i + 1; j < 8; ++j)
        b.link(nodes[i], nodes[j], LinkKind::xgmi, rate, 1.0, Seconds(0.1 * latency));
    CostOptions o = ideal_options();
    o.effects.latency = true;
    return simulate_on(std::move(b).finish("far"), l.devices, l.w, "looped_einsum",
                       with({{"direction", "uni"}}, chains), o)
               .timeline.makespan.si() /
           0.1;
  };
  CHECK(near(time(1, 1.5), 1 + 7 * 1.6));  // 1.6 s a permute
  CHECK(near(time(2, 1.5), 8 + 0.6));      // the join's hop alone shows
  CHECK(near(time(1, 0.5), 8.0));
  CHECK(near(time(2, 0.5), 8.0));
}

TEST_CASE("placement keeps dependencies and the cap on permutes in flight") {
  for (const Pattern p : {Pattern::ag_gemm, Pattern::agk_gemm, Pattern::gemm_rs})
    for (const PlacementPolicy policy : {PlacementPolicy::bottom_up, PlacementPolicy::top_down})
      for (const std::uint32_t cap : {0U, 1U, 2U, 3U})
        for (const bool bi : {false, true}) {
          LoopShape shape;
          shape.pattern = p;
          shape.ranks = 8;
          shape.bi = bi;
          const LoopProgram program = loop_program(shape, policy, cap, 1.0, 1.7);
          std::uint32_t flying = 0;
          std::vector<int> state(program.permutes.size());
          for (const CoreStep& s : program.steps) {
            if (s.what == CoreStep::What::start) {
              CHECK(state[s.permute]++ == 0);
              ++flying;
            }
            if (s.what == CoreStep::What::done) {
              CHECK(state[s.permute]++ == 1);
              --flying;
            }
            CHECK((cap == 0 || flying <= cap));
          }
          CHECK(program.permutes.size() == (bi ? 7 : 7));
          CHECK(flying == 0);
        }
}
