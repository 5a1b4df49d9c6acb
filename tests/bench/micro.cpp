// What small things cost, by google-benchmark: on the fast solver a lone flow's life, and a completion with a new start
// in an all-to-all behind one switch; the time of one GEMM, all tile candidates tried.
// bench_micro --benchmark_repetitions=5
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "cost/gemm_plan.hpp"
#include "engine/fast_solver.hpp"
#include "overlap/config.hpp"

namespace {

using namespace overlap;

void lone_flow(benchmark::State& state) {
  const auto hops = static_cast<std::uint32_t>(state.range(0));
  const std::vector<Bandwidth> capacities(hops, Bandwidth(1e9));
  std::vector<Use> uses(hops);
  for (std::uint32_t i = 0; i < hops; ++i) uses[i].resource = ResourceId(i);
  fast::FastSolver solver(capacities);
  FlowSpec spec;
  spec.uses = uses;
  spec.work = Bytes(1e9);
  std::vector<FlowId> finished;
  for (auto _ : state) {
    solver.start(FlowId(0U), spec);
    finished.clear();
    solver.advance_to(solver.next_completion(), finished);
  }
}
BENCHMARK(lone_flow)->Arg(1)->Arg(2)->Arg(6);

// Every pair has one flow; a flow that ends starts again with another size.
void switch_event(benchmark::State& state) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const std::vector<Bandwidth> capacities(2 * std::size_t{ranks}, Bandwidth(1e9));
  std::vector<Use> uses;
  for (std::uint32_t i = 0; i < ranks; ++i)
    for (std::uint32_t j = 0; j < ranks; ++j) {
      uses.push_back({ResourceId(2 * i), 1.0});
      uses.push_back({ResourceId(2 * j + 1), 1.0});
    }
  fast::FastSolver solver(capacities);
  std::uint64_t random = 1;
  const auto start = [&](FlowId f) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    FlowSpec spec;
    spec.uses = std::span(uses).subspan(2 * f.index(), 2);
    spec.work = Bytes(1e6 * (1 + 0.1 * static_cast<double>(random >> 40) * 0x1.0p-24));
    solver.start(f, spec);
  };
  for (std::uint32_t f = 0; f < ranks * ranks; ++f) start(FlowId(f));
  std::vector<FlowId> finished;
  for (auto _ : state) {
    finished.clear();
    solver.advance_to(solver.next_completion(), finished);
    for (const FlowId f : finished) start(f);
  }
}
BENCHMARK(switch_event)->Arg(4)->Arg(8)->Arg(32);

// By the tile model alone, and beside the table of measured kernels. Target: under 50 us.
void gemm_query(benchmark::State& state) {
  Device d = load_device(OVERLAPSIM_DEVICE);
  if (state.range(0) == 0) d.gemm.kernels = nullptr;
  std::uint32_t m = 0;
  for (auto _ : state) {
    const GemmShape shape{512 + 8 * (m++ % 2048), 8192, 8192};
    benchmark::DoNotOptimize(cost::plan_tile({&d, shape, DType::bf16, DType::bf16, false, 0, {}, {}}).total);
  }
}
BENCHMARK(gemm_query)->ArgName("kernels")->Arg(0)->Arg(1);

}  // namespace

BENCHMARK_MAIN();
