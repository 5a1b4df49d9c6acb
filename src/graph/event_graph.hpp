// Begin and end of every op and the end of every part as one precedence graph, for the checks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "overlap/op_graph.hpp"

namespace overlap {

// Index of an event: begins of ops, then ends of ops, then parts (a part happens between begin and end of its Gemm).
class EventGraph {
 public:
  explicit EventGraph(const OpGraph& graph);

  [[nodiscard]] std::uint32_t begin_of(OpId op) const { return op.v; }
  [[nodiscard]] std::uint32_t end_of(OpId op) const { return ops_ + op.v; }
  [[nodiscard]] std::uint32_t event_of(PartId part) const { return 2 * ops_ + part.v; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(first_.size() - 1); }
  [[nodiscard]] bool is_begin(std::uint32_t e) const { return e < ops_; }
  [[nodiscard]] bool is_part(std::uint32_t e) const { return e >= 2 * ops_; }
  [[nodiscard]] OpId op_at(std::uint32_t e) const { return OpId(e < ops_ ? e : e - ops_); }
  [[nodiscard]] PartId part_at(std::uint32_t e) const { return PartId(e - 2 * ops_); }

  [[nodiscard]] std::span<const std::uint32_t> after(std::uint32_t e) const {
    return {successors_.data() + first_[e], first_[e + 1] - first_[e]};
  }
  [[nodiscard]] const std::vector<std::uint32_t>& waits() const { return waits_; }  // predecessors of each event
  // Every event after its predecessors, in a stable order; shorter than size() when there is a cycle.
  [[nodiscard]] std::vector<std::uint32_t> order() const;
  // The ops of one cycle, "a -> b -> a"; empty when there is none.
  [[nodiscard]] std::string cycle(const OpGraph& graph) const;

 private:
  template <class F>
  void edges(const OpGraph& graph, F add) const;

  std::uint32_t ops_;
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> successors_;
  std::vector<std::uint32_t> waits_;
};

// "op 12 'GEMM stage 3' on device 1"
std::string describe(const OpGraph& graph, OpId op);

}  // namespace overlap
