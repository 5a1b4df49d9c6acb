// Max-min fair sharing of fluid resources over time. One allocation rule, two solvers: the plain one (refills what is
// connected to a change from scratch; the oracle of the tests) and the fast one (local refill), chosen by size.
//
// Rates x_f solve: the lexicographically largest vector x_f/share_f with sum_f weight_{f,r} x_f <= capacity_r for every
// resource r and x_f <= cap_f. Certificate: each flow runs at its cap or uses a saturated resource on which no flow has
// a larger x/share.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "overlap/demand.hpp"

namespace overlap {

struct FlowSpec {
  std::span<const Use> uses;  // copied or referenced for the flow's life: must outlive it
  double share = 1.0;         // > 0
  Bandwidth cap = Bandwidth(1e300);
  Bytes work;  // finite, > 0
};

class FlowSolver {
 public:
  virtual ~FlowSolver() = default;
  // Starts a flow at the current date. `id` must not be live. A flow without uses runs at its cap.
  virtual void start(FlowId id, const FlowSpec& spec) = 0;
  // Ends a live flow early; returns the work that was left.
  virtual Bytes cancel(FlowId id) = 0;
  virtual void set_capacity(ResourceId r, Bandwidth capacity) = 0;
  virtual void set_cap(FlowId id, Bandwidth cap) = 0;
  // Date of the next completion given all starts so far; kForever when no flow is live.
  virtual Seconds next_completion() = 0;
  // Moves the clock to t <= next_completion() and appends the flows that complete at t, in increasing id.
  // Completions within 1e-12 relative of one date form one batch.
  virtual void advance_to(Seconds t, std::vector<FlowId>& finished) = 0;
  // Current rate and remaining work of a live flow, on demand.
  virtual Bandwidth rate(FlowId id) = 0;
  virtual Bytes remaining(FlowId id) = 0;
};

std::unique_ptr<FlowSolver> make_plain_solver(std::span<const Bandwidth> capacities);
// Exact and incremental: after an event it re-evaluates what the event can have changed.
std::unique_ptr<FlowSolver> make_fast_solver(std::span<const Bandwidth> capacities);
// The engine's choice: the fast solver, which is ahead from 8 flows on (tests/bench) and chooses inside, by the size of
// what an event touches, between dating a lone flow, following members and sweeping whole levels.
std::unique_ptr<FlowSolver> make_solver(std::span<const Bandwidth> capacities);

// A flow as the certificate sees it.
struct RatedFlow {
  FlowId id;
  std::span<const Use> uses;
  double share = 1.0;
  Bandwidth cap;
  Bandwidth rate;
};

// The certificate above, checked by one scan of all flows, whatever solver made the rates. Empty when it holds to
// `tolerance` (relative); else one sentence that names the flow or the resource.
[[nodiscard]] std::string certificate_violation(std::span<const Bandwidth> capacities, std::span<const RatedFlow> flows,
                                                double tolerance = 1e-9);

}  // namespace overlap
