// The plain solver: hand-solvable systems, then properties on random arrivals and departures.
#include <algorithm>
#include <map>
#include <numeric>

#include "catch.hpp"
#include "overlap/solver.hpp"

using namespace overlap;

namespace {

Approx near(double v) {
  return Approx(v).epsilon(1e-12);
}

// Deterministic numbers in [0, 1) and below n.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 1) {}
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(next() % n); }

 private:
  std::uint64_t next() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_;
  }
  std::uint64_t state_;
};

struct Arrival {
  double date = 0.0;
  std::vector<Use> uses;
  double share = 1.0;
  double cap = 1e300;
  double work = 1.0;
};
struct Case {
  std::vector<Bandwidth> capacities;
  std::vector<Arrival> arrivals;
};

Case random_case(std::uint64_t seed, std::uint32_t links, std::uint32_t flows) {
  Random r(seed);
  Case c;
  for (std::uint32_t l = 0; l < links; ++l) c.capacities.emplace_back(1.0 + 9.0 * r.uniform());
  double date = 0.0;
  for (std::uint32_t f = 0; f < flows; ++f) {
    Arrival a;
    if (r.below(3) != 0) date += r.uniform();
    a.date = date;
    const std::uint32_t hops = r.below(5);  // 0: a flow that is only limited by its cap
    for (std::uint32_t h = 0; h < hops; ++h) {
      const ResourceId link(r.below(links));
      const bool there = std::any_of(a.uses.begin(), a.uses.end(), [&](const Use& u) { return u.resource == link; });
      if (!there) a.uses.push_back({link, r.below(4) == 0 ? 2.0 : 1.0});
    }
    if (r.below(3) == 0) a.share = 0.5 + r.uniform();
    if (a.uses.empty() || r.below(3) == 0) a.cap = 0.5 + 2 * r.uniform();
    a.work = 1 + 5 * r.uniform();
    c.arrivals.push_back(a);
  }
  return c;
}

// Runs the case; `each_event` sees the solver and the live flows after every solve. Returns the end of each flow.
template <class Each>
std::vector<double> play(const Case& c, Each each_event) {
  const auto solver = make_plain_solver(c.capacities);
  std::vector<double> ends(c.arrivals.size(), -1);
  std::map<std::uint32_t, bool> live;
  std::vector<FlowId> finished;
  std::size_t next = 0;
  while (next < c.arrivals.size() || !live.empty()) {
    const double completion = solver->next_completion().si();
    const double arrival = next < c.arrivals.size() ? c.arrivals[next].date : 1e300;
    const double t = std::min(completion, arrival);
    finished.clear();
    solver->advance_to(Seconds(t), finished);
    for (const FlowId f : finished) {
      ends[f.index()] = t;
      live.erase(f.v);
    }
    for (; next < c.arrivals.size() && c.arrivals[next].date <= t; ++next) {
      const Arrival& a = c.arrivals[next];
      solver->start(FlowId(next), {a.uses, a.share, Bandwidth(a.cap), Bytes(a.work)});
      live[static_cast<std::uint32_t>(next)] = true;
    }
    each_event(*solver, live);
  }
  return ends;
}

std::vector<double> play(const Case& c) {
  return play(c, [](FlowSolver&, const std::map<std::uint32_t, bool>&) {});
}

}  // namespace

TEST_CASE("the tightest resource saturates first, the rest is shared by what is left") {
  const std::vector<Bandwidth> capacities{Bandwidth(10), Bandwidth(4)};
  const auto s = make_plain_solver(capacities);
  const std::vector<Use> both{{ResourceId(0U), 1}, {ResourceId(1U), 1}};
  const std::vector<Use> wide{{ResourceId(0U), 1}};
  const std::vector<Use> tight{{ResourceId(1U), 1}};
  s->start(FlowId(0U), {both, 1, Bandwidth(1e300), Bytes(100)});
  s->start(FlowId(1U), {wide, 1, Bandwidth(1e300), Bytes(100)});
  s->start(FlowId(2U), {tight, 1, Bandwidth(1e300), Bytes(100)});
  CHECK(s->rate(FlowId(0U)).si() == near(2));
  CHECK(s->rate(FlowId(1U)).si() == near(8));
  CHECK(s->rate(FlowId(2U)).si() == near(2));
}

TEST_CASE("cancel, caps and capacities change rates from their date on") {
  const std::vector<Bandwidth> capacities{Bandwidth(10)};
  const auto s = make_plain_solver(capacities);
  const std::vector<Use> link{{ResourceId(0U), 1}};
  std::vector<FlowId> finished;
  s->start(FlowId(0U), {link, 1, Bandwidth(1e300), Bytes(100)});
  s->start(FlowId(1U), {link, 1, Bandwidth(1e300), Bytes(100)});
  s->advance_to(Seconds(2), finished);
  CHECK(s->remaining(FlowId(0U)).si() == near(90));
  s->set_cap(FlowId(0U), Bandwidth(1));
  s->advance_to(Seconds(4), finished);
  CHECK(s->remaining(FlowId(0U)).si() == near(88));
  CHECK(s->remaining(FlowId(1U)).si() == near(90 - 18));
  s->set_capacity(ResourceId(0U), Bandwidth(5));
  CHECK(s->rate(FlowId(1U)).si() == near(4));
  CHECK(s->cancel(FlowId(0U)).si() == near(88));
  CHECK(s->next_completion().si() == near(4 + 72.0 / 5));
  CHECK(finished.empty());
  s->set_capacity(ResourceId(0U), Bandwidth(0));
  CHECK(s->next_completion().si() >= 1e200);
}

TEST_CASE("completions at one date are one batch, in order of id") {
  const std::vector<Bandwidth> capacities{Bandwidth(3), Bandwidth(7)};
  const auto s = make_plain_solver(capacities);
  const std::vector<Use> a{{ResourceId(0U), 1}};
  const std::vector<Use> b{{ResourceId(1U), 1}};
  s->start(FlowId(2U), {a, 1, Bandwidth(1e300), Bytes(0.3)});
  s->start(FlowId(0U), {b, 1, Bandwidth(1e300), Bytes(0.7)});
  s->start(FlowId(1U), {{}, 1, Bandwidth(1), Bytes(0.1)});
  std::vector<FlowId> finished;
  s->advance_to(s->next_completion(), finished);
  CHECK(finished == std::vector<FlowId>{FlowId(0U), FlowId(1U), FlowId(2U)});
  CHECK(s->next_completion() == kForever);
}

TEST_CASE("the certificate finds what is wrong") {
  const std::vector<Bandwidth> capacities{Bandwidth(10)};
  const std::vector<Use> link{{ResourceId(0U), 1}};
  const auto flow = [&](std::uint32_t id, double rate, double cap) {
    return RatedFlow{FlowId(id), link, 1.0, Bandwidth(cap), Bandwidth(rate)};
  };
  const auto verdict = [&](std::vector<RatedFlow> flows) { return certificate_violation(capacities, flows); };
  CHECK(verdict({flow(0, 5, 1e300), flow(1, 5, 1e300)}).empty());
  CHECK(verdict({flow(0, 2, 2), flow(1, 8, 1e300)}).empty());
  CHECK(verdict({flow(0, 4, 1e300), flow(1, 6, 1e300)}).find("flow 0") == 0);
  CHECK(verdict({flow(0, 6, 1e300), flow(1, 6, 1e300)}).find("resource 0") == 0);
  CHECK(verdict({flow(0, 3, 2), flow(1, 7, 1e300)}).find("flow 0 runs at") == 0);
  CHECK(verdict({flow(0, 4, 1e300), flow(1, 4, 1e300)}).find("flow 0") == 0);
}

TEST_CASE("certificate after every event of random arrivals and departures; every flow ends") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Case c = random_case(seed, 6, 80);
    std::size_t violations = 0;
    std::string first;
    const auto ends = play(c, [&](FlowSolver& s, const std::map<std::uint32_t, bool>& live) {
      std::vector<RatedFlow> rated;
      for (const auto& [f, unused] : live) {
        const Arrival& a = c.arrivals[f];
        rated.push_back({FlowId(f), a.uses, a.share, Bandwidth(a.cap), s.rate(FlowId(f))});
      }
      const std::string violation = certificate_violation(c.capacities, rated, 1e-10);
      violations += violation.empty() ? 0U : 1U;
      if (first.empty()) first = violation;
    });
    INFO("seed " << seed << ": " << first);
    CHECK(violations == 0);
    CHECK(std::all_of(ends.begin(), ends.end(), [](double e) { return e > 0; }));
  }
}

TEST_CASE("work is conserved: the integral of each rate is the flow's work") {
  const Case c = random_case(7, 5, 60);
  std::vector<double> carried(c.arrivals.size(), 0.0);
  const auto solver = make_plain_solver(c.capacities);
  for (std::size_t f = 0; f < c.arrivals.size(); ++f) {
    const Arrival& a = c.arrivals[f];
    solver->start(FlowId(f), {a.uses, a.share, Bandwidth(a.cap), Bytes(a.work)});
  }
  std::vector<FlowId> live;
  for (std::size_t f = 0; f < c.arrivals.size(); ++f) live.emplace_back(f);
  double now = 0.0;
  while (!live.empty()) {
    const double t = solver->next_completion().si();
    for (const FlowId f : live) carried[f.index()] += solver->rate(f).si() * (t - now);
    std::vector<FlowId> finished;
    solver->advance_to(Seconds(t), finished);
    for (const FlowId f : finished) std::erase(live, f);
    now = t;
  }
  for (std::size_t f = 0; f < carried.size(); ++f) CHECK(carried[f] == Approx(c.arrivals[f].work).epsilon(1e-11));
}

TEST_CASE("scale: sizes and capacities x k leave the dates alone") {
  Case c = random_case(11, 6, 80);
  const auto before = play(c);
  const double k = 1024.0;
  for (Bandwidth& b : c.capacities) b *= k;
  for (Arrival& a : c.arrivals) {
    a.work *= k;
    a.cap *= k;
  }
  CHECK(play(c) == before);  // a power of two: to the bit
}

TEST_CASE("relabelling flows and links changes nothing") {
  const Case c = random_case(12, 6, 20);
  Case other = c;
  const std::vector<std::uint32_t> place{3, 5, 0, 1, 4, 2};
  for (std::uint32_t l = 0; l < 6; ++l) other.capacities[place[l]] = c.capacities[l];
  for (Arrival& a : other.arrivals) {
    for (Use& u : a.uses) u.resource = ResourceId(place[u.resource.index()]);
    std::reverse(a.uses.begin(), a.uses.end());
  }
  const auto a = play(c);
  const auto b = play(other);
  for (std::size_t f = 0; f < a.size(); ++f) CHECK(b[f] == Approx(a[f]).epsilon(1e-9));
}

TEST_CASE("twins merge: one flow of twice the share, cap and work ends when its halves do") {
  Case c = random_case(13, 5, 20);
  Case merged = c;
  Arrival twin = c.arrivals[4];
  c.arrivals.insert(c.arrivals.begin() + 5, twin);
  merged.arrivals[4].share *= 2;
  merged.arrivals[4].cap *= 2;
  merged.arrivals[4].work *= 2;
  const auto two = play(c);
  const auto one = play(merged);
  CHECK(two[4] == two[5]);
  for (std::size_t f = 0; f < one.size(); ++f) CHECK(two[f < 5 ? f : f + 1] == Approx(one[f]).epsilon(1e-9));
}

TEST_CASE("a link cut in two in a row changes nothing") {
  Case c = random_case(14, 5, 20);
  const auto before = play(c);
  c.capacities.push_back(c.capacities[2]);
  for (Arrival& a : c.arrivals) {
    const bool there = std::any_of(a.uses.begin(), a.uses.end(), [](const Use& u) { return u.resource.v == 2; });
    if (there) {
      const auto it = std::find_if(a.uses.begin(), a.uses.end(), [](const Use& u) { return u.resource.v == 2; });
      a.uses.push_back({ResourceId(5U), it->weight});
    }
  }
  const auto after = play(c);
  for (std::size_t f = 0; f < after.size(); ++f) CHECK(after[f] == Approx(before[f]).epsilon(1e-9));
}

TEST_CASE("the smallest rate never falls when a flow leaves") {
  Random r(15);
  for (int trial = 0; trial < 50; ++trial) {
    const Case c = random_case(100 + static_cast<std::uint64_t>(trial), 5, 15);
    const auto smallest = [&](std::size_t without) {
      const auto s = make_plain_solver(c.capacities);
      for (std::size_t f = 0; f < c.arrivals.size(); ++f) {
        if (f != without) s->start(FlowId(f), {c.arrivals[f].uses, 1.0, Bandwidth(1e30), Bytes(1)});
      }
      double least = 1e300;
      for (std::size_t f = 0; f < c.arrivals.size(); ++f) {
        if (f != without) least = std::min(least, s->rate(FlowId(f)).si());
      }
      return least;
    };
    CHECK(smallest(r.below(15)) >= smallest(99) * (1 - 1e-12));
  }
}
