#include "schedule/placement.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace overlap::blocks {
namespace {

// Forward list scheduling of nodes 0..n-1; lower numbers first where there is a choice.
class Lister {
 public:
  struct Node {
    bool opens = false;   // its transfer is in flight from here
    bool closes = false;  // to here
    double cost = 0;
    std::uint32_t pair = 0;
    std::uint32_t missing = 0;  // predecessors that are not placed yet
    std::vector<std::uint32_t> next;
  };

  // `patient`: closes a transfer only when nothing else can be placed or its flag is wanted, not when it is due.
  Lister(std::vector<Node> nodes, std::uint32_t cap, bool patient)
      : nodes_(std::move(nodes)),
        patient_(patient),
        cap_(cap == 0 ? std::numeric_limits<std::uint32_t>::max() : cap),
        opened_(nodes_.size()) {}

  std::vector<std::uint32_t> run() {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].missing == 0) make_ready(i);
    while (order_.size() < nodes_.size()) put(choose());
    return std::move(order_);
  }

 private:
  void make_ready(std::uint32_t i) {
    if (nodes_[i].opens) {
      openers_.insert(i);
    } else if (nodes_[i].closes) {
      closers_.insert({opened_[nodes_[i].pair] + nodes_[i].cost, i});
    } else {
      computes_.insert(i);
    }
  }

  std::uint32_t choose() {
    if (!openers_.empty() && flying_ < cap_) return take(openers_);
    const bool due = !closers_.empty() && closers_.begin()->first <= clock_ * (1 + 1e-12);
    if (!computes_.empty() && !(due && (!patient_ || !openers_.empty()))) return take(computes_);
    const std::uint32_t i = closers_.begin()->second;
    clock_ = std::max(clock_, closers_.begin()->first);
    closers_.erase(closers_.begin());
    return i;
  }

  static std::uint32_t take(std::set<std::uint32_t>& from) {
    const std::uint32_t i = *from.begin();
    from.erase(from.begin());
    return i;
  }

  void put(std::uint32_t i) {
    order_.push_back(i);
    const Node& n = nodes_[i];
    if (n.opens) {
      opened_[i] = clock_;
      ++flying_;
    } else if (n.closes) {
      --flying_;
    } else {
      clock_ += n.cost;
    }
    for (const std::uint32_t next : n.next)
      if (--nodes_[next].missing == 0) make_ready(next);
  }

  std::vector<Node> nodes_;
  bool patient_;
  std::uint32_t cap_;
  std::vector<double> opened_;
  std::set<std::uint32_t> openers_;
  std::set<std::uint32_t> computes_;
  std::set<std::pair<double, std::uint32_t>> closers_;  // by the date at which the transfer should have arrived
  double clock_ = 0;
  std::uint32_t flying_ = 0;
  std::vector<std::uint32_t> order_;
};

}  // namespace

std::vector<std::uint32_t> place(std::span<const Instr> program, PlacementPolicy policy, std::uint32_t in_flight) {
  const auto n = static_cast<std::uint32_t>(program.size());
  const bool back = policy == PlacementPolicy::bottom_up;
  const auto number = [&](std::uint32_t i) { return back ? n - 1 - i : i; };
  std::vector<Lister::Node> nodes(n);
  const auto edge = [&](std::uint32_t before, std::uint32_t after) {
    const std::uint32_t a = number(back ? after : before);
    const std::uint32_t b = number(back ? before : after);
    nodes[a].next.push_back(b);
    ++nodes[b].missing;
  };
  for (std::uint32_t i = 0; i < n; ++i) {
    const Instr& in = program[i];
    Lister::Node& node = nodes[number(i)];
    node.opens = in.kind == (back ? Instr::Kind::done : Instr::Kind::start);
    node.closes = in.kind == (back ? Instr::Kind::start : Instr::Kind::done);
    node.cost = in.cost;
    node.pair = number(in.pair);
    for (const std::uint32_t before : in.after) edge(before, i);
    if (in.kind == Instr::Kind::done) edge(in.pair, i);
  }
  std::vector<std::uint32_t> order = Lister(std::move(nodes), in_flight, back).run();
  for (std::uint32_t& i : order) i = number(i);
  if (back) std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace overlap::blocks
