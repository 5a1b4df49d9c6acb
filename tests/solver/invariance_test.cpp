// What must not change the allocation, or changes it in a known way: scale, names of flows and resources, merging
// twins, splitting a resource; a departure never lowers the least rate; every byte is carried once.
#include <algorithm>
#include <numeric>

#include "catch.hpp"
#include "oracle.hpp"
#include "random_net.hpp"

using namespace overlap;

namespace {

struct Instance {
  std::vector<Bandwidth> capacities;
  std::vector<test::NetFlow> flows;
};

Instance random_instance(const test::NetKind& kind, std::uint64_t seed, std::uint32_t flows) {
  test::Random g{seed};
  Instance in{random_capacities(kind, g), {}};
  for (std::uint32_t i = 0; i < flows; ++i) in.flows.push_back(random_flow(kind, g));
  return in;
}

// Completion date by flow when all start at once.
std::vector<double> ends(const Instance& in) {
  const auto solver = make_fast_solver(in.capacities);
  for (std::uint32_t i = 0; i < in.flows.size(); ++i) solver->start(FlowId(i), in.flows[i].spec());
  std::vector<double> out(in.flows.size(), -1);
  std::vector<FlowId> finished;
  for (Seconds t = solver->next_completion(); t < kForever; t = solver->next_completion()) {
    finished.clear();
    solver->advance_to(t, finished);
    for (const FlowId f : finished) out[f.v] = t.si();
  }
  return out;
}

std::vector<double> rates(const Instance& in, std::uint32_t without = ~0U) {
  const auto solver = make_fast_solver(in.capacities);
  std::vector<double> out(in.flows.size(), 0);
  for (std::uint32_t i = 0; i < in.flows.size(); ++i) solver->start(FlowId(i), in.flows[i].spec());
  if (without < in.flows.size()) {
    solver->next_completion();
    solver->cancel(FlowId(without));
  }
  for (std::uint32_t i = 0; i < in.flows.size(); ++i)
    if (i != without) out[i] = solver->rate(FlowId(i)).si();
  return out;
}

void check_close(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(a[i] == Approx(b[i]).epsilon(1e-11));
}

template <class Check>
void over_kinds(Check check) {
  for (const test::NetKind& kind : test::net_kinds())
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      INFO(kind.name << ", seed " << seed);
      check(kind, random_instance(kind, seed, 40), seed);
    }
}

}  // namespace

TEST_CASE("scaling sizes, capacities and caps together leaves every date; by powers of two to the bit") {
  over_kinds([](const test::NetKind&, const Instance& in, std::uint64_t) {
    for (const double k : {0.125, 3.0}) {
      Instance scaled = in;
      for (Bandwidth& c : scaled.capacities) c *= k;
      for (test::NetFlow& f : scaled.flows) {
        f.work *= k;
        if (f.cap.si() < 1e299) f.cap *= k;
      }
      if (k == 0.125)
        REQUIRE(ends(scaled) == ends(in));
      else
        check_close(ends(scaled), ends(in));
    }
  });
}

TEST_CASE("renaming flows and resources leaves every date") {
  over_kinds([](const test::NetKind&, const Instance& in, std::uint64_t seed) {
    test::Random g{seed + 1000};
    const auto shuffled = [&](std::size_t n) {
      std::vector<std::uint32_t> p(n);
      std::iota(p.begin(), p.end(), 0U);
      for (std::uint32_t i = static_cast<std::uint32_t>(n) - 1; i > 0; --i) std::swap(p[i], p[g.below(i + 1)]);
      return p;
    };
    const auto resource = shuffled(in.capacities.size());
    const auto flow = shuffled(in.flows.size());
    Instance renamed = in;
    for (std::size_t r = 0; r < resource.size(); ++r) renamed.capacities[resource[r]] = in.capacities[r];
    for (std::size_t f = 0; f < flow.size(); ++f) {
      renamed.flows[flow[f]] = in.flows[f];
      for (Use& u : renamed.flows[flow[f]].uses) u.resource = ResourceId(resource[u.resource.v]);
    }
    const auto before = ends(in), after = ends(renamed);
    for (std::size_t f = 0; f < flow.size(); ++f) REQUIRE(after[flow[f]] == Approx(before[f]).epsilon(1e-11));
  });
}

TEST_CASE("twins are one flow of twice the share, cap and work; a resource in two pieces in a row is one") {
  over_kinds([](const test::NetKind&, const Instance& in, std::uint64_t) {
    Instance twins = in, merged = in;
    twins.flows.push_back(in.flows[0]);
    merged.flows[0].share *= 2;
    merged.flows[0].work *= 2;
    if (merged.flows[0].cap.si() < 1e299) merged.flows[0].cap *= 2;
    auto apart = ends(twins);
    REQUIRE(apart.back() == apart.front());
    apart.pop_back();
    check_close(apart, ends(merged));

    Instance pieces = in;  // every use of resource 0 also takes a new one of the same capacity
    const ResourceId piece(pieces.capacities.size());
    pieces.capacities.push_back(in.capacities[0]);
    for (test::NetFlow& f : pieces.flows)
      for (std::size_t u = f.uses.size(); u > 0; --u)
        if (f.uses[u - 1].resource.v == 0) f.uses.push_back({piece, f.uses[u - 1].weight});
    check_close(ends(pieces), ends(in));
  });
}

TEST_CASE("a departure never lowers the least level") {
  over_kinds([](const test::NetKind& kind, const Instance& in, std::uint64_t) {
    const auto before = rates(in);
    for (std::uint32_t gone = 0; gone < in.flows.size(); gone += 7) {
      const auto after = rates(in, gone);
      double least_before = 1e300, least_after = 1e300;
      for (std::uint32_t i = 0; i < in.flows.size(); ++i) {
        if (i == gone) continue;
        least_before = std::min(least_before, before[i] / in.flows[i].share);
        least_after = std::min(least_after, after[i] / in.flows[i].share);
      }
      INFO(kind.name << " without " << gone);
      REQUIRE(least_after >= least_before * (1 - 1e-12));
    }
  });
}

TEST_CASE("every resource carries the bytes of its flows, no more and no less") {
  over_kinds([](const test::NetKind&, const Instance& in, std::uint64_t) {
    const auto solver = make_fast_solver(in.capacities);
    std::vector<double> carried(in.capacities.size(), 0), owed(in.capacities.size(), 0);
    std::vector<bool> live(in.flows.size(), true);
    for (std::uint32_t i = 0; i < in.flows.size(); ++i) {
      solver->start(FlowId(i), in.flows[i].spec());
      for (const Use& u : in.flows[i].uses) owed[u.resource.v] += u.weight * in.flows[i].work.si();
    }
    double now = 0;
    std::vector<FlowId> finished;
    for (Seconds t = solver->next_completion(); t < kForever; t = solver->next_completion()) {
      for (std::uint32_t i = 0; i < in.flows.size(); ++i)
        if (live[i])
          for (const Use& u : in.flows[i].uses)
            carried[u.resource.v] += u.weight * solver->rate(FlowId(i)).si() * (t.si() - now);
      now = t.si();
      finished.clear();
      solver->advance_to(t, finished);
      for (const FlowId f : finished) live[f.v] = false;
    }
    for (std::size_t r = 0; r < carried.size(); ++r) REQUIRE(carried[r] == Approx(owed[r]).epsilon(1e-11));
  });
}
