// The half of the solver that Ceres compiles: no other file of the project includes its headers.
#include <ceres/ceres.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "calibrate/solver.hpp"

namespace overlap::calibrate {
namespace {

// All residuals and derivatives at once, before Ceres asks for them row by row.
class Rows final : public ceres::EvaluationCallback {
 public:
  Rows(const LeastSquares& problem, const double* p) : problem_(problem), p_(p), n_(problem.start.size()) {
    value_.resize(problem.residuals);
    moved_.resize(problem.residuals);
    jacobian_.resize(problem.residuals * n_);
  }
  void PrepareForEvaluation(bool jacobians, bool fresh) override {
    if (fresh || !valid_) {
      problem_.evaluate({p_, n_}, value_);
      differentiated_ = false;
      valid_ = true;
    }
    if (jacobians && !differentiated_) differentiate();
  }
  [[nodiscard]] double value(std::size_t row) const { return value_[row]; }
  [[nodiscard]] const double* gradient(std::size_t row) const { return &jacobian_[row * n_]; }

 private:
  void differentiate() {
    std::vector<double> q(p_, p_ + n_);
    for (std::size_t i = 0; i < n_; ++i) {
      const double room = problem_.upper[i] - problem_.lower[i];
      double h = problem_.step * room;
      if (q[i] + h > problem_.upper[i]) h = -h;
      q[i] = p_[i] + h;
      problem_.evaluate(q, moved_);
      q[i] = p_[i];
      for (std::size_t r = 0; r < value_.size(); ++r) jacobian_[r * n_ + i] = (moved_[r] - value_[r]) / h;
    }
    differentiated_ = true;
  }

  const LeastSquares& problem_;
  const double* p_;
  std::size_t n_;
  std::vector<double> value_, moved_, jacobian_;
  bool valid_ = false, differentiated_ = false;
};

class Row final : public ceres::CostFunction {
 public:
  Row(const Rows& rows, std::size_t row, std::size_t n) : rows_(rows), row_(row), n_(n) {
    set_num_residuals(1);
    mutable_parameter_block_sizes()->push_back(static_cast<int>(n));
  }
  bool Evaluate(double const* const*, double* residual, double** jacobian) const override {
    residual[0] = rows_.value(row_);
    if (jacobian != nullptr && jacobian[0] != nullptr) std::copy_n(rows_.gradient(row_), n_, jacobian[0]);
    return std::isfinite(residual[0]);
  }

 private:
  const Rows& rows_;
  std::size_t row_, n_;
};

class Prior final : public ceres::CostFunction {
 public:
  explicit Prior(const LeastSquares& problem) : problem_(problem) {
    set_num_residuals(static_cast<int>(problem.start.size()));
    mutable_parameter_block_sizes()->push_back(static_cast<int>(problem.start.size()));
  }
  [[nodiscard]] double weight(std::size_t i) const { return problem_.prior[i] > 0 ? 1 / problem_.prior[i] : 0; }
  bool Evaluate(double const* const* p, double* residual, double** jacobian) const override {
    const std::size_t n = problem_.start.size();
    for (std::size_t i = 0; i < n; ++i) residual[i] = weight(i) * (p[0][i] - problem_.start[i]);
    if (jacobian == nullptr || jacobian[0] == nullptr) return true;
    std::fill_n(jacobian[0], n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) jacobian[0][i * n + i] = weight(i);
    return true;
  }

 private:
  const LeastSquares& problem_;
};

// Covariance of an M-estimate: s^2 (J' W J + P)^-1, s^2 the weighted mean square of what is left.
void errors(const LeastSquares& problem, const Rows& rows, Solution& s) {
  const auto n = static_cast<Eigen::Index>(problem.start.size());
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(n, n);
  double square = 0, weight = 0;
  for (std::size_t r = 0; r < problem.residuals; ++r) {
    const double size = std::abs(rows.value(r));
    const double w = problem.loss > 0 && size > problem.loss ? problem.loss / size : 1.0;
    const Eigen::Map<const Eigen::VectorXd> g(rows.gradient(r), n);
    normal += w * g * g.transpose();
    square += w * size * size;
    weight += w;
  }
  const double variance = square / std::max(1.0, weight - static_cast<double>(n));
  std::vector<bool> fixed(problem.start.size());
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (!problem.prior.empty() && problem.prior[k] > 0) {
      normal(i, i) += variance / (problem.prior[k] * problem.prior[k]);
    }
    const double room = problem.upper[k] - problem.lower[k];
    fixed[k] = s.p[k] <= problem.lower[k] + 1e-9 * room || s.p[k] >= problem.upper[k] - 1e-9 * room;
    if (!fixed[k]) continue;
    normal.row(i).setZero();
    normal.col(i).setZero();
    normal(i, i) = 1;
  }
  const Eigen::MatrixXd inverse = normal.completeOrthogonalDecomposition().pseudoInverse();
  s.sigma.assign(problem.start.size(), 0.0);
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (!fixed[k]) s.sigma[k] = std::sqrt(std::max(0.0, inverse(i, i) * variance));
  }
}

void run(const LeastSquares& problem, Solution& s) {
  const std::size_t n = problem.start.size();
  s.p = problem.start;
  Rows rows(problem, s.p.data());
  ceres::Problem::Options owner;
  owner.evaluation_callback = &rows;
  ceres::Problem ceres_problem(owner);
  for (std::size_t r = 0; r < problem.residuals; ++r) {
    ceres::LossFunction* loss = problem.loss > 0 ? new ceres::HuberLoss(problem.loss) : nullptr;
    ceres_problem.AddResidualBlock(new Row(rows, r, n), loss, s.p.data());
  }
  if (!problem.prior.empty()) ceres_problem.AddResidualBlock(new Prior(problem), nullptr, s.p.data());
  for (std::size_t i = 0; i < n; ++i) {
    ceres_problem.SetParameterLowerBound(s.p.data(), static_cast<int>(i), problem.lower[i]);
    ceres_problem.SetParameterUpperBound(s.p.data(), static_cast<int>(i), problem.upper[i]);
  }
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = problem.iterations;
  options.function_tolerance = 1e-7;
  options.num_threads = 1;  // the same result whatever the machine
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &ceres_problem, &summary);
  s.cost = summary.final_cost;
  s.iterations = static_cast<int>(summary.iterations.size());
  rows.PrepareForEvaluation(true, true);
  errors(problem, rows, s);
}

}  // namespace
}  // namespace overlap::calibrate

extern "C" void overlapsim_solve(const overlap::calibrate::LeastSquares& problem, overlap::calibrate::Solution& s) {
  overlap::calibrate::run(problem, s);
}
