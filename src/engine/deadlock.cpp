// Why a run cannot go on: the waiting ops, and a cycle among them of dependencies, lanes, slots or tokens.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "engine/run.hpp"
#include "overlap/error.hpp"

namespace overlap::engine {

class Deadlock {
 public:
  explicit Deadlock(const Run& run) : run_(run), previous_(previous_in_lane(run.plan_)) {
    for (std::uint32_t i = 0; i < run.graph_.ops().size(); ++i) {
      if (!ended(i)) waiting_.push_back(i);
    }
  }

  [[nodiscard]] std::string text() const {
    std::string out = fmt::format("the graph cannot finish: at {} {} of {} ops wait and nothing moves",
                                  to_text(Seconds(run_.now_)), waiting_.size(), run_.graph_.ops().size());
    const std::vector<Wait> cycle = find_cycle();
    if (!cycle.empty()) {
      out += "; cycle: ";
      for (const Wait& w : cycle) out += describe(w) + "; ";
      out += "and so round";
    }
    out += ". Waiting:";
    constexpr std::size_t kShown = 8;
    for (std::size_t n = 0; n < std::min(kShown, waiting_.size()); ++n) {
      const std::vector<Wait> waits = waits_of(waiting_[n]);
      out += "\n  " + (waits.empty() ? run_.name(waiting_[n]) + " " + unexplained(waiting_[n]) : describe(waits[0]));
    }
    if (waiting_.size() > kShown) out += fmt::format("\n  and {} more", waiting_.size() - kShown);
    return out;
  }

 private:
  enum class Why : std::uint8_t { dependency, part, lane, slots, token };
  struct Wait {
    std::uint32_t from = kNone;
    std::uint32_t to = kNone;
    Why why = Why::dependency;
    std::uint32_t what = kNone;  // part, pool or token
    std::uint32_t member = kNone;
  };

  [[nodiscard]] bool ended(std::uint32_t i) const { return run_.timeline_.ops[i].end.si() >= 0.0; }
  [[nodiscard]] bool admitted(std::uint32_t member) const {
    const std::uint32_t i = run_.plan_.member_op[member];
    if (run_.op(i).lanes.size() == 1) return run_.timeline_.ops[i].admitted.si() >= 0.0;
    return run_.timeline_.members[run_.member_times_[i] + (member - run_.op(i).lanes.begin)].admitted.si() >= 0.0;
  }
  [[nodiscard]] bool met(const Dep& d) const {
    if (d.part.valid() && run_.demand(d.op.v).kind == DemandKind::tiles) {
      return run_.timeline_.part_ends[d.part.index()].si() >= 0.0;
    }
    return ended(d.op.v);
  }

  [[nodiscard]] std::vector<Wait> waits_of(std::uint32_t i) const {
    std::vector<Wait> out;
    const Op& op = run_.op(i);
    const bool begun = run_.timeline_.ops[i].begin.si() >= 0.0;
    for (const Dep& d : run_.graph_.deps(op.deps)) {
      if (!begun && !met(d)) out.push_back({i, d.op.v, Why::dependency});
    }
    if (const Gemm* gemm = std::get_if<Gemm>(&op.work)) {
      for (std::uint32_t p = gemm->parts.begin; p < gemm->parts.end; ++p) {
        for (const Dep& d : run_.graph_.deps(run_.graph_.parts()[p].waits)) {
          if (!met(d)) out.push_back({i, d.op.v, Why::part, p - gemm->parts.begin});
        }
      }
    }
    for (std::uint32_t m = op.lanes.begin; m < op.lanes.end; ++m) {
      if (!admitted(m)) member_waits(i, m, out);
    }
    return out;
  }

  void member_waits(std::uint32_t i, std::uint32_t m, std::vector<Wait>& out) const {
    const std::uint32_t before = previous_[m];
    if (before != kNone && !ended(run_.plan_.member_op[before])) {
      out.push_back({i, run_.plan_.member_op[before], Why::lane, kNone, m});
      return;
    }
    if (run_.plan_.member_pending[m] != 0) return;
    if (const std::uint32_t token = run_.lacking_token(i); token != kNone) {
      for (const std::uint32_t other : waiting_) {
        for (const TokenUse& u : run_.tokens_of(other)) {
          if (u.token.v == token && u.give > 0 && other != i) out.push_back({i, other, Why::token, token, m});
        }
      }
    }
    const std::uint32_t pool = run_.line_of(m);
    if (pool == kNone) return;
    for (const std::uint32_t other : waiting_) {
      if (other != i && holds(other, pool)) out.push_back({i, other, Why::slots, pool, m});
    }
  }

  [[nodiscard]] bool holds(std::uint32_t i, std::uint32_t pool) const {
    const Op& op = run_.op(i);
    const bool tiled = run_.demand(i).kind == DemandKind::tiles && run_.tile_demand(i).pool.v == pool;
    for (std::uint32_t m = op.lanes.begin; m < op.lanes.end; ++m) {
      if (!admitted(m)) continue;
      if (tiled) return true;
      for (const SlotNeed& need : run_.slots_of(i)) {
        if (need.count > 0 && run_.pool_of(need, m) == pool) return true;
      }
    }
    return false;
  }

  [[nodiscard]] std::vector<Wait> find_cycle() const {
    enum : char { kNew, kOpen, kDone };
    std::vector<char> state(run_.graph_.ops().size(), kNew);
    struct Frame {
      std::vector<Wait> waits;
      std::size_t next = 0;
    };
    for (const std::uint32_t start : waiting_) {
      if (state[start] != kNew) continue;
      std::vector<Frame> path;
      state[start] = kOpen;
      path.push_back({waits_of(start)});
      while (!path.empty()) {
        Frame& top = path.back();
        if (top.next == top.waits.size()) {
          if (path.size() > 1) {
            Frame& up = path[path.size() - 2];
            state[up.waits[up.next - 1].to] = kDone;
          }
          path.pop_back();
          continue;
        }
        const Wait w = top.waits[top.next++];
        if (state[w.to] == kOpen) {
          std::vector<Wait> cycle;
          for (const Frame& f : path) cycle.push_back(f.waits[f.next - 1]);
          const auto first =
              std::find_if(cycle.begin(), cycle.end(), [&w](const Wait& other) { return other.from == w.to; });
          cycle.erase(cycle.begin(), first);
          return cycle;
        }
        if (state[w.to] != kNew) continue;
        state[w.to] = kOpen;
        path.push_back({waits_of(w.to)});
      }
      state[start] = kDone;
    }
    return {};
  }

  [[nodiscard]] std::string describe(const Wait& w) const {
    std::string out = run_.name(w.from);
    if (w.member != kNone && run_.op(w.from).lanes.size() > 1) {
      out += fmt::format(" on device {}", run_.lane(w.member).device.v);
    }
    switch (w.why) {
      case Why::dependency:
        return out + " waits for " + run_.name(w.to);
      case Why::part:
        return out + fmt::format(" in part {} waits for ", w.what) + run_.name(w.to);
      case Why::lane:
        return out + " waits in its lane behind " + run_.name(w.to);
      case Why::slots: {
        const SlotPool& pool = run_.resources_.pools[w.what];
        const char* kinds[] = {"SMs", "copy engines", "host slots"};
        return out +
               fmt::format(" waits for {} of device {} held by ", kinds[static_cast<int>(pool.kind)], pool.device.v) +
               run_.name(w.to);
      }
      case Why::token:
        return out + fmt::format(" waits for token {} from ", w.what) + run_.name(w.to);
    }
    return out;
  }

  [[nodiscard]] std::string unexplained(std::uint32_t i) const {
    if (const std::uint32_t token = run_.lacking_token(i); token != kNone) {
      return fmt::format("waits for token {}, which no op gives any more", token);
    }
    if (run_.timeline_.ops[i].begin.si() >= 0.0) return "makes no progress: a resource of its flow has no capacity";
    return "waits";
  }

  const Run& run_;
  std::vector<std::uint32_t> previous_;  // by member
  std::vector<std::uint32_t> waiting_;
};

void Run::stuck() const {
  throw CheckError(Deadlock(*this).text());
}

}  // namespace overlap::engine
