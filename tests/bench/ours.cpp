// usage: bench_ours CASE N JIT [SECONDS]: replays one case on the fast solver and prints flow completions per second of
// process CPU time. SECONDS (default 0: once, cold) repeats it warm for at least so long.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "engine/fast_solver.hpp"
#include "replay.hpp"

namespace {

double cpu() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const bench::Case c =
      bench::make_case(argv[1], static_cast<bench::Index>(std::atol(argv[2])), std::strtod(argv[3], nullptr));
  const double seconds = argc > 4 ? std::strtod(argv[4], nullptr) : 0;
  bench::Replay replay(c);
  overlap::fast::FastSolver solver(replay.capacities());
  double begin = cpu();
  const double makespan = replay.run(solver, 0);
  double spent = cpu() - begin;
  double runs = 1;
  if (spent < seconds) {
    begin = cpu();
    double now = makespan;
    for (runs = 0; spent < seconds || runs == 0; spent = cpu() - begin, ++runs) now = replay.run(solver, now);
  }
  const double flows = static_cast<double>(c.flow_route.size());
  const auto& k = solver.counters();
  fmt::print(
      "ours {} n={} jit={} flows={} peak={} runs={} cpu={:.6f} flows/s={:.0f} makespan={:.12g} expected={:.12g} "
      "solves={} evaluations={} splits={} moves={} refills={}\n",
      argv[1], argv[2], argv[3], flows, replay.peak(), runs, spent, runs * flows / spent, makespan, c.expected,
      k.solves, k.evaluations, k.splits, k.moves, k.refills);
  return 0;
}
