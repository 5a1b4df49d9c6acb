// With ideal compute, no latency and no overhead, a run equals the closed form of its schedule wherever the form says
// that it is exact: P = 2..64, three ratios of compute to communication, three networks.
#include <fmt/format.h>

#include <map>

#include "catch.hpp"
#include "machines.hpp"

using namespace crosscheck;

namespace {

Topology network(const std::string& kind, std::uint32_t ranks, Bandwidth rate) {
  if (kind == "mesh") return mesh(ranks, rate);
  return kind == "ring" ? ring(ranks, rate) : switched(ranks, rate);
}

struct Case {
  const char* schedule;
  Given given;
  std::uint32_t most_ranks;  // larger graphs say nothing new
};

std::vector<Case> cases() {
  const auto number = [](std::int64_t v) { return ParamValue(v); };
  const auto word = [](const char* v) { return ParamValue(std::string(v)); };
  std::vector<Case> out = {
      {"serial", {}, 64},
      {"serial", {{"mover", word("dma")}}, 16},
      {"serial", {{"mover", word("dma")}, {"path", word("ring")}}, 64},
      {"interdecom", {{"d", number(1)}}, 16},
      {"interdecom", {{"d", number(4)}}, 16},
      {"interdecom", {{"d", number(8)}, {"path", word("ring")}}, 32},
      {"interdecom", {{"d", number(3)}, {"mover", word("library")}}, 64},
      {"intrafusion", {}, 64},
      {"intrafusion", {{"variant", word("double_ring")}}, 64},
      {"intrafusion", {{"variant", word("all_to_all")}}, 16},
      {"intrafusion", {{"variant", word("all_to_all")}, {"in_flight", number(1)}}, 32},
      {"shard_p2p", {}, 32},
      {"shard_p2p", {{"order", word("rotate")}}, 32},
      {"commfuse", {}, 32},
      {"commfuse", {{"chunks", number(4)}}, 8},
      {"looped_einsum", {}, 64},
      {"looped_einsum", {{"direction", word("uni")}}, 64},
      {"looped_einsum", {{"direction", word("uni")}, {"chains", number(2)}}, 32},
      {"looped_einsum", {{"direction", word("uni")}, {"placement", word("top_down")}}, 32},
      {"looped_einsum", {{"placement", word("top_down")}, {"in_flight", number(1)}}, 32},
  };
  out.push_back({"async_tp", {}, 16});
  out.push_back({"distributed_gemm", {}, 32});
  out.push_back({"flux", {}, 16});
  out.push_back({"flux", {{"signals", number(1)}, {"in_flight", number(2)}}, 16});
  out.push_back({"tile_signal", {}, 16});
  out.push_back({"tile_signal", {{"signals", number(8)}, {"copies", word("push")}}, 8});
  out.push_back({"hierarchical", {}, 16});
  out.push_back({"hierarchical", {{"rings", number(2)}}, 16});
  for (const char* a : {"ring", "one_shot", "two_shot", "nvls"})
    out.push_back({"collectives", {{"algorithm", word(a)}}, 16});
  for (const char* v : {"uniform-fused-1d", "uniform-fused-2d", "hetero-fused-1d", "hetero-unfused-1d",
                        "uniform-unfused-1d", "uniform-unfused-2d", "hetero-fused-2d", "hetero-unfused-2d"})
    out.push_back({"ficco", {{"variant", word(v)}, {"chunks", number(4)}}, 8});
  return out;
}

}  // namespace

TEST_CASE("ideal runs equal their closed forms") {
  std::map<std::string, int> exact;
  for (const Case& c : cases())
    for (const char* kind : {"mesh", "switch", "ring"})
      for (const std::uint32_t p : {2U, 3U, 5U, 8U, 16U, 32U, 64U})
        for (const double ratio : {0.37, 1.0, 2.6}) {
          if (p > c.most_ranks || (p > 16 && ratio != 2.6)) continue;
          const Topology t = network(kind, p, Bandwidth(ratio * 1e12 / 32));
          const std::vector<Device> devices = ideal_devices(p);
          for (const Pattern pattern : find_schedule(c.schedule).patterns) {
            // gemm+rs moves `out` columns: with in and out exchanged the ratio of times stays.
            const Workload w = layer(pattern, p, p * 24, p * 32, p * 32);
            if (refuses(t, devices, w, c.schedule, c.given)) continue;
            const auto form = closed_form_on(t, devices, w, c.schedule, c.given, ideal_options());
            if (!form || !form->exact) continue;
            std::string given;
            for (const auto& [name, value] : c.given) given += " " + name;
            INFO(fmt::format("{}{} {} on {} P={} ratio {}", c.schedule, given, to_text(pattern), kind, p, ratio));
            const Seconds simulated =
                simulate_on(t, devices, w, c.schedule, c.given, ideal_options()).timeline.makespan;
            INFO(fmt::format("simulated {:.17g} closed form {:.17g}", simulated.si(), form->makespan.si()));
            CHECK(close(simulated, form->makespan));
            ++exact[c.schedule];
          }
        }
  for (const char* name : {"serial", "interdecom", "intrafusion", "ficco", "shard_p2p", "commfuse", "looped_einsum",
                           "async_tp", "distributed_gemm", "collectives", "flux", "tile_signal", "hierarchical"}) {
    INFO(name << " " << exact[name]);
    CHECK(exact[name] >= 30);
  }
}
