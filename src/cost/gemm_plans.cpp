#include "cost/gemm_plans.hpp"

namespace overlap {
namespace {

// What of the effects a plan may hang on.
Effects of_gemms(const Effects& e) {
  Effects out;
  out.decomposition = e.decomposition;
  out.accumulate = e.accumulate;
  out.power = e.power;
  return out;
}

std::vector<std::uint64_t> key_of(ComputeModel model, const cost::GemmQuery& q) {
  const auto bit = [](bool on, unsigned at) { return std::uint64_t{on ? 1U : 0U} << at; };
  std::vector<std::uint64_t> key{
      reinterpret_cast<std::uintptr_t>(q.device), std::uint64_t{q.shape.m} << 32U | q.shape.n,
      std::uint64_t{q.shape.k} << 32U | q.sms,
      static_cast<std::uint64_t>(model) << 32U | static_cast<std::uint64_t>(q.operand) << 16U |
          static_cast<std::uint64_t>(q.output) << 8U | bit(q.accumulate, 0) | bit(q.effects.decomposition, 1) |
          bit(q.effects.accumulate, 2) | bit(q.effects.power, 3)};
  for (const Part& p : q.parts) key.push_back(std::uint64_t{p.rect.rows} << 32U | p.rect.cols);
  return key;
}

}  // namespace

cost::GemmPlan GemmPlans::of(ComputeModel model, const cost::GemmQuery& q) {
  const std::vector<std::uint64_t> key = key_of(model, q);
  {
    const std::lock_guard lock(guard_);
    if (const auto it = known_.find(key); it != known_.end()) return it->second;
  }
  const cost::GemmPlan plan = cost::find_compute_model(model).plan(q);
  const std::lock_guard lock(guard_);
  known_.emplace(key, plan);
  return plan;
}

std::shared_ptr<GemmPlans> make_gemm_plans() {
  return std::make_shared<GemmPlans>();
}

namespace cost {

GemmPlan plan_of(GemmPlans* plans, ComputeModel model, const GemmQuery& query) {
  GemmQuery q = query;
  q.effects = of_gemms(query.effects);
  return plans != nullptr ? plans->of(model, q) : find_compute_model(model).plan(q);
}

}  // namespace cost
}  // namespace overlap
