// usage: bench_ours CASE N JIT [SECONDS]: replays one case on the fast solver and prints flow completions per second of
// process CPU time. SECONDS (default 0: once, cold) repeats it warm for at least so long; `plain` as a fifth argument
// takes the plain solver instead.
#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "engine/fast_solver.hpp"
#include "meter.hpp"
#include "replay.hpp"

namespace {

struct Measured {
  double makespan = 0;  // of the first run, from date 0
  double runs = 1;
  double seconds = 0;
};

template <class Solver>
Measured measure(bench::Replay& replay, Solver& solver, double seconds) {
  Measured m;
  double begin = bench::cpu_seconds();
  m.makespan = replay.run(solver, 0);
  m.seconds = bench::cpu_seconds() - begin;
  if (m.seconds >= seconds) return m;
  begin = bench::cpu_seconds();
  double now = m.makespan;
  m.runs = 0;
  do {
    now = replay.run(solver, now);
    m.runs += 1;
    m.seconds = bench::cpu_seconds() - begin;
  } while (m.seconds < seconds);
  return m;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const bench::Case c =
      bench::make_case(argv[1], static_cast<bench::Index>(std::atol(argv[2])), std::strtod(argv[3], nullptr));
  const double seconds = argc > 4 ? std::strtod(argv[4], nullptr) : 0;
  const bool plain = argc > 5 && std::string_view(argv[5]) == "plain";
  bench::Replay replay(c, plain);
  const auto capacities = replay.capacities();
  bench::reset_peak();
  const double before = bench::data_kb();
  overlap::fast::FastSolver solver(capacities);
  const auto other = overlap::make_plain_solver(capacities);
  const Measured m = plain ? measure(replay, *other, seconds) : measure(replay, solver, seconds);
  const double flows = static_cast<double>(c.flow_route.size());
  const auto& k = solver.counters();
  fmt::print(
      "{} {} n={} jit={} flows={} peak={} runs={} cpu={:.6f} flows/s={:.0f} makespan={:.12g} expected={:.12g} "
      "solver_kb={:.0f} solves={} evaluations={} splits={} moves={} refills={}\n",
      plain ? "plain" : "ours", argv[1], argv[2], argv[3], flows, replay.peak(), m.runs, m.seconds,
      m.runs * flows / m.seconds, m.makespan, c.expected, bench::peak_data_kb() - before, k.solves, k.evaluations,
      k.splits, k.moves, k.refills);
  return 0;
}
