#include "schedules.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "random_net.hpp"

namespace test {

using namespace overlap;

namespace {

double stretched(Random& g, double x, double uneven) {
  return std::floor(x * (1 + uneven * g.unit()));
}

}  // namespace

std::uint32_t Schedule::flow(std::initializer_list<std::uint32_t> links, double bytes,
                             std::vector<std::uint32_t> after) {
  Flow f;
  for (const std::uint32_t l : links) f.uses.push_back({ResourceId(l), 1.0});
  f.work = Bytes(bytes);
  f.after = std::move(after);
  flows.push_back(std::move(f));
  return static_cast<std::uint32_t>(flows.size() - 1);
}

Schedule ring_schedule(std::uint32_t ranks, double uneven) {
  Schedule s;
  Random g{12345};
  for (std::uint32_t i = 0; i < ranks; ++i) s.capacities.emplace_back(stretched(g, 1e9, uneven));
  for (std::uint32_t step = 0; step + 1 < ranks; ++step)
    for (std::uint32_t i = 0; i < ranks; ++i)
      s.flow({i}, 1e9,
             step == 0 ? std::vector<std::uint32_t>{} : std::vector{(step - 1) * ranks + (i + ranks - 1) % ranks});
  return s;
}

Schedule switch_schedule(std::uint32_t ranks, double uneven, bool pairwise) {
  Schedule s;
  Random g{12345};
  s.capacities.assign(2 * std::size_t{ranks}, Bandwidth(1e9));
  for (std::uint32_t step = 1; step < ranks; ++step)
    for (std::uint32_t i = 0; i < ranks; ++i)
      s.flow({2 * i, 2 * ((i + step) % ranks) + 1}, stretched(g, 1e9, uneven),
             !pairwise || step == 1 ? std::vector<std::uint32_t>{} : std::vector{(step - 2) * ranks + i});
  return s;
}

Schedule numa_schedule(std::uint32_t times, double uneven) {
  Schedule s;
  Random g{12345};
  s.capacities.assign(16, Bandwidth(16e9));
  s.capacities.insert(s.capacities.end(), 2, Bandwidth(19.2e9));
  std::vector<std::vector<std::uint32_t>> before(8);
  for (std::uint32_t k = 0; k < times; ++k)
    for (std::uint32_t i = 0; i < 8; ++i) {
      std::vector<std::uint32_t> sends;
      for (std::uint32_t j = 0; j < 8; ++j) {
        if (i == j) continue;
        const double bytes = stretched(g, 1e9, uneven);
        sends.push_back(i / 4 == j / 4 ? s.flow({i, 8 + j}, bytes, before[i])
                                       : s.flow({i, 16 + i / 4, 8 + j}, bytes, before[i]));
      }
      before[i] = sends;
    }
  return s;
}

std::vector<double> replay(FlowSolver& solver, const Schedule& schedule) {
  std::vector<std::size_t> waits;
  std::vector<std::vector<std::uint32_t>> next(schedule.flows.size());
  for (std::uint32_t f = 0; f < schedule.flows.size(); ++f) {
    waits.push_back(schedule.flows[f].after.size());
    for (const std::uint32_t p : schedule.flows[f].after) next[p].push_back(f);
  }
  const auto start = [&](std::uint32_t f) {
    FlowSpec spec;
    spec.uses = schedule.flows[f].uses;
    spec.work = schedule.flows[f].work;
    solver.start(FlowId(f), spec);
  };
  for (std::uint32_t f = 0; f < waits.size(); ++f)
    if (waits[f] == 0) start(f);
  std::vector<double> ends(waits.size(), -1);
  std::vector<FlowId> finished;
  for (Seconds t = solver.next_completion(); t < kForever; t = solver.next_completion()) {
    finished.clear();
    solver.advance_to(t, finished);
    for (const FlowId f : finished) {
      ends[f.v] = t.si();
      for (const std::uint32_t n : next[f.v])
        if (--waits[n] == 0) start(n);
    }
  }
  return ends;
}

std::string checksum(const std::vector<double>& values) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const double v : values)
    for (int byte = 0; byte < 8; ++byte) {
      h ^= (std::bit_cast<std::uint64_t>(v) >> (8 * byte)) & 0xff;
      h *= 0x100000001b3ULL;
    }
  return fmt::format("{:016x}", h);
}

}  // namespace test
