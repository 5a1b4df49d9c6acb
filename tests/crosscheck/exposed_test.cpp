// What each way of cutting leaves exposed (checks 9, 10 and 12), on a machine where a shard's transfer and its GEMM
// take chosen times.
#include "catch.hpp"
#include "machines.hpp"

using namespace crosscheck;

namespace {

constexpr std::uint32_t kRanks = 8;

// One shard takes 1 s over a link of the mesh; the whole GEMM takes `comp` s.
struct Bench {
  Topology topology;
  std::vector<Device> devices;
  Workload w;
  Bench(Pattern p, double comp, double shard = 1.0)
      : topology(mesh(kRanks, Bandwidth(1.0))), devices(ideal_devices(kRanks)), w(layer(p, kRanks, 512, 512, 512)) {
    const double bytes = collective_bytes(w).si() / kRanks;
    topology = mesh(kRanks, Bandwidth(bytes / shard));
    for (Device& d : devices)
      for (auto& peak : d.peak) peak = FlopRate(local_gemm(w, 0).flops().si() / comp);
  }
  double run(const std::string& schedule, const Given& given) const {
    return simulate_on(topology, devices, w, schedule, given, ideal_options()).timeline.makespan.si();
  }
};

bool near(double a, double b) {
  return a - b < 1e-9 * b && b - a < 1e-9 * b;
}

}  // namespace

TEST_CASE("check 10: slicing exposes 1/d; own slice first or last exposes nothing while tm <= tc") {
  for (const Pattern p : {Pattern::ag_gemm, Pattern::gemm_rs}) {
    const Bench even(p, 1.0);  // all to all on the mesh: the collective takes one shard's time, 1 s
    for (const std::int64_t d : {1, 2, 4, 8}) CHECK(near(even.run("interdecom", {{"d", d}}) - 1.0, 1.0 / double(d)));
    // tm = 1 s a shard, one at a time: T_comm = 7 s.
    const Bench covered(p, 8.0);  // tc = tm
    CHECK(near(covered.run("commfuse", {}), 8.0));
    CHECK(near(covered.run("intrafusion", {}), 8.0));
    const Bench equal(p, 7.0);  // T_comp = T_comm: exposes T/n
    CHECK(near(equal.run("commfuse", {}), 7.0 + 7.0 / 8));
    const Bench bound(p, 4.0);  // tc = 0.5: (n-1) tm + tc
    CHECK(near(bound.run("intrafusion", {}), 7.0 + 0.5));
    CHECK(near(bound.run("looped_einsum", {{"direction", std::string("uni")}}), 7.0 + 0.5));
  }
}

TEST_CASE("CommFuse's tail: data slices expose T_comm/d at the end of GEMM+RS, own slice last exposes nothing") {
  const Bench b(Pattern::gemm_rs, 80.0);
  const double slices = b.run("interdecom", {{"d", std::int64_t{4}}, {"path", std::string("ring")}}) - 80.0;
  CHECK(near(slices, 7.0 / 4));
  CHECK(near(b.run("commfuse", {}), 80.0));
}

TEST_CASE("check 12: FiCCO idealised, speed-up over serial at Tg/Tc = 1, 1.5, 2") {
  struct Point {
    double ratio, ideal, uniform, hetero;
  };
  for (const Point& p : {Point{1.0, 2.00, 1.78, 1.80}, Point{1.5, 1.67, 1.54, 1.67}, Point{2.0, 1.50, 1.41, 1.50}}) {
    const Bench b(Pattern::ag_gemm, p.ratio);  // Tc = 1 s
    const double serial = 1.0 + p.ratio;
    const auto gain = [&](const char* variant) { return serial / b.run("ficco", {{"variant", std::string(variant)}}); };
    const auto rounds_to = [](double v, double to) { return v > to - 0.005 && v < to + 0.005; };
    CHECK(rounds_to(serial / std::max(1.0, p.ratio), p.ideal));
    CHECK(rounds_to(gain("uniform-fused-1d"), p.uniform));
    CHECK(rounds_to(gain("uniform-fused-2d"), p.uniform));
    CHECK(rounds_to(gain("hetero-fused-1d"), p.hetero));
    CHECK(rounds_to(gain("hetero-unfused-1d"), p.hetero));
    CHECK(gain("hetero-fused-1d") <= 2.0);
  }
}

TEST_CASE("check 12: shards from peer to peer lose to serial below Tg/Tc = 48/7 and win above") {
  const double edge = 48.0 / 7;
  for (const double factor : {0.99, 1.0, 1.01}) {
    const double tg = edge * factor;
    const Bench b(Pattern::ag_gemm, tg);
    const double time = b.run("shard_p2p", {});
    CHECK(near(time, 7.0 + tg / 8));
    if (factor < 1) CHECK(time > 1.0 + tg);
    if (factor == 1) CHECK(near(time, 1.0 + tg));
    if (factor > 1) CHECK(time < 1.0 + tg);
  }
}
