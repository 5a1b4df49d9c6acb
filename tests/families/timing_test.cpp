// Published numbers and closed forms, by simulation: check 4 (hierarchical all-gather), check 18 (Flux on L20), alias
// properties, compression over slow and fast links.
#include <cmath>

#include "boxes.hpp"
#include "catch.hpp"
#include "overlap/best.hpp"
#include "overlap/codec.hpp"
#include "overlap/cost.hpp"

using namespace overlap;
using namespace families;

namespace {

Seconds time_of(std::string_view schedule, const Box& box, const Workload& w, const Given& given,
                const CostOptions& cost = bare()) {
  const auto graph = graph_of(schedule, box, w, given);
  REQUIRE(graph);
  const Priced p = price(*graph, {box.topology, box.devices, {}}, cost);
  return simulate(*graph, p.demands, p.resources, {}).makespan;
}

void set_peak(Box& box, double flops) {
  for (Device& d : box.devices) d.peak[static_cast<std::size_t>(DType::bf16)] = FlopRate(flops);
}

// Bytes of the gathered tensor over the time, in units of 1 GB/s.
double bandwidth(const Workload& w, Seconds t) {
  return (collective_bytes(w) / t).si() / 1e9;
}

const Given kDma{{"mover", std::string("dma")}};

Given with(Given g, const char* name, ParamValue v) {
  g.emplace_back(name, std::move(v));
  return g;
}

std::size_t count_ops(const OpGraph& g, bool (*what)(const Op&)) {
  return static_cast<std::size_t>(std::count_if(g.ops().begin(), g.ops().end(), what));
}
bool stores(const Op& op) {
  const auto* t = std::get_if<Transfer>(&op.work);
  return t != nullptr && t->mover == Mover::remote_store;
}
bool gemms(const Op& op) {
  return std::holds_alternative<Gemm>(op.work);
}

}  // namespace

TEST_CASE("check 4: the hierarchical all-gather at (PCIe, crossing) = (4, 1)") {
  Box box = numa_box(16, 4, 1);
  set_peak(box, 1e30);  // gathering alone counts
  const Workload w = layer(Pattern::ag_gemm, 4096, 1024, 64, 8);
  const auto reached = [&](std::int64_t chunks, std::int64_t rings) {
    return bandwidth(w, time_of("hierarchical", box, w, with(with(kDma, "chunks", chunks), "rings", rings)));
  };
  CHECK(reached(1, 1) == Approx(32.0 / 19).epsilon(1e-9));
  CHECK(reached(2, 1) == Approx(1.829).epsilon(5e-4));
  CHECK(reached(4, 1) == Approx(1.910).epsilon(5e-4));
  CHECK(reached(8, 1) == Approx(1.954).epsilon(5e-4));
  CHECK(reached(1, 2) > reached(1, 1));
  const double ring = bandwidth(w, time_of("intrafusion", box, w, with(kDma, "variant", std::string("single_ring"))));
  CHECK(ring == Approx(8.0 / 7).epsilon(1e-9));
}

TEST_CASE("the search finds the hierarchical schedule on the NUMA box by itself and reports the gap to the cut") {
  Box box = numa_box(16, 4, 1);
  set_peak(box, 1e30);
  const Workload w = layer(Pattern::ag_gemm, 4096, 1024, 64, 8);
  BestOptions options;
  options.schedules = {"serial", "interdecom", "intrafusion", "hierarchical", "collectives"};
  const Best best = find_best(w, {box.topology, box.devices, {}}, bare(), {}, options);
  CHECK(std::string(best.ranked[0].info->name) == "hierarchical");
  const double reached = bandwidth(w, best.ranked[0].makespan);
  CHECK(reached >= 1.68);
  CHECK(bandwidth(w, best.bounds[0].time) == Approx(2.0));
  CHECK(best.gap == Approx(2.0 / reached - 1.0));
  CHECK(best.gap > 0.0);
  CHECK_FALSE(best.knobs.empty());
  options.memory_limit = best.ranked[0].extra_memory - Bytes(1);
  options.schedules = {"hierarchical"};
  CHECK_THROWS_WITH(find_best(w, {box.topology, box.devices, {}}, bare(), {}, options),
                    contains_text("needs more than"));
}

TEST_CASE("a host thread that launches slowly favours few launches") {
  Box box = switched(4);
  const Workload w = layer(Pattern::ag_gemm, 64, 1024, 1024, 4);
  BestOptions options;
  options.schedules = {"serial", "async_tp"};
  const Machine machine{box.topology, box.devices, {}};
  options.host_launch = Seconds(10e-6);
  const Best slow = find_best(w, machine, bare(), {}, options);
  options.host_launch = Seconds();
  const Best fast = find_best(w, machine, bare(), {}, options);
  CHECK(slow.ranked[0].launches <= fast.ranked.back().launches);
  CHECK(slow.ranked[0].makespan >= fast.ranked[0].makespan + Seconds(10e-6));
  CHECK(slow.ranked[0].makespan >= Seconds(10e-6) * static_cast<double>(slow.ranked[0].launches));
}

TEST_CASE("check 18: Flux on 8 L20, 4096 x 6144 x 12288") {
  // Effective rates are bytes of the whole over time; a rank receives 7/8 of them.
  const Workload w = layer(Pattern::ag_gemm, 4096, 12288, 49152, 8);
  const Seconds gemm(5.746e-3);
  const auto over_gemm = [&](double effective, std::int64_t signals) {
    Box box = star(8, effective * 7 / 8);
    set_peak(box, (local_gemm(w, 0).flops() / gemm).si());
    return time_of("flux", box, w,
                   {{"signals", signals}, {"copies", std::string("pull")}, {"in_flight", std::int64_t{1}}}) /
           gemm;
  };
  CHECK(over_gemm(19, 1) < 1.05);
  CHECK(over_gemm(17, 8) < 1.05);
  CHECK(over_gemm(17, 1) == Approx(1.155).margin(0.002));
  CHECK(local_gemm(w, 0).flops().si() == Approx(6.18e11).epsilon(1e-3));
}

TEST_CASE("what tells the aliases from the families that they are points of") {
  const Box box = mesh(4);
  const Workload ag = layer(Pattern::ag_gemm, 64, 32, 32, 4);
  const Workload rs = layer(Pattern::gemm_rs, 64, 32, 32, 4);
  const OpGraph fused = *graph_of("intrafusion", box, ag, with(kDma, "variant", std::string("all_to_all")));
  const OpGraph flux = *graph_of("flux", box, ag, {{"signals", std::int64_t{4}}});
  // Flux: more signals a shard, copies by the holder, spinning thread blocks.
  CHECK(flux.ops().size() == 4 * (1 + 3 * 4));
  CHECK(fused.ops().size() == 4 * (1 + 3));
  CHECK(std::get<Gemm>(flux.ops().back().work).order == PartOrder::fixed);
  for (const Op& op : flux.ops()) {
    if (std::holds_alternative<Transfer>(op.work)) {
      CHECK(flux.device_of(op) == flux.buffer(flux.slices(op.writes)[0].buffer).device);
    }
  }
  CHECK(count_ops(*graph_of("flux", box, rs, {}), stores) == 4 * 3 * 4);
  // Tile signalling: the same transfers by copies, no stores, tiles taken as they are ready.
  const OpGraph tiles = *graph_of("tile_signal", box, rs, {});
  CHECK(count_ops(tiles, stores) == 0);
  CHECK(tiles.ops().size() == graph_of("flux", box, rs, {})->ops().size());
  CHECK(std::get<Gemm>(tiles.ops().front().work).order == PartOrder::ready);
  // Async-TP: no lane is for communication alone.
  const OpGraph async = *graph_of("async_tp", box, ag, {});
  std::vector<int> lane_gemms(async.lanes().size());
  for (const Op& op : async.ops()) lane_gemms[async.lane_refs(op.lanes)[0].index()] += gemms(op) ? 1 : 0;
  for (const int n : lane_gemms) CHECK(n > 0);
  // Distributed GEMM: sums accumulate in the GEMMs (beta = 1), nothing else adds.
  const OpGraph rotating = *graph_of("distributed_gemm", box, rs, {});
  std::size_t accumulating = 0;
  for (const Op& op : rotating.ops()) {
    CHECK_FALSE(std::holds_alternative<Elementwise>(op.work));
    const auto* g = std::get_if<Gemm>(&op.work);
    accumulating += g != nullptr && g->accumulate ? 1 : 0;
  }
  CHECK(accumulating == 4 * 3);
  // Domino: column pieces, each its own collective.
  const Workload ar = layer(Pattern::gemm_ar, 64, 32, 32, 4);
  const OpGraph domino = *graph_of("domino", box, ar, {{"rows", std::int64_t{2}}, {"cols", std::int64_t{4}}});
  CHECK(domino.ops().size() == 8 * (4 + 1));
  CHECK(std::get<Gemm>(domino.ops().front().work).n == 8);
}

TEST_CASE("async-TP: the copies hide, and the second stream fills the partly filled waves of the first") {
  Box box = switched(8);
  const Workload w = layer(Pattern::ag_gemm, 8192, 4096, 16384, 8);
  CostOptions cost;
  cost.effects = {false, false, false, true, true, true, true, true, false};
  GemmShape piece = local_gemm(w, 0);
  piece.m /= 8;
  const Seconds one = gemm_time(box.devices[0], piece, w.operand, w.output, false, ComputeModel::tile, cost.effects);
  const Seconds whole =
      gemm_time(box.devices[0], local_gemm(w, 0), w.operand, w.output, false, ComputeModel::tile, cost.effects);
  const Seconds async = time_of("async_tp", box, w, {}, cost);
  const Seconds one_stream = time_of("commfuse", box, w, {}, cost);  // the same pieces in one compute stream
  CHECK(one_stream >= one * 8.0);
  CHECK(async < one * 8.0);  // less than its GEMMs one after another
  CHECK(async > whole);
  // Without waves to fill nothing is gained: both take what the GEMM takes.
  cost.effects.decomposition = false;
  CHECK(time_of("async_tp", box, w, {}, cost).si() == Approx(time_of("commfuse", box, w, {}, cost).si()).epsilon(0.01));
}

TEST_CASE("Domino and wave groups equal their closed forms under ideal compute") {
  Box box = switched(8);
  set_peak(box, 1e12);
  for (const Pattern p : {Pattern::gemm_rs, Pattern::gemm_ar}) {
    for (const double peak : {1e11, 1e12, 1e13, 1e14}) {
      set_peak(box, peak);
      const Workload w = layer(p, 1024, 512, 512, 8);
      PieceTimes times;
      times.gemm = [&](GemmShape s, bool) { return ideal_gemm_time(box.devices[0], s, DType::bf16); };
      times.collective = [&](Bytes b) {
        // The library's serial collective of as many bytes, alone.
        const double share = b / collective_bytes(w);
        Workload part = w;
        part.tokens = static_cast<std::uint32_t>(std::lround(1024 * share));
        const Seconds whole =
            time_of("collectives", box, part, {{"form", std::string("priced")}, {"algorithm", std::string("ring")}});
        return whole - times.gemm(local_gemm(part, 0), false);
      };
      for (const auto& [name, given] : std::vector<std::pair<std::string, Given>>{
               {"domino", {{"rows", std::int64_t{2}}, {"cols", std::int64_t{2}}}},
               {"wave_groups", {{"groups", std::int64_t{4}}, {"spare_sms", std::int64_t{0}}}}}) {
        const ScheduleInfo& info = find_schedule(name);
        const Params params = complete_params(info, given);
        const auto form = info.closed_form({w, box.topology, box.devices, params}, times);
        REQUIRE(form);
        INFO(name << " peak " << peak);
        CHECK(time_of(name, box, w, given).si() == Approx(form->makespan.si()).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("compression pays over slow links and costs over fast ones; two-shot gains where the ring loses") {
  CostOptions cost = bare();
  const Workload ar = layer(Pattern::gemm_ar, 8192, 64, 8192, 4);  // 128 MiB
  const auto gain = [&](double pcie, const char* path) {
    Box box = star(4, pcie);
    set_peak(box, 1e30);
    const std::string algorithm = std::string(path) == "ring" ? "ring" : "two_shot";
    const Seconds plain = time_of("collectives", box, ar, {{"algorithm", algorithm}}, cost);
    const Seconds coded = time_of(
        "compressed", box, ar,
        {{"base", std::string("collectives")}, {"codec", std::string("entropy")}, {"path", std::string(path)}}, cost);
    return plain / coded - 1.0;
  };
  CHECK(gain(20, "direct") > 0.10);
  CHECK(gain(400, "direct") < 0.0);
  CHECK(gain(20, "direct") > gain(20, "ring"));
  CHECK(gain(100, "ring") < 0.0);
}

TEST_CASE("split-send and plain sending take what the formula says, and bytes on the wire shrink by the ratio") {
  Box box = mesh(2);
  set_peak(box, 1e30);
  for (Device& d : box.devices) d.hbm = Bandwidth(10e12);         // no pass is bound by memory
  const Workload w = layer(Pattern::ag_gemm, 2048, 8192, 64, 2);  // shards of 16 MiB
  const Bytes shard = collective_bytes(w) / 2.0;
  const CodecCost& c = codec_cost(Codec::entropy);
  const auto run = [&](const char* split) {
    return time_of("compressed", box, w,
                   {{"base", std::string("serial")}, {"codec", std::string("entropy")}, {"split", std::string(split)}});
  };
  const Bandwidth b(50e9);
  const Seconds decode = decompress_time(c, shard);
  CHECK(run("off").si() ==
        Approx((coded_send(shard, b, c.ratio, compress_time(c, shard)) + decode).si()).epsilon(0.002));
  CHECK(run("on").si() ==
        Approx((split_send(shard, b, c.ratio, c.early, c.early_time, compress_time(c, shard)) + decode).si())
            .epsilon(0.002));
  CHECK(run("on") < run("off"));
}
