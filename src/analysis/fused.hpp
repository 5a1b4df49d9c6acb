// A fused GEMM seen from its parts: when its tiles could run, and which wait held it up.
#pragma once

#include <vector>

#include "overlap/analysis.hpp"

namespace overlap {

// Date of a completion.
Seconds date_of(const Timeline& timeline, const Dep& d);

struct PartStep {
  PartId part;
  Seconds released;  // last of its waits; 0 without
  Seconds time;      // its share of the kernel's lone time
  Dep last;          // the wait that came last; op invalid without waits
};
// Parts in the order in which free workers take them.
std::vector<PartStep> part_steps(const RunView& run, OpId gemm);

// Time in which the kernel's workers had no tile to run, were its tiles as fast as alone; at most what its duration
// leaves beyond its lone time.
Seconds stall_of(const RunView& run, OpId gemm);

// Last wait that left the kernel idle on the way to the end of `until` (invalid: of the kernel); op invalid: none did.
Dep holding_wait(const RunView& run, OpId gemm, PartId until);

}  // namespace overlap
