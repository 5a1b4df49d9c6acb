// Tiled kernels against a second model that knows nothing of cohorts: it hands out single tiles at whole seconds.
#include <algorithm>
#include <map>

#include "bench.hpp"
#include "catch.hpp"

using namespace overlap;
using namespace overlap::test;

namespace {

struct Item {
  int ready = 0;
  int priority = 0;
  int sms = 1;                   // rigid: needs; kernel: workers
  int seconds = 1;               // rigid: duration; kernel: tile time
  std::vector<int> tiles{};      // kernel: of each part; empty = rigid
  std::vector<int> readiness{};  // kernel: date of each part
  bool fixed_order = false;
};

struct Machine {
  int sms = 8;
  std::vector<Item> items;
};

// Ends of all items and of all parts, tile by tile.
class Oracle {
 public:
  explicit Oracle(const Machine& m) : m_(m), free_(m.sms), state_(m.items.size()) {
    for (std::size_t i = 0; i < m.items.size(); ++i) {
      state_[i].left = m.items[i].tiles;
      state_[i].part_open = m.items[i].tiles;
      state_[i].part_end.assign(m.items[i].tiles.size(), -1);
    }
  }

  void run() {
    for (int t = 0; t < 100000 && !done(); ++t) {
      finish(t);
      bool more = true;
      while (more) more = deal(t) || hand_out(t);
    }
  }
  [[nodiscard]] int end(std::size_t i) const { return state_[i].end; }
  [[nodiscard]] const std::vector<int>& part_ends(std::size_t i) const { return state_[i].part_end; }

 private:
  struct State {
    bool admitted = false;
    int end = -1;
    int idle = 0;
    int running = 0;
    std::vector<int> left;       // tiles not started, by part
    std::vector<int> part_open;  // tiles not finished, by part
    std::vector<int> part_end;
    std::multimap<int, int> tile_ends;  // date -> part
  };

  [[nodiscard]] bool done() const {
    return std::all_of(state_.begin(), state_.end(), [](const State& s) { return s.end >= 0; });
  }
  [[nodiscard]] static int sum(const std::vector<int>& v) {
    int n = 0;
    for (const int x : v) n += x;
    return n;
  }

  void finish(int t) {
    for (std::size_t i = 0; i < state_.size(); ++i) {
      State& s = state_[i];
      if (m_.items[i].tiles.empty()) {
        if (s.admitted && s.end == t) free_ += m_.items[i].sms;
        continue;
      }
      for (auto [it, last] = s.tile_ends.equal_range(t); it != last; ++it) {
        --s.running;
        ++free_;
        if (--s.part_open[static_cast<std::size_t>(it->second)] == 0)
          s.part_end[static_cast<std::size_t>(it->second)] = t;
      }
      if (s.admitted && s.end < 0 && sum(s.part_open) == 0) s.end = t;
    }
  }

  // Gives out one SM (or one rigid op its SMs) to the first in line. False when nobody gets any.
  bool deal(int t) {
    std::size_t best = m_.items.size();
    for (std::size_t i = 0; i < m_.items.size(); ++i) {
      const State& s = state_[i];
      if (m_.items[i].ready > t || (m_.items[i].tiles.empty() ? s.admitted : !wants(i))) continue;
      if (best == m_.items.size() || before(i, best)) best = i;
    }
    if (best == m_.items.size()) return false;
    State& s = state_[best];
    const Item& item = m_.items[best];
    if (item.tiles.empty()) {
      if (free_ < item.sms) return false;
      free_ -= item.sms;
      s.admitted = true;
      s.end = t + item.seconds;
      return true;
    }
    if (free_ == 0) return false;
    --free_;
    s.admitted = true;
    ++s.idle;
    return true;
  }
  [[nodiscard]] bool wants(std::size_t i) const {
    const State& s = state_[i];
    return s.idle + s.running < m_.items[i].sms && sum(s.left) > s.idle;
  }
  [[nodiscard]] bool before(std::size_t a, std::size_t b) const {
    const Item& x = m_.items[a];
    const Item& y = m_.items[b];
    if (x.priority != y.priority) return x.priority > y.priority;
    return x.ready != y.ready ? x.ready < y.ready : a < b;
  }

  bool hand_out(int t) {
    for (std::size_t i = 0; i < state_.size(); ++i) {
      State& s = state_[i];
      for (std::size_t p = 0; p < s.left.size() && s.idle > 0; ++p) {
        if (s.left[p] > 0 && m_.items[i].readiness[p] > t && m_.items[i].fixed_order) break;
        if (m_.items[i].readiness[p] > t) continue;
        for (; s.left[p] > 0 && s.idle > 0; --s.left[p], --s.idle, ++s.running) {
          s.tile_ends.emplace(t + m_.items[i].seconds, static_cast<int>(p));
        }
      }
      if (const int surplus = s.idle - sum(s.left); surplus > 0) {
        s.idle -= surplus;
        free_ += surplus;
        return true;
      }
    }
    return false;
  }

  const Machine& m_;
  int free_;
  std::vector<State> state_;
};

std::uint32_t draw(std::uint64_t& state, std::uint32_t n) {
  state ^= state << 13U;
  state ^= state >> 7U;
  state ^= state << 17U;
  return static_cast<std::uint32_t>(state % n);
}

Machine random_machine(std::uint64_t seed) {
  std::uint64_t s = seed * 0x9e3779b97f4a7c15ULL + 1;
  const auto upto = [&s](std::uint32_t n) { return static_cast<int>(draw(s, n)); };
  Machine m;
  const int count = 2 + upto(4);
  for (int i = 0; i < count; ++i) {
    Item item;
    item.ready = upto(12);
    item.priority = upto(3) == 0 ? 1 : 0;
    item.sms = 1 + upto(8);
    item.seconds = 1 + upto(4);
    item.fixed_order = upto(4) == 0;
    if (upto(3) != 0) {
      const int parts = 1 + upto(3);
      for (int p = 0; p < parts; ++p) {
        item.tiles.push_back(1 + upto(30));
        item.readiness.push_back(upto(2) == 0 ? 0 : upto(25));
      }
    }
    m.items.push_back(item);
  }
  return m;
}

// The same machine as a graph; `traffic` runs the tiles as flows on an HBM that is never full.
Bench graph_of(const Machine& m, double traffic, std::vector<OpId>& ops) {
  Bench b(1);
  const PoolId sms = b.pool(0, static_cast<std::uint32_t>(m.sms));
  const ResourceId hbm = b.fluid(1e9);
  std::uint32_t lane = 0;
  for (const Item& item : m.items) {
    const OpId ready = b.fixed({0, lane++}, item.ready);
    std::vector<std::vector<Dep>> waits;
    std::vector<std::uint32_t> parts;
    for (std::size_t p = 0; p < item.tiles.size(); ++p) {
      parts.push_back(static_cast<std::uint32_t>(item.tiles[p]));
      waits.push_back({on(b.fixed({0, lane++}, item.readiness[p]))});
    }
    const At at{0, lane++, item.priority};
    if (item.tiles.empty()) {
      ops.push_back(b.fixed(at, item.seconds, {on(ready)}));
      b.need(ops.back(), sms, static_cast<std::uint32_t>(item.sms));
    } else {
      ops.push_back(b.kernel(at,
                             {.parts = parts,
                              .workers = static_cast<std::uint32_t>(item.sms),
                              .tile = static_cast<double>(item.seconds),
                              .traffic = traffic,
                              .pool = sms,
                              .order = item.fixed_order ? PartOrder::fixed : PartOrder::ready,
                              .waits = waits},
                             {on(ready)}, {hbm}));
    }
  }
  return b;
}

}  // namespace

TEST_CASE("cohorts of tiles end when single tiles would") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Machine m = random_machine(seed);
    Oracle oracle(m);
    oracle.run();
    for (const double traffic : {0.0, 3.0}) {
      std::vector<OpId> ops;
      const Bench b = graph_of(m, traffic, ops);
      const Timeline t = b.run();
      for (std::size_t i = 0; i < ops.size(); ++i) {
        INFO("seed " << seed << ", traffic " << traffic << ", item " << i);
        CHECK(end_of(t, ops[i]) == Approx(oracle.end(i)).epsilon(1e-9));
        if (m.items[i].tiles.empty()) continue;
        const std::uint32_t first = b.part(ops[i], 0).part.v;
        for (std::size_t p = 0; p < m.items[i].tiles.size(); ++p) {
          CHECK(t.part_ends[first + p].si() == Approx(oracle.part_ends(i)[p]).epsilon(1e-9));
        }
      }
    }
  }
}
