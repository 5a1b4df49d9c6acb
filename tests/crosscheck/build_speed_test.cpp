// Building must stay linear: cost an op does not grow with the graph.
#include <ctime>

#include "catch.hpp"
#include "machines.hpp"

using namespace crosscheck;

TEST_CASE("building a graph costs a bounded number of allocations and time an op") {
  const std::uint32_t ranks = 8;
  const Topology t = mesh(ranks, Bandwidth(1e9));
  const std::vector<Device> devices = ideal_devices(ranks);
  const ScheduleInfo& info = find_schedule("interdecom");
  const auto seconds_per_op = [&](std::int64_t d) {
    const Workload w = layer(Pattern::ag_gemm, ranks, 8 * 4096, 64, 64);
    const Params params = complete_params(info, {{"d", d}});
    const std::clock_t start = std::clock();
    const OpGraph g = build_layer(info, {w, t, devices, params});
    CHECK(g.ops().size() == static_cast<std::size_t>(d) * (56 + 8));
    return double(std::clock() - start) / CLOCKS_PER_SEC / double(g.ops().size());
  };
  double small = 1;
  double large = 1;
  for (int i = 0; i < 3; ++i) {
    small = std::min(small, seconds_per_op(256));
    large = std::min(large, seconds_per_op(4096));
  }
  WARN("building: " << large * 1e9 << " ns an op at 262144 ops");
  CHECK(large < 6 * small + 1e-7);
}
