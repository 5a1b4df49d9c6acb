// Progressive filling from scratch over whatever is connected to a change: raise x/share of all flows together; a flow
// stops at its cap, and all flows of a resource stop when it is full.
#include <algorithm>
#include <cassert>
#include <cstdint>

#include "engine/date_heap.hpp"
#include "overlap/solver.hpp"

namespace overlap {
namespace {

constexpr double kBatch = 1e-12;     // dates this close (relative) are one
constexpr double kKeepRate = 1e-14;  // a rate that differs less is kept: no drift, no heap update
constexpr double kNever = 1e300;

struct Flow {
  std::span<const Use> uses;
  double share = 1.0;
  double cap = 0.0;
  double rate = 0.0;
  double left = 0.0;   // at `since`
  double since = 0.0;  // date of the last change of rate
  std::uint32_t mark = 0;
  bool live = false;
  bool frozen = false;
  std::vector<std::uint32_t> places;  // of each use in its resource's list
};

struct Entry {
  std::uint32_t flow = 0;
  std::uint32_t use = 0;
};

struct Resource {
  double capacity = 0.0;
  double room = 0.0;   // scratch of the fill: capacity not taken by frozen flows
  double pull = 0.0;   // scratch of the fill: sum of weight x share of the flows not frozen
  double level = 0.0;  // scratch of the fill: x/share at which it is full
  std::uint32_t open = 0;
  std::uint32_t mark = 0;
  std::vector<Entry> entries;
};

class PlainSolver final : public FlowSolver {
 public:
  explicit PlainSolver(std::span<const Bandwidth> capacities) : resources_(capacities.size()) {
    for (std::size_t r = 0; r < capacities.size(); ++r) resources_[r].capacity = capacities[r].si();
  }

  void start(FlowId id, const FlowSpec& spec) override {
    if (id.index() >= flows_.size()) flows_.resize(id.index() + 1);
    Flow& f = flows_[id.index()];
    assert(!f.live && spec.work.si() > 0.0 && spec.share > 0.0);
    f.uses = spec.uses;
    f.share = spec.share;
    f.cap = spec.cap.si();
    f.rate = 0.0;
    f.left = spec.work.si();
    f.since = now_;
    f.live = true;
    f.places.resize(spec.uses.size());
    for (std::uint32_t u = 0; u < spec.uses.size(); ++u) {
      auto& entries = resources_[spec.uses[u].resource.index()].entries;
      f.places[u] = static_cast<std::uint32_t>(entries.size());
      entries.push_back({id.v, u});
    }
    changed_flows_.push_back(id.v);
  }

  Bytes cancel(FlowId id) override {
    const Bytes left = remaining(id);
    finish_dates_.remove(id.v);
    detach(id.v);
    return left;
  }

  void set_capacity(ResourceId r, Bandwidth capacity) override {
    resources_[r.index()].capacity = capacity.si();
    changed_resources_.push_back(r.v);
  }

  void set_cap(FlowId id, Bandwidth cap) override {
    flows_[id.index()].cap = cap.si();
    changed_flows_.push_back(id.v);
  }

  Seconds next_completion() override {
    solve();
    return finish_dates_.empty() ? kForever : Seconds(finish_dates_.top_date());
  }

  void advance_to(Seconds t, std::vector<FlowId>& finished) override {
    solve();
    now_ = t.si();
    const std::size_t first = finished.size();
    while (!finish_dates_.empty() && finish_dates_.top_date() <= now_ + kBatch * now_) {
      const std::uint32_t f = finish_dates_.top();
      finish_dates_.remove(f);
      detach(f);
      finished.emplace_back(f);
    }
    std::sort(finished.begin() + static_cast<std::ptrdiff_t>(first), finished.end());
  }

  Bandwidth rate(FlowId id) override {
    solve();
    return Bandwidth(flows_[id.index()].rate);
  }

  Bytes remaining(FlowId id) override {
    const Flow& f = flows_[id.index()];
    return Bytes(std::max(0.0, f.left - f.rate * (now_ - f.since)));
  }

 private:
  void detach(std::uint32_t id) {
    Flow& f = flows_[id];
    f.live = false;
    for (std::uint32_t u = 0; u < f.uses.size(); ++u) {
      const std::uint32_t r = f.uses[u].resource.v;
      auto& entries = resources_[r].entries;
      const Entry moved = entries.back();
      entries[f.places[u]] = moved;
      flows_[moved.flow].places[moved.use] = f.places[u];
      entries.pop_back();
      changed_resources_.push_back(r);
    }
  }

  void solve() {
    if (changed_flows_.empty() && changed_resources_.empty()) return;
    collect();
    prepare();
    fill();
    for (const std::uint32_t f : part_flows_) settle(f);
    changed_flows_.clear();
    changed_resources_.clear();
  }

  void reach_flow(std::uint32_t f) {
    if (!flows_[f].live || flows_[f].mark == mark_) return;
    flows_[f].mark = mark_;
    part_flows_.push_back(f);
  }
  void reach_resource(std::uint32_t r) {
    if (resources_[r].mark == mark_) return;
    resources_[r].mark = mark_;
    part_resources_.push_back(r);
  }

  // Everything connected to the changes through shared resources.
  void collect() {
    ++mark_;
    part_flows_.clear();
    part_resources_.clear();
    for (const std::uint32_t f : changed_flows_) reach_flow(f);
    for (const std::uint32_t r : changed_resources_) reach_resource(r);
    std::size_t f = 0;
    for (std::size_t r = 0; r < part_resources_.size() || f < part_flows_.size();) {
      if (f < part_flows_.size()) {
        for (const Use& use : flows_[part_flows_[f]].uses) reach_resource(use.resource.v);
        ++f;
      } else {
        for (const Entry& e : resources_[part_resources_[r]].entries) reach_flow(e.flow);
        ++r;
      }
    }
    std::sort(part_flows_.begin(), part_flows_.end());
  }

  void prepare() {
    for (const std::uint32_t f : part_flows_) flows_[f].frozen = false;
    levels_.clear();
    for (const std::uint32_t r : part_resources_) {
      measure(r);
      if (resources_[r].open > 0) levels_.push_back({resources_[r].level, r});
    }
    std::make_heap(levels_.begin(), levels_.end(), later);
    by_cap_.assign(part_flows_.begin(), part_flows_.end());
    std::sort(by_cap_.begin(), by_cap_.end(), [this](std::uint32_t a, std::uint32_t b) {
      const double la = flows_[a].cap / flows_[a].share;
      const double lb = flows_[b].cap / flows_[b].share;
      return la < lb || (la == lb && a < b);
    });
  }

  // Room, pull and level of a resource, summed afresh so that no error builds up.
  void measure(std::uint32_t r) {
    Resource& res = resources_[r];
    res.room = res.capacity;
    res.pull = 0.0;
    res.open = 0;
    for (const Entry& e : res.entries) {
      const Flow& f = flows_[e.flow];
      if (f.frozen) {
        res.room -= f.uses[e.use].weight * next_rate_[e.flow];
      } else if (f.uses[e.use].weight > 0.0) {
        res.pull += f.uses[e.use].weight * f.share;
        ++res.open;
      }
    }
    res.level = res.pull > 0.0 ? std::max(0.0, res.room) / res.pull : kNever;
  }

  void fill() {
    next_rate_.resize(flows_.size());
    std::size_t open = part_flows_.size();
    std::size_t next_cap = 0;
    while (open > 0) {
      while (next_cap < by_cap_.size() && flows_[by_cap_[next_cap]].frozen) ++next_cap;
      const Flow& capped = flows_[by_cap_[next_cap]];
      const double cap_level = capped.cap / capped.share;
      if (levels_.empty() || cap_level <= levels_.front().level) {
        freeze(by_cap_[next_cap], capped.cap);
        --open;
        continue;
      }
      std::pop_heap(levels_.begin(), levels_.end(), later);
      const Level top = levels_.back();
      levels_.pop_back();
      measure(top.resource);  // levels only rise while others freeze
      const Resource& res = resources_[top.resource];
      if (res.open == 0) continue;
      if (res.level > top.level) {
        levels_.push_back({res.level, top.resource});
        std::push_heap(levels_.begin(), levels_.end(), later);
        if (levels_.front().resource != top.resource || cap_level <= res.level) continue;
        std::pop_heap(levels_.begin(), levels_.end(), later);
        levels_.pop_back();
      }
      for (const Entry& e : res.entries) {
        if (flows_[e.flow].frozen) continue;
        freeze(e.flow, flows_[e.flow].share * res.level);
        --open;
      }
    }
  }

  void freeze(std::uint32_t f, double rate) {
    flows_[f].frozen = true;
    next_rate_[f] = rate;
  }

  void settle(std::uint32_t id) {
    Flow& f = flows_[id];
    const double rate = next_rate_[id];
    const double off = rate - f.rate;
    if (f.rate > 0.0 && off <= kKeepRate * f.rate && -off <= kKeepRate * f.rate) return;
    f.left = std::max(0.0, f.left - f.rate * (now_ - f.since));
    f.since = now_;
    f.rate = rate;
    finish_dates_.set(id, rate > 0.0 ? now_ + f.left / rate : kNever);
  }

  struct Level {
    double level = 0.0;
    std::uint32_t resource = 0;
  };
  static bool later(const Level& a, const Level& b) {
    return a.level > b.level || (a.level == b.level && a.resource > b.resource);
  }

  double now_ = 0.0;
  std::uint32_t mark_ = 0;
  std::vector<Flow> flows_;
  std::vector<Resource> resources_;
  std::vector<double> next_rate_;
  std::vector<std::uint32_t> changed_flows_;
  std::vector<std::uint32_t> changed_resources_;
  std::vector<std::uint32_t> part_flows_;
  std::vector<std::uint32_t> part_resources_;
  std::vector<std::uint32_t> by_cap_;
  std::vector<Level> levels_;
  engine::DateHeap finish_dates_;
};

}  // namespace

std::unique_ptr<FlowSolver> make_plain_solver(std::span<const Bandwidth> capacities) {
  return std::make_unique<PlainSolver>(capacities);
}

}  // namespace overlap
