#include "schedule/looped_program.hpp"

#include <algorithm>
#include <optional>

namespace overlap::blocks {
namespace {

using What = CoreStep::What;

class Writer {
 public:
  Writer(const LoopShape& shape, double einsum, double hop) : s_(shape), einsum_(einsum), hop_(hop) {}

  void gather() {
    std::optional<std::uint32_t> prologue;
    if (s_.bi) prologue = permute({1, 0, 1, Permute::Role::prologue}, {});
    std::vector<std::optional<std::uint32_t>> arrived(s_.streams());
    std::optional<std::uint32_t> last;  // the einsum of the step before
    for (std::uint32_t i = 0; i < s_.steps(); ++i) {
      for (std::uint32_t k = 0; k < s_.streams(); ++k) {
        if (i == 0) arrived[k] = prologue;
        if (i > 0 && s_.carries) arrived[k] = compute({What::carry, k, i, 0}, 0, {arrived[k]});
      }
      const std::optional<std::uint32_t> before = last;
      std::vector<std::optional<std::uint32_t>> next(s_.streams());
      for (std::uint32_t k = 0; k < s_.streams() && i + 1 < s_.steps(); ++k) {
        // What it overwrites at the receiver was used by the einsum of the step before.
        next[k] = permute({k, loop_version(s_, k, i), 1, Permute::Role::loop}, {arrived[k], before});
      }
      if (s_.einsum_per_stream()) {
        for (std::uint32_t k = 0; k < s_.streams(); ++k)
          last = compute({What::einsum, k, i, 0}, einsum_, {arrived[k], last});
      } else {
        auto needs = arrived;
        needs.push_back(last);
        last = compute({What::einsum, 0, i, 0}, einsum_ * s_.streams(), needs);
      }
      arrived = next;
    }
  }

  void scatter() {
    const std::uint32_t steps = s_.steps();
    std::vector<std::optional<std::uint32_t>> arrived(s_.streams());  // by stream
    std::optional<std::uint32_t> last;
    for (std::uint32_t i = 0; i < steps; ++i) {
      last = compute({What::einsum, 0, i, 0}, einsum_ * (s_.bi ? 2 : 1), {last});
      for (std::uint32_t k = 0; k < s_.streams(); ++k) {
        if (s_.chains == 2 && i % 2 != k) continue;
        std::optional<std::uint32_t> sum = last;
        const bool first = i < (s_.chains == 2 ? 2 : 1);
        if (s_.chains == 2 && i + 1 == steps) {
          compute({What::join, k, i, 0}, 0, {last, arrived[0], arrived[1]});
          return;
        }
        if (!first) {
          if (s_.carries) arrived[k] = compute({What::carry, k, i, 0}, 0, {arrived[k]});
          sum = compute({What::add, k, i, 0}, 0, {last, arrived[k]});
        }
        if (i + s_.chains < steps) {
          arrived[k] = permute({k, loop_version(s_, k, i), s_.chains, Permute::Role::loop}, {sum});
        } else if (s_.chains == 2) {  // the even chain ends one hop from home
          arrived[k] = permute({k, loop_version(s_, k, i), 1, Permute::Role::epilogue}, {sum});
        } else {
          arrived[k] = sum;
        }
      }
    }
    if (!s_.bi) return;
    const std::uint32_t there =
        permute({1, loop_version(s_, 1, steps - 1), 1, Permute::Role::epilogue}, {arrived[0], arrived[1]});
    compute({What::join, 0, steps - 1, 0}, 0, {arrived[0], there});
  }

  LoopProgram finish(PlacementPolicy policy, std::uint32_t in_flight) {
    LoopProgram out;
    for (const std::uint32_t i : place(instrs_, policy, in_flight)) out.steps.push_back(steps_[i]);
    out.permutes = std::move(permutes_);
    return out;
  }

 private:
  using Needs = std::vector<std::optional<std::uint32_t>>;
  static std::vector<std::uint32_t> known(const Needs& needs) {
    std::vector<std::uint32_t> out;
    for (const auto& n : needs)
      if (n && std::find(out.begin(), out.end(), *n) == out.end()) out.push_back(*n);
    return out;
  }
  std::uint32_t compute(const CoreStep& step, double cost, const Needs& needs) {
    instrs_.push_back({Instr::Kind::compute, cost, 0, known(needs)});
    steps_.push_back(step);
    return static_cast<std::uint32_t>(instrs_.size() - 1);
  }
  // Start and Done; returns the Done.
  std::uint32_t permute(const Permute& p, const Needs& needs) {
    const auto start = static_cast<std::uint32_t>(instrs_.size());
    const auto id = static_cast<std::uint32_t>(permutes_.size());
    permutes_.push_back(p);
    const double cost = hop_ * p.hops;
    instrs_.push_back({Instr::Kind::start, cost, start + 1, known(needs)});
    instrs_.push_back({Instr::Kind::done, cost, start, {}});
    steps_.push_back({What::start, p.stream, 0, id});
    steps_.push_back({What::done, p.stream, 0, id});
    return start + 1;
  }

  const LoopShape& s_;
  double einsum_;
  double hop_;
  std::vector<Instr> instrs_;
  std::vector<CoreStep> steps_;
  std::vector<Permute> permutes_;
};

}  // namespace

std::uint32_t loop_version(const LoopShape& s, std::uint32_t stream, std::uint32_t step) {
  if (!s.scatters()) return step + (s.bi ? stream : 0);  // the second stream starts with a prologue
  return 2 * (step / s.chains);                          // each permute, then each add makes a version
}

LoopProgram loop_program(const LoopShape& shape, PlacementPolicy policy, std::uint32_t in_flight, double einsum,
                         double hop) {
  Writer writer(shape, einsum, hop);
  if (shape.scatters()) {
    writer.scatter();
  } else {
    writer.gather();
  }
  return writer.finish(policy, in_flight);
}

Seconds run_program(const LoopProgram& program, Seconds einsum, const std::function<Seconds(const Permute&)>& time) {
  Seconds core;
  std::vector<Seconds> lane_free(2);
  std::vector<Seconds> arrival(program.permutes.size());
  for (const CoreStep& s : program.steps) {
    if (s.what == What::einsum) core += einsum;
    if (s.what == What::done) core = std::max(core, arrival[s.permute]);
    if (s.what != What::start) continue;
    const Permute& p = program.permutes[s.permute];
    Seconds& free = lane_free[p.stream];
    free = std::max(free, core) + time(p);
    arrival[s.permute] = free;
  }
  return core;
}

}  // namespace overlap::blocks
