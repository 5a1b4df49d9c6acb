// FiCCO's split of lost time against numbers worked out by hand, and the ideal overlap beside the ranking.
#include "catch.hpp"
#include "overlap/error.hpp"
#include "overlap/run.hpp"
#include "paths.hpp"

using namespace overlap;

namespace {

// Two devices, one link each way of H/4 with a latency; GEMMs bound by memory at H.
constexpr double kH = 1e9;
constexpr double kShard = 32 * 256 * 2.0;        // bytes
constexpr double kTransfer = kShard / (kH / 4);  // of a shard
constexpr double kLatency = kTransfer / 4;

struct Pair {
  Topology topology = [] {
    TopologyBuilder b("pair");
    std::vector<NodeId> nodes;
    for (const char* name : {"a", "b"}) {
      Node n;
      n.name = name;
      nodes.push_back(b.node(n));
      b.device(nodes.back());
    }
    b.link(nodes[0], nodes[1], LinkKind::xgmi, Bandwidth(kH / 4), 1.0, Seconds(kLatency));
    return std::move(b).finish("pair");
  }();
  std::vector<Device> devices = [] {
    Device d;
    d.name = "memory bound";
    d.sms = 8;
    d.clock = Frequency(1e9);
    for (auto& peak : d.peak) peak = FlopRate(1e30);
    d.memory = Bytes(1e12);
    d.hbm = Bandwidth(kH);
    d.hbm_efficiency = 1.0;
    d.copy_engines = 8;
    return std::vector<Device>(2, d);
  }();
  Workload w = [] {
    Workload l;
    l.tokens = 64;
    l.in = 256;
    l.out = 512;
    l.tp = 2;
    return l;
  }();
  CostOptions cost = [] {
    CostOptions o;
    o.compute = ComputeModel::roofline;
    o.effects = {.launch = false, .copy_engines = false, .decomposition = false, .power = false};
    return o;
  }();

  Losses losses(const char* schedule, const std::vector<std::pair<std::string, ParamValue>>& given) const {
    const ScheduleInfo& info = find_schedule(schedule);
    const Params params = complete_params(info, given);
    const ScheduleContext context{w, topology, devices, params};
    const Machine machine{topology, devices};
    const FinishedRun run = run_layer(info, context, machine, cost, {});
    const std::vector<Seconds> undivided(
        2, gemm_time(devices[0], local_gemm(w, 0), w.operand, w.output, false, cost.compute, cost.effects));
    const RunView view{run.graph, run.demands, run.resources, run.timeline, devices, {}, undivided};
    return losses_of(context, view, phases(view), machine, cost, {});
  }
};

}  // namespace

TEST_CASE("losses by hand: pieces read W again, pay latency again, and copies take memory from the GEMM") {
  // M 64, K 256, N 256 a GPU, bf16. Whole GEMM: 2 (MK + KN + MN) = 196608 B. hetero-unfused-1d in two chunks: own shard
  // 163840 B, two chunks of 147456 B each, in all 458752 B.
  const Losses l = Pair().losses("ficco", {{"variant", std::string("hetero-unfused-1d")}, {"chunks", std::int64_t{2}}});
  CHECK(l.gemm.whole.si() == Approx(196608 / kH));
  CHECK(l.gemm.pieces.si() == Approx(458752 / kH));
  CHECK(l.gemm.dil() == Approx(7.0 / 3));
  // While a chunk moves, copies in and out take H/4 each and the GEMM keeps half: 65536/H of moving cost it 32768/H.
  CHECK(l.gemm.running.si() == Approx((458752 + 32768) / kH));
  CHECK(l.gemm.cil() == Approx(491520.0 / 458752));
  // One copy: latency and transfer, 1.25 units; two: 1.5. The GEMM takes nothing from them.
  CHECK(l.communication.whole.si() == Approx(1.25 * kTransfer));
  CHECK(l.communication.dil() == Approx(1.5 / 1.25));
  CHECK(l.communication.cil() == Approx(1.0));
}

TEST_CASE("losses by hand: uniform-fused-2d reads and writes C again for each slice of K") {
  // Two slices of K = 128: 2 (MK/2 + KN/2 + MN) B, the second reads C too: 2 MN more.
  const Losses l = Pair().losses(
      "ficco",
      {{"variant", std::string("uniform-fused-2d")}, {"chunks", std::int64_t{2}}, {"gather", std::string("none")}});
  const double slices = 2 * (2 * 64 * 128.0 + 2 * 128 * 256.0 + 3 * 64 * 256.0);
  CHECK(l.gemm.pieces.si() == Approx(slices / kH));
  CHECK(l.gemm.dil() == Approx(slices / 196608));
}

TEST_CASE("a run in one piece loses nothing") {
  const Losses l = Pair().losses("serial", {{"mover", std::string("dma")}});
  CHECK(l.gemm.dil() == Approx(1.0));
  CHECK(l.gemm.cil() == Approx(1.0));
  CHECK(l.communication.dil() == Approx(1.0));
  CHECK(l.communication.cil() == Approx(1.0));
}

TEST_CASE("shards from peer to peer on a mesh of eight: the communication's DIL is the paper's 7") {
  const Experiment e = parse_experiment(R"({
    "name": "mesh",
    "topology": ")" + source_dir() + R"(/topologies/mi300x8-mesh.json",
    "device": ")" + source_dir() + R"(/configs/devices/mi300x.json",
    "workloads": [{"name": "l", "pattern": "ag+gemm", "tokens": 4096, "in": 4096, "out": 8192, "tp": 8}],
    "schedules": [{"schedule": "serial", "params": {"mover": ["dma"]}}, "shard_p2p"],
    "cost": {"compute": "ideal", "effects": {"launch": false, "latency": false, "hbm": false}}
  })",
                                        "mesh");
  RunOptions options;
  options.explain = true;
  const RunReport r = run_experiment(e, options);
  const WorkloadReport& w = r.workloads[0];
  for (const ScheduleReport& s : w.schedules) {
    REQUIRE(s.losses);
    CHECK(s.losses->gemm.dil() == Approx(1.0));
    CHECK(s.losses->communication.dil() == Approx(s.schedule == "serial" ? 1.0 : 7.0));
    if (s.schedule != "serial") continue;
    // Ideal overlap: the larger of the two that serial runs one after another.
    const Seconds gemm = s.phases.computing();
    CHECK(w.ideal_overlap == std::max(gemm, s.makespan - gemm));
    CHECK(w.ideal_speedup == Approx(s.makespan / w.ideal_overlap));
    CHECK(w.ideal_speedup <= 2.0);
  }
  CHECK(report_text(r, {}).find("ideal overlap would take") != std::string::npos);
  CHECK(report_json(r).find("\"losses\"") != std::string::npos);
  CHECK(report_json(r).find("\"ideal_overlap_us\"") != std::string::npos);
}
