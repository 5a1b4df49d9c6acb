// Tests on real GPUs; each skips, saying so, where there is none or too few.
#pragma once

#include <memory>
#include <string>

#include "catch.hpp"
#include "overlap/cuda.hpp"
#include "overlap/error.hpp"

namespace gpu_test {

using namespace overlap;

// Null with a warning when this machine cannot give `gpus` GPUs.
inline std::unique_ptr<GpuSession> open(std::uint32_t gpus) {
  try {
    GpuOptions options;
    options.gpus = gpus;
    return open_gpus(options);
  } catch (const InputError& e) {
    WARN("skipped: " << e.what());
    return nullptr;
  }
}

// GPUs that are there, at most two.
inline std::uint32_t available() {
  for (const std::uint32_t n : {2U, 1U}) {
    try {
      GpuOptions options;
      options.gpus = n;
      open_gpus(options);
      return n;
    } catch (const InputError&) {
      continue;
    }
  }
  return 0;
}

inline PlanOptions plan_options(const GpuSession& s) {
  PlanOptions o;
  o.sms = s.host().gpus[0].sms;
  return o;
}

inline constexpr double kBf16 = 1e-2;
inline constexpr double kF32 = 1e-3;

}  // namespace gpu_test
