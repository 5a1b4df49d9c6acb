// Oracles for the solver tests, independent of src/: max-min rates by water-filling in long double, a solver that
// refills at every event on top of it, and the certificate of max-min fairness.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "overlap/solver.hpp"

namespace test {

struct LiveFlow {
  std::vector<overlap::Use> uses;
  long double share = 1;
  long double cap = 1e300L;
  long double left = 0;
  long double rate = 0;
};

using LiveFlows = std::map<std::uint32_t, LiveFlow>;  // by FlowId

// Sets every flow's rate: all levels (rate/share) rise together until a resource is full or a cap is reached.
void fill(const std::vector<long double>& capacity, LiveFlows& flows);

// Empty if the rates are the max-min allocation up to `tolerance` (relative), else what is wrong.
std::string certificate(const std::vector<long double>& capacity, const LiveFlows& flows, long double tolerance);

class OracleSolver final : public overlap::FlowSolver {
 public:
  explicit OracleSolver(std::span<const overlap::Bandwidth> capacities);
  void start(overlap::FlowId id, const overlap::FlowSpec& spec) override;
  overlap::Bytes cancel(overlap::FlowId id) override;
  void set_capacity(overlap::ResourceId r, overlap::Bandwidth capacity) override;
  void set_cap(overlap::FlowId id, overlap::Bandwidth cap) override;
  overlap::Seconds next_completion() override;
  void advance_to(overlap::Seconds t, std::vector<overlap::FlowId>& finished) override;
  overlap::Bandwidth rate(overlap::FlowId id) override;
  overlap::Bytes remaining(overlap::FlowId id) override;

  [[nodiscard]] const LiveFlows& flows() const { return flows_; }
  [[nodiscard]] const std::vector<long double>& capacity() const { return capacity_; }
  void refill();

 private:
  std::vector<long double> capacity_;
  LiveFlows flows_;
  long double now_ = 0;
  bool stale_ = false;
};

}  // namespace test
