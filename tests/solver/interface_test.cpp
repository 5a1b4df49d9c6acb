// The interface, by hand-solvable cases.
#include "catch.hpp"
#include "overlap/solver.hpp"

using namespace overlap;
using namespace overlap::literals;

namespace {

const std::vector<Use> kFirst{{ResourceId(0U), 1.0}};
const std::vector<Use> kSecond{{ResourceId(1U), 1.0}};
const std::vector<Use> kBoth{{ResourceId(0U), 1.0}, {ResourceId(1U), 1.0}};

FlowSpec spec(const std::vector<Use>& uses, double gigabytes, double share = 1, Bandwidth cap = Bandwidth(1e300)) {
  return {uses, share, cap, Bytes(gigabytes * 1e9)};
}

double gbps(FlowSolver& s, std::uint32_t id) {
  return s.rate(FlowId(id)).si() / 1e9;
}

std::vector<FlowId> step(FlowSolver& s) {
  std::vector<FlowId> out;
  s.advance_to(s.next_completion(), out);
  return out;
}

}  // namespace

TEST_CASE("nothing live: no completion") {
  const std::vector<Bandwidth> c{10_GBps};
  const auto s = make_fast_solver(c);
  CHECK(s->next_completion() == kForever);
}

TEST_CASE("shares divide, consumption weights do not") {
  const std::vector<Bandwidth> c{12_GBps, 12_GBps};
  const auto s = make_fast_solver(c);
  s->start(FlowId(0U), spec(kFirst, 1, 2));
  s->start(FlowId(1U), spec(kFirst, 1, 1));
  CHECK(gbps(*s, 0) == Approx(8));
  CHECK(gbps(*s, 1) == Approx(4));
  const std::vector<Use> hungry{{ResourceId(1U), 2.0}};  // reads and writes: takes twice its rate
  s->start(FlowId(2U), spec(hungry, 1));
  s->start(FlowId(3U), spec(kSecond, 1));
  CHECK(gbps(*s, 2) == Approx(4));
  CHECK(gbps(*s, 3) == Approx(4));
}

TEST_CASE("physical rates, not normalised progress: two on 10 GB/s, one held to 5 elsewhere, get 5 and 5") {
  const std::vector<Bandwidth> c{10_GBps, 5_GBps};
  const auto s = make_fast_solver(c);
  s->start(FlowId(0U), spec(kFirst, 1));
  s->start(FlowId(1U), spec(kBoth, 1));
  CHECK(gbps(*s, 0) == Approx(5));
  CHECK(gbps(*s, 1) == Approx(5));
}

TEST_CASE("caps: the rest is shared by the others; all capped leaves room; a changed cap acts at once") {
  const std::vector<Bandwidth> c{10_GBps};
  const auto s = make_fast_solver(c);
  s->start(FlowId(0U), spec(kFirst, 1, 1, 2_GBps));
  s->start(FlowId(1U), spec(kFirst, 1));
  CHECK(gbps(*s, 0) == Approx(2));
  CHECK(gbps(*s, 1) == Approx(8));
  s->set_cap(FlowId(1U), 3_GBps);
  CHECK(gbps(*s, 0) == Approx(2));
  CHECK(gbps(*s, 1) == Approx(3));
  s->set_cap(FlowId(0U), Bandwidth(1e300));
  CHECK(gbps(*s, 0) == Approx(7));
  s->set_cap(FlowId(1U), Bandwidth(1e300));
  CHECK(gbps(*s, 0) == Approx(5));
  CHECK(gbps(*s, 1) == Approx(5));
}

TEST_CASE("a flow without uses runs at its cap") {
  const std::vector<Bandwidth> c{10_GBps};
  const auto s = make_fast_solver(c);
  s->start(FlowId(7U), spec({}, 4, 1, 2_GBps));
  CHECK(s->next_completion().si() == Approx(2));
  CHECK(step(*s) == std::vector{FlowId(7U)});
  CHECK(s->next_completion() == kForever);
}

TEST_CASE("half duplex: both directions use one resource and share it") {
  const std::vector<Bandwidth> c{10_GBps, 10_GBps, 10_GBps};
  const std::vector<Use> there{{ResourceId(0U), 1.0}, {ResourceId(2U), 1.0}};
  const std::vector<Use> back{{ResourceId(1U), 1.0}, {ResourceId(2U), 1.0}};
  const auto s = make_fast_solver(c);
  s->start(FlowId(0U), spec(there, 5));
  s->start(FlowId(1U), spec(back, 5));
  CHECK(s->next_completion().si() == Approx(1));
  CHECK(step(*s) == std::vector{FlowId(0U), FlowId(1U)});
}

TEST_CASE("a resource used twice by one flow counts twice") {
  const std::vector<Bandwidth> c{12_GBps};
  const std::vector<Use> local{{ResourceId(0U), 1.0}, {ResourceId(0U), 1.0}};  // read and write of one memory
  const auto s = make_fast_solver(c);
  s->start(FlowId(0U), spec(local, 6));
  CHECK(gbps(*s, 0) == Approx(6));
  s->start(FlowId(1U), spec(kFirst, 6));
  CHECK(gbps(*s, 0) == Approx(4));
  CHECK(gbps(*s, 1) == Approx(4));
  CHECK(step(*s) == std::vector{FlowId(0U), FlowId(1U)});
}

TEST_CASE("capacity changes and cancellation act from the current date") {
  const std::vector<Bandwidth> c{10_GBps};
  const auto s = make_fast_solver(c);
  std::vector<FlowId> none;
  s->start(FlowId(0U), spec(kFirst, 10));
  s->start(FlowId(1U), spec(kFirst, 10));
  s->advance_to(1_s, none);
  CHECK(none.empty());
  CHECK(s->remaining(FlowId(0U)).si() == Approx(5e9));
  s->set_capacity(ResourceId(0U), 4_GBps);
  CHECK(gbps(*s, 0) == Approx(2));
  CHECK(s->cancel(FlowId(1U)).si() == Approx(5e9));
  CHECK(gbps(*s, 0) == Approx(4));
  CHECK(s->next_completion().si() == Approx(2.25));
  s->set_capacity(ResourceId(0U), Bandwidth(0));
  CHECK(s->next_completion() == kForever);
  s->set_capacity(ResourceId(0U), 5_GBps);
  CHECK(s->next_completion().si() == Approx(2));
  CHECK(step(*s) == std::vector{FlowId(0U)});
}

TEST_CASE("a flow cancelled before any solve leaves no trace; its id is free again") {
  const std::vector<Bandwidth> c{10_GBps};
  const auto s = make_fast_solver(c);
  s->start(FlowId(0U), spec(kFirst, 10));
  s->start(FlowId(1U), spec(kFirst, 10));
  CHECK(s->cancel(FlowId(1U)).si() == 10e9);
  CHECK(s->next_completion().si() == Approx(1));
  s->start(FlowId(1U), spec(kFirst, 2));
  CHECK(s->next_completion().si() == Approx(0.4));
}

TEST_CASE("completions within 1e-12 of one date form one batch, in increasing id") {
  const std::vector<Bandwidth> c{1_GBps, 1_GBps, 1_GBps};
  const auto s = make_fast_solver(c);
  const std::vector<Use> third{{ResourceId(2U), 1.0}};
  s->start(FlowId(2U), spec(kFirst, 1));
  s->start(FlowId(1U), spec(kSecond, 1 + 1e-13));
  s->start(FlowId(0U), spec(third, 1 + 1e-9));
  CHECK(step(*s) == std::vector{FlowId(1U), FlowId(2U)});
  CHECK(step(*s) == std::vector{FlowId(0U)});
}
