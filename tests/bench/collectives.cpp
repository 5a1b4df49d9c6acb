// usage: bench_collectives WHAT RANKS CHUNKS UNEVEN: collectives of many ranks, generated step by step as an engine
// would, on the fast solver. Prints CPU seconds, seconds a message and the peak resident memory of the process.
//   ring         all-reduce on a ring: 2 (P-1) steps; a rank sends step s+1 of a chunk once it has sent and received
//   step s direct       all-to-all behind one switch, every message at once pairwise     the same in pairwise-exchange
//   order: the chunks of the next partner once those of this one have left chains       the same, each chunk in an
//   order of its own
// UNEVEN 0.1: sizes +-10 %.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "engine/fast_solver.hpp"
#include "meter.hpp"

namespace {

using namespace overlap;
using Index = std::uint32_t;

// +-uneven around 100 MB, the same for a message whatever the order (splitmix64 of its number).
Bytes message_size(std::uint64_t number, double uneven) {
  std::uint64_t z = (number + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  const double unit = static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
  return Bytes(1e8 * (1 + uneven * (2 * unit - 1)));
}

struct Outcome {
  double messages = 0;
  double makespan = 0;
  fast::Counters counters;
};

template <class OnEnd>
Outcome drain(fast::FastSolver& solver, OnEnd on_end) {
  Outcome out;
  std::vector<FlowId> finished;
  for (Seconds t = solver.next_completion(); t < kForever; t = solver.next_completion()) {
    finished.clear();
    solver.advance_to(t, finished);
    out.messages += static_cast<double>(finished.size());
    out.makespan = t.si();
    for (const FlowId f : finished) on_end(f.v);
  }
  out.counters = solver.counters();
  return out;
}

void start(fast::FastSolver& solver, Index id, std::span<const Use> route, Bytes size) {
  FlowSpec spec;
  spec.uses = route;
  spec.work = size;
  solver.start(FlowId(id), spec);
}

Outcome ring(Index ranks, Index chunks, double uneven) {
  const std::vector<Bandwidth> capacities(ranks, Bandwidth(1e9));
  fast::FastSolver solver(capacities);
  std::vector<Use> route(ranks);
  for (Index i = 0; i < ranks; ++i) route[i].resource = ResourceId(i);
  const Index steps = 2 * (ranks - 1);
  std::vector<Index> sent(ranks * chunks, 0), got(ranks * chunks, 0);  // steps done
  std::vector<bool> sending(ranks * chunks, false);
  const auto send = [&](Index r, Index c) {
    const Index k = r * chunks + c;
    if (sending[k] || sent[k] == steps || got[k] < sent[k]) return;
    sending[k] = true;
    start(solver, k, {&route[r], 1}, message_size(std::uint64_t{sent[k]} * ranks * chunks + k, uneven));
  };
  for (Index r = 0; r < ranks; ++r)
    for (Index c = 0; c < chunks; ++c) send(r, c);
  return drain(solver, [&](Index k) {
    const Index r = k / chunks, c = k % chunks, next = r + 1 == ranks ? 0 : r + 1;
    sending[k] = false;
    ++sent[k];
    ++got[next * chunks + c];
    send(r, c);
    send(next, c);
  });
}

struct Switch {
  Index ranks;
  std::vector<Bandwidth> capacities;
  std::vector<Use> routes;  // of (i, j): two uses
  explicit Switch(Index p) : ranks(p), capacities(2 * p, Bandwidth(1e9)), routes(2 * std::size_t{p} * p) {
    for (Index i = 0; i < p; ++i)
      for (Index j = 0; j < p; ++j) {
        routes[2 * (std::size_t{i} * p + j)].resource = ResourceId(2 * i);
        routes[2 * (std::size_t{i} * p + j) + 1].resource = ResourceId(2 * j + 1);
      }
  }
  [[nodiscard]] std::span<const Use> route(Index i, Index j) const {
    return {&routes[2 * (std::size_t{i} * ranks + j)], 2};
  }
};

Outcome direct(Index ranks, Index chunks, double uneven) {
  const Switch net(ranks);
  fast::FastSolver solver(net.capacities);
  Index id = 0;
  for (Index s = 1; s < ranks; ++s)
    for (Index i = 0; i < ranks; ++i)
      for (Index c = 0; c < chunks; ++c, ++id)
        start(solver, id, net.route(i, (i + s) % ranks), message_size(id, uneven));
  return drain(solver, [](Index) {});
}

// One flow id a (rank, chunk). `together`: chunks of a rank wait for one another before the next partner.
Outcome pairwise(Index ranks, Index chunks, double uneven, bool together) {
  const std::vector<Bandwidth> capacities(2 * ranks, Bandwidth(1e9));
  fast::FastSolver solver(capacities);
  std::vector<std::array<Use, 2>> route(ranks * chunks);  // a table of all pairs would be the largest thing touched
  std::vector<Index> partner(ranks * chunks, 0), ended(ranks, 0);
  const auto send = [&](Index k) {
    if (++partner[k] == ranks) return;
    const Index i = k / chunks;
    route[k][0].resource = ResourceId(2 * i);
    route[k][1].resource = ResourceId(2 * ((i + partner[k]) % ranks) + 1);
    start(solver, k, route[k], message_size(std::uint64_t{partner[k]} * ranks * chunks + k, uneven));
  };
  for (Index k = 0; k < ranks * chunks; ++k) send(k);
  return drain(solver, [&](Index k) {
    if (!together) return send(k);
    const Index i = k / chunks;
    if (++ended[i] < chunks) return;
    ended[i] = 0;
    for (Index c = 0; c < chunks; ++c) send(i * chunks + c);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::string_view what = argv[1];
  const auto ranks = static_cast<Index>(std::atol(argv[2]));
  const auto chunks = static_cast<Index>(std::atol(argv[3]));
  const double uneven = std::strtod(argv[4], nullptr);
  const double empty = bench::status_kb("VmHWM") / 1024;
  const double begin = bench::cpu_seconds();
  Outcome out;
  if (what == "ring")
    out = ring(ranks, chunks, uneven);
  else if (what == "direct")
    out = direct(ranks, chunks, uneven);
  else if (what == "pairwise" || what == "chains")
    out = pairwise(ranks, chunks, uneven, what == "pairwise");
  else
    return 2;
  const double spent = bench::cpu_seconds() - begin;
  fmt::print(
      "{} ranks={} chunks={} uneven={} messages={:.0f} cpu={:.3f} ns/message={:.1f} rss_mb={:.0f} empty_mb={:.0f} "
      "makespan={:.12g} solves={} evaluations={} splits={} moves={} refills={}\n",
      what, ranks, chunks, uneven, out.messages, spent, 1e9 * spent / out.messages, bench::status_kb("VmHWM") / 1024,
      empty, out.makespan, out.counters.solves, out.counters.evaluations, out.counters.splits, out.counters.moves,
      out.counters.refills);
  return 0;
}
