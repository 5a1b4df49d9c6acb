// How well the closed-form selectors pick: against the simulated best among the settings that each may pick, over the
// layers of an experiment. Knows the simulated times of every setting; a selector is given only its own inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "overlap/config.hpp"
#include "overlap/select.hpp"

namespace overlap {

struct StudyOptions {
  std::vector<double> machine_times{1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 1.0};  // s; FiCCO's threshold
  std::vector<double> mults{1.0, 2.0, 3.0};                                          // XLA's gate
  std::function<void(std::size_t done, std::size_t total)> progress{};
};

// One selector on one layer.
struct Pick {
  std::size_t layer = 0;
  std::string picked;
  std::string best;
  Seconds picked_time;
  Seconds best_time;
  Decision decision;
  [[nodiscard]] double regret() const { return picked_time / best_time - 1.0; }
};

struct SelectorScore {
  std::string selector;  // "compass", "ficco-tree machine_time=1 ms"
  std::vector<Pick> picks;
  [[nodiscard]] double top1() const;  // share of layers with the best picked (1e-9)
  [[nodiscard]] double mean_regret() const;
  [[nodiscard]] double max_regret() const;
  [[nodiscard]] const Pick* worst() const;  // null without picks
};

struct SelectorStudy {
  std::vector<std::string> layers;
  CompassCalibration calibration;  // fitted on every fourth layer
  std::vector<SelectorScore> scores;
};
[[nodiscard]] SelectorStudy study_selectors(const Experiment& experiment, const StudyOptions& options);

}  // namespace overlap
