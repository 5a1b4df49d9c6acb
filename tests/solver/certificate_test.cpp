// After every event of random arrival and departure sequences: the rates are max-min (the certificate) and equal those
// of water-filling from scratch in long double; batches, dates and what is left agree with the oracle solver's.
#include <memory>

#include "catch.hpp"
#include "engine/fast_solver.hpp"
#include "oracle.hpp"
#include "random_net.hpp"

using namespace overlap;

namespace {

constexpr double kTolerance = 1e-10;

class Sequence {
 public:
  Sequence(const test::NetKind& kind, std::uint64_t seed, fast::Options options)
      : kind_(kind),
        g_{seed},
        capacities_(random_capacities(kind, g_)),
        solver_(capacities_, options),
        oracle_(capacities_) {}

  void run(int events, std::uint32_t crowd) {
    for (int e = 0; e < events; ++e) {
      step(crowd);
      check();
    }
  }
  [[nodiscard]] const fast::Counters& counters() const { return solver_.counters(); }

 private:
  void start() {
    std::uint32_t id = 0;
    while (live_.contains(id)) ++id;
    // Twins: now and then the same route again.
    if (live_.empty() || g_.below(4) != 0) {
      live_[id] = std::make_unique<test::NetFlow>(random_flow(kind_, g_));
    } else {
      live_[id] = std::make_unique<test::NetFlow>(*any_live()->second);
    }
    const FlowSpec spec = live_[id]->spec();
    solver_.start(FlowId(id), spec);
    oracle_.start(FlowId(id), spec);
  }

  std::map<std::uint32_t, std::unique_ptr<test::NetFlow>>::iterator any_live() {
    return std::next(live_.begin(), g_.below(static_cast<std::uint32_t>(live_.size())));
  }

  void cancel() {
    const auto it = any_live();
    const double ours = solver_.cancel(FlowId(it->first)).si();
    const double theirs = oracle_.cancel(FlowId(it->first)).si();
    CHECK(ours == Approx(theirs).epsilon(1e-9).margin(1e-3));
    live_.erase(it);
  }

  void change() {
    if (g_.below(2) == 0) {
      const ResourceId r(g_.below(kind_.resources));
      const Bandwidth c(capacities_[r.v].si() * (g_.below(6) == 0 ? 0.0 : 0.5 + g_.unit()));
      solver_.set_capacity(r, c);
      oracle_.set_capacity(r, c);
    } else {
      const auto it = any_live();
      const bool off = g_.below(3) == 0 && !it->second->uses.empty() && !kind_.weights;
      const Bandwidth cap(off ? 1e300 : 2e7 + 5e8 * g_.unit());
      solver_.set_cap(FlowId(it->first), cap);
      oracle_.set_cap(FlowId(it->first), cap);
    }
  }

  void advance() {
    const double ours = solver_.next_completion().si();
    const double theirs = oracle_.next_completion().si();
    REQUIRE(ours == Approx(theirs).epsilon(1e-10));
    if (ours >= 1e299) return;
    const bool part = g_.below(5) == 0;
    const Seconds t(part ? now_ + (ours - now_) * g_.unit() : ours);
    std::vector<FlowId> a, b;
    solver_.advance_to(t, a);
    oracle_.advance_to(t, b);
    REQUIRE(a == b);
    if (!part) CHECK_FALSE(a.empty());
    for (const FlowId f : a) live_.erase(f.v);
    now_ = t.si();
  }

  void step(std::uint32_t crowd) {
    const std::uint32_t what = g_.below(16);
    if (live_.size() < crowd / 2 || (live_.size() < crowd && what < 7)) {
      for (std::uint32_t n = 1 + g_.below(3); n > 0; --n) start();
    } else if (what == 15) {
      cancel();
    } else if (what == 14 && (kind_.caps || kind_.weights)) {
      change();
    } else {
      advance();
    }
  }

  void check() {
    oracle_.refill();
    test::LiveFlows ours = oracle_.flows();
    for (auto& [id, f] : ours) f.rate = solver_.rate(FlowId(id)).si();
    REQUIRE(test::certificate(oracle_.capacity(), ours, kTolerance) == "");
    for (const auto& [id, f] : oracle_.flows())
      REQUIRE(solver_.rate(FlowId(id)).si() == Approx(static_cast<double>(f.rate)).epsilon(1e-9).margin(1e-2));
  }

  const test::NetKind& kind_;
  test::Random g_;
  std::vector<Bandwidth> capacities_;
  fast::FastSolver solver_;
  test::OracleSolver oracle_;
  std::map<std::uint32_t, std::unique_ptr<test::NetFlow>> live_;
  double now_ = 0;
};

}  // namespace

TEST_CASE("certificate and oracle after every event of random sequences") {
  for (const test::NetKind& kind : test::net_kinds())
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      INFO(kind.name << ", seed " << seed);
      Sequence s(kind, seed, {});
      s.run(400, 10 + 10 * static_cast<std::uint32_t>(seed));
      CHECK(s.counters().refills == 0);
    }
}

TEST_CASE("certificate and oracle where groups are so large that a change sweeps whole levels") {
  for (const std::uint32_t resources : {48U, 80U}) {  // few enough to be counted by sets, and more
    const test::NetKind kind{.name = "crowd", .resources = resources, .hops = 2, .bipartite = true};
    INFO(resources << " resources");
    Sequence s(kind, 5, {});
    s.run(800, 900);
    CHECK(s.counters().sweeps > 100);
    CHECK(s.counters().refills == 0);
  }
}

TEST_CASE("certificate and oracle when every solve fills from scratch") {
  for (const test::NetKind& kind : test::net_kinds()) {
    INFO(kind.name);
    Sequence s(kind, 77, {.from_scratch = true});
    s.run(300, 30);
    CHECK(s.counters().refills > 0);
  }
}
