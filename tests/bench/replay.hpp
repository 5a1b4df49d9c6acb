// Replays a case on a solver: starts flows when their predecessors have ended or at their date. Ids of flows are used
// again, as the engine does. A route is read from the case when a flow starts: the fast solver copies what it needs. A
// solver that refers to a flow's uses for its life gets a table of them (`keep_routes`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cases.hpp"
#include "engine/state.hpp"
#include "overlap/solver.hpp"

namespace bench {

class Replay {
 public:
  explicit Replay(const Case& c, bool keep_routes = false)
      : case_(c), keep_routes_(keep_routes), waits_(c.flow_waits), left_(c.gate_flows) {
    Index longest = 0;
    for (Index r = 0; r + 1 < c.route_at.size(); ++r) longest = std::max(longest, c.route_at[r + 1] - c.route_at[r]);
    uses_.resize(keep_routes ? c.route_link.size() : longest);
    for (std::size_t k = 0; keep_routes && k < uses_.size(); ++k)
      uses_[k].resource = overlap::ResourceId(c.route_link[k]);
    for (Index f = 0; f < c.flow_route.size(); ++f) {
      if (c.flow_waits[f] > 0) continue;
      (c.flow_start[f] > 0 ? dated_ : first_).push_back(f);
    }
  }

  // Runs the whole case from the date `from`; returns the date of the last completion.
  template <class Solver>
  double run(Solver& solver, double from) {
    waits_ = case_.flow_waits;
    left_ = case_.gate_flows;
    live_ = peak_ = 0;
    for (const Index f : first_) start(solver, f);
    std::size_t dated = 0;
    double now = from;
    for (std::size_t left = case_.flow_route.size(); left > 0;) {
      const double end = solver.next_completion().si();
      const double begin = dated < dated_.size() ? from + case_.flow_start[dated_[dated]] : overlap::kForever.si();
      now = std::min(end, begin);
      finished_.clear();
      solver.advance_to(overlap::Seconds(now), finished_);
      left -= finished_.size();
      live_ -= finished_.size();
      for (const overlap::FlowId id : finished_) {
        Index gate = flow_of_[id.v];
        free_ids_.push(id.v);
        if (!left_.empty()) {
          gate = case_.gate_of[gate];
          if (--left_[gate] > 0) continue;
        }
        for (Index k = case_.next_at[gate]; k < case_.next_at[gate + 1]; ++k)
          if (--waits_[case_.next[k]] == 0) start(solver, case_.next[k]);
      }
      if (begin <= now) start(solver, dated_[dated++]);
    }
    return now;
  }

  [[nodiscard]] std::vector<overlap::Bandwidth> capacities() const {
    std::vector<overlap::Bandwidth> out;
    for (const double c : case_.capacity) out.emplace_back(c);
    return out;
  }
  [[nodiscard]] std::size_t peak() const { return peak_; }

 private:
  template <class Solver>
  void start(Solver& solver, Index f) {
    const Index r = case_.flow_route[f];
    const Index first = case_.route_at[r];
    const Index hops = case_.route_at[r + 1] - first;
    if (!keep_routes_)
      for (Index k = 0; k < hops; ++k) uses_[k].resource.v = case_.route_link[first + k];
    spec_.uses = {uses_.data() + (keep_routes_ ? first : 0), hops};
    spec_.work = overlap::Bytes(case_.flow_size[f]);
    Index id = static_cast<Index>(flow_of_.size());
    if (free_ids_.empty()) {
      flow_of_.push_back(f);
    } else {
      id = free_ids_.pop();
      flow_of_[id] = f;
    }
    solver.start(overlap::FlowId(id), spec_);
    peak_ = std::max(peak_, ++live_);
  }

  const Case& case_;
  bool keep_routes_;
  overlap::FlowSpec spec_;
  std::vector<overlap::Use> uses_;  // of all routes, or of the flow at hand
  std::vector<Index> waits_, left_, first_, dated_;
  std::vector<overlap::FlowId> finished_;
  std::vector<Index> flow_of_;  // by id
  overlap::engine::IdQueue free_ids_;
  std::size_t live_ = 0, peak_ = 0;
};

}  // namespace bench
