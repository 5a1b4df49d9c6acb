// What each closed-form selector would have picked among the rows of a group, and what that costs.
#pragma once

#include <optional>
#include <string>

#include "sweep/group.hpp"

namespace overlap::sweep {

// The row that the selector's choice stands for. nullopt where the selector does not apply to the pattern or none of
// its candidates ran. Needs the metrics floor_us, kernel_us and communication_us of the baseline's row.
std::optional<std::size_t> pick_of(const std::string& selector, const Study& study, const Experiment& experiment,
                                   const Group& group);

struct SelectorScore {
  std::string name;
  std::uint64_t cases = 0;
  std::uint64_t hits = 0;   // the pick is within the tie margin of the best
  double regret_sum = 0.0;  // percent
  double regret_max = 0.0;  // percent
};

}  // namespace overlap::sweep
