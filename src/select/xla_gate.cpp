// XLA's gate for windowed einsum (Wang et al., ASPLOS'23, and the open partitioner): see select.hpp for the rule.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "overlap/error.hpp"
#include "overlap/select.hpp"

namespace overlap {
namespace {

constexpr Seconds kNoCommunication{1e-8};  // the gate's own 1e-5 ms

struct Estimate {
  Seconds windowed;
  Seconds serial;
  [[nodiscard]] Seconds saving() const { return serial - windowed; }
};

Estimate estimate(const XlaGateInputs& in) {
  const Seconds extra = in.comm * (in.mult * 2.0 / in.devices);
  return {std::max(in.comp, in.comm * in.mult) + extra, in.comp + in.comm};
}

void check(const XlaGateInputs& in) {
  if (in.devices < 2) throw InputError("", "windowed einsum needs at least 2 devices");
  if (!(in.mult > 0 && std::isfinite(in.mult))) throw InputError("", fmt::format("mult {} must be positive", in.mult));
  if (!(in.comp.si() >= 0 && in.comm.si() >= 0)) throw InputError("", "times must not be negative");
}

}  // namespace

std::optional<double> xla_gate_threshold(std::uint32_t devices, double mult) {
  if (!(devices > 2 * mult)) return std::nullopt;
  return std::max(0.0, mult * (1.0 + 2.0 / devices) - 1.0);
}

Choice select_xla_gate(const XlaGateInputs& in) {
  check(in);
  const Estimate e = estimate(in);
  Choice c;
  c.selector = "xla-gate";
  c.source = "Wang et al., ASPLOS'23 (windowed einsum), open XLA partitioner";
  c.inputs = {
      {"comp", to_text(in.comp)},        {"comm", to_text(in.comm)},       {"mult", fmt::format("{:g}", in.mult)},
      {"N", std::to_string(in.devices)}, {"operand", to_text(in.operand)}, {"threshold", to_text(in.threshold)}};
  const auto decline = [&](const char* branch) {
    c.pick = "serial";
    c.branch = branch;
    c.predicted = e.serial;
  };
  c.decision = {"max(comp, comm mult) + comm mult 2/N", "comp + comm", e.windowed.si(), e.serial.si(), "s", "<"};
  if (in.operand < in.threshold) {
    decline("operand below the size threshold");
    c.decision = {"operand", "threshold", in.operand.si(), in.threshold.si(), "B", "<"};
  } else if (in.shared_operand) {
    decline("another user needs the gathered operand");
    c.decision = {"users of the gathered operand", "one", 2, 1, "users", ">"};
  } else if (in.comm > kNoCommunication && e.windowed >= e.serial) {
    decline("windowing is predicted no faster");
    c.decision.relation = ">=";
  } else {
    c.pick = "windowed-einsum";
    c.branch = "windowing is predicted faster";
    c.predicted = e.windowed;
    if (!(e.windowed < e.serial)) {
      c.branch = "next to no communication: the gate does not object";
      c.decision = {"comm", "10 ns", in.comm.si(), kNoCommunication.si(), "s", "<="};
    }
  }
  c.notes = {"mult is explicit: sources count a group of one torus axis as 1 or as 2"};
  return c;
}

std::pair<std::optional<std::size_t>, Choice> select_xla_candidate(const XlaGateInputs& first,
                                                                   const XlaGateInputs& second) {
  const Choice a = select_xla_gate(first);
  const Choice b = select_xla_gate(second);
  const bool on_a = a.pick != "serial";
  const bool on_b = b.pick != "serial";
  if (!on_a && !on_b) return {std::nullopt, a};
  const Seconds save_a = estimate(first).saving();
  const Seconds save_b = estimate(second).saving();
  const bool take_b = on_b && (!on_a || save_b > save_a);
  Choice c = take_b ? b : a;
  if (on_a && on_b) {
    c.branch =
        take_b ? "both could be windowed: the second saves more" : "both could be windowed: the first saves no less";
    c.decision = {"saving of the first", "saving of the second", save_a.si(), save_b.si(), "s", take_b ? "<" : ">="};
  }
  c.notes.emplace_back("which of two candidates to window is decided by the gate's own estimate of the saving (ours)");
  return {take_b ? 1U : 0U, c};
}

}  // namespace overlap
