#include "boxes.hpp"
#include "catch.hpp"

using namespace overlap;
using namespace families;

namespace {

// One pattern with even and with ragged shapes; returns false where the schedule refused all.
bool check_one(const ScheduleInfo& info, const Box& box, Pattern p, const Given& given,
               std::vector<std::uint32_t> tps) {
  int runs = 0;
  int refused = 0;
  for (const std::uint32_t tp : tps) {
    for (const std::uint32_t ragged : {0U, 3U}) {
      const Workload w = layer(p, 4 * tp + ragged, 2 * tp + ragged, tp + ragged, tp);
      const auto found = problems(info.name, box, w, given, &refused);
      ++runs;
      INFO(to_text(p) << " tp " << tp << " tokens " << w.tokens << " in " << w.in << " out " << w.out);
      for (const std::string& text : found) UNSCOPED_INFO(text);
      REQUIRE(found.empty());
    }
  }
  return refused < runs;
}

}  // namespace

TEST_CASE("schedules are well formed, free of races and right, over their search space") {
  const Box numa = numa_box(50, 20, 10);
  const Box full = mesh(6);
  const Box sw = switched(8);
  for (const char* name : {"hierarchical", "collectives", "flux", "tile_signal", "async_tp", "domino", "wave_groups",
                           "x_stage", "bulk", "compressed", "distributed_gemm"}) {
    const ScheduleInfo& info = find_schedule(name);
    for (const Pattern p : info.patterns) {
      bool ran = check_one(info, numa, p, {}, {1, 2, 4, 8});
      ran = check_one(info, full, p, {}, {3, 6}) || ran;
      ran = check_one(info, sw, p, {}, {8}) || ran;
      for (const Given& given : search_space(info)) {
        ran = check_one(info, name == std::string_view("collectives") ? sw : numa, p, given,
                        {std::string_view(name) == "hierarchical" ? 8U : 4U}) ||
              ran;
      }
      CHECK(ran);
    }
  }
}
