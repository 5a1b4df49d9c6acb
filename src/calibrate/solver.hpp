// Robust least squares with bounds. Ceres does the work, in a module of its own (overlapsim_calibrate.so beside the
// program) that is loaded when a fit is asked for: nothing else links it, and a build without Ceres goes on.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace overlap::calibrate {

// Minimises sum rho(residual^2) + sum ((p - start) / prior)^2.
struct LeastSquares {
  std::vector<double> start, lower, upper;
  std::vector<double> prior;  // width of a Gaussian prior about `start`; 0 = none; empty = none at all
  std::size_t residuals = 0;
  std::function<void(std::span<const double> p, std::span<double> r)> evaluate;
  double loss = 0;     // residual beyond which a row counts linearly (Huber); 0 = plain squares
  double step = 1e-5;  // of numeric derivatives, times the size of the bounds
  int iterations = 60;
};

struct Solution {
  std::vector<double> p;
  std::vector<double> sigma;  // standard error, from the weighted Jacobian at p; 0 for a parameter at its bound
  double cost = 0;
  int iterations = 0;
};

// Throws InputError that names the package when the module is not there.
Solution solve(const LeastSquares& problem);
// Whether a fit is possible in this build.
bool solver_present();

using SolveFunction = void (*)(const LeastSquares&, Solution&);
inline constexpr const char* kSolveEntry = "overlapsim_solve";

}  // namespace overlap::calibrate
