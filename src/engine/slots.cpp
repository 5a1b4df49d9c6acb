// Who is admitted: lines of claims at slot pools and tokens, and the SMs of resident tiled kernels.
#include <algorithm>

#include "engine/run.hpp"

namespace overlap::engine {
namespace {
bool goes_after(const Claim& a, const Claim& b) {
  return goes_before(b, a);
}
}  // namespace

void Line::push(const Claim& c) {
  heap_.push_back(c);
  if (heap_.size() > 1) std::push_heap(heap_.begin(), heap_.end(), goes_after);
}

void Line::pop() {
  if (heap_.size() > 1) std::pop_heap(heap_.begin(), heap_.end(), goes_after);
  heap_.pop_back();
}

void Run::make_pools() {
  pools_.resize(resources_.pools.size());
  pool_set_.resize(pools_.size());
  for (std::uint32_t p = 0; p < pools_.size(); ++p) pools_[p].count = pools_[p].free = resources_.pools[p].count;
  make_groups();
  pool_table_ = PoolTable(resources_.pools, graph_.devices());
}

void Run::make_tokens() {
  for (const std::uint32_t count : graph_.token_counts()) tokens_.push_back(count);
  token_lines_.resize(tokens_.size());
  if (graph_.token_uses().empty()) return;
  token_uses_ = graph_.token_uses();
  std::stable_sort(token_uses_.begin(), token_uses_.end(),
                   [](const TokenUse& a, const TokenUse& b) { return a.op < b.op; });
  token_begin_.assign(graph_.ops().size() + 1, 0);
  for (const TokenUse& u : token_uses_) ++token_begin_[u.op.index() + 1];
  for (std::size_t i = 0; i < graph_.ops().size(); ++i) token_begin_[i + 1] += token_begin_[i];
}

std::span<const TokenUse> Run::tokens_of(std::uint32_t i) const {
  if (token_begin_.empty()) return {};
  return {token_uses_.data() + token_begin_[i], token_begin_[i + 1] - token_begin_[i]};
}

// A token that the op must still take and that is not there, or kNone. The first member takes them.
std::uint32_t Run::lacking_token(std::uint32_t i) const {
  if (token_begin_.empty() || members_missing_[i] != lanes_of(i).size()) return kNone;
  for (const TokenUse& u : tokens_of(i)) {
    if (u.take > 0 && tokens_[u.token.index()] < u.take) return u.token.v;
  }
  return kNone;
}

void Run::take_tokens(std::uint32_t i) {
  if (token_begin_.empty() || members_missing_[i] != lanes_of(i).size()) return;
  for (const TokenUse& u : tokens_of(i)) tokens_[u.token.index()] -= u.take;
}

void Run::give_tokens(std::uint32_t i) {
  if (token_begin_.empty()) return;
  for (const TokenUse& u : tokens_of(i)) {
    if (u.give == 0) continue;
    tokens_[u.token.index()] += u.give;
    given_tokens_.push_back(u.token.v);
  }
}

// The pool that holds `need` for this member.
std::uint32_t Run::pool_of(const SlotNeed& need, std::uint32_t member) const {
  if (member == lanes_of(plan_.member_op[member]).begin) return need.pool.v;
  return pool_table_.like(need.pool, lane(member).device).v;
}

std::span<const SlotNeed> Run::slots_of(std::uint32_t i) const {
  const Range r = demand(i).slots;
  return {demands_.slots.data() + r.begin, r.size()};
}

// The pool in whose line the member stands, or kNone when it needs no slots.
std::uint32_t Run::line_of(std::uint32_t member) const {
  const std::uint32_t i = plan_.member_op[member];
  if (demand(i).kind == DemandKind::tiles && tile_demand(i).pool.valid() && total_tiles(i) > 0) {
    return tile_demand(i).pool.v;
  }
  for (const SlotNeed& need : slots_of(i)) {
    if (need.count > 0) return pool_of(need, member);
  }
  return kNone;
}

void Run::claim(std::uint32_t member) {
  const std::uint32_t i = plan_.member_op[member];
  timeline_.ops[i].ready = Seconds(now_);
  if (lanes_of(i).size() > 1) {
    timeline_.members[member_times_[i] + (member - lanes_of(i).begin)].ready = Seconds(now_);
  }
  stand_in_line({lane(member).priority, now_, tie_of(member), member});
}

// Tokens first: a member stands in line for slots only when its tokens are there.
void Run::stand_in_line(const Claim& c) {
  if (token_begin_.empty()) {
    stand_at_pool(c);
    return;
  }
  const std::uint32_t i = plan_.member_op[c.member];
  const bool first = members_missing_[i] == lanes_of(i).size();
  const auto tokens = tokens_of(i);
  const auto taken = std::find_if(tokens.begin(), tokens.end(), [](const TokenUse& u) { return u.take > 0; });
  if (first && taken != tokens.end()) {
    token_lines_[taken->token.index()].push(c);
    given_tokens_.push_back(taken->token.v);
  } else {
    stand_at_pool(c);
  }
}

void Run::stand_at_pool(const Claim& c) {
  const std::uint32_t pool = line_of(c.member);
  if (pool == kNone) {
    enter(c);
    return;
  }
  pools_[pool].line.push(c);
  mark_dirty(pool);
}

void Run::mark_dirty(std::uint32_t pool) {
  if (pools_[pool].dirty) return;
  pools_[pool].dirty = true;
  dirty_pools_.push_back(pool);
}

// By number. In lock-step schedules a pool of every device is dirty at once: then by way of a set of bits.
void Run::sort_pools() {
  constexpr std::size_t kMany = 32;
  if (dirty_pools_.size() < kMany) {
    std::sort(dirty_pools_.begin(), dirty_pools_.end());
    return;
  }
  for (const std::uint32_t p : dirty_pools_) pool_set_.insert(p);
  std::uint32_t at = 0;
  for (std::uint32_t& p : dirty_pools_) {
    at = p = pool_set_.next(at);
    pool_set_.erase(p);
  }
}

// Deals out what is free. False when there was nothing to deal.
bool Run::arbitrate() {
  if (given_tokens_.empty() && dirty_pools_.empty() && dirty_kernels_.empty()) return false;
  for (std::size_t n = 0; n < given_tokens_.size(); ++n) serve_token(given_tokens_[n]);
  given_tokens_.clear();
  sort_pools();
  for (std::size_t n = 0; n < dirty_pools_.size(); ++n) {
    const std::uint32_t pool = dirty_pools_[n];
    pools_[pool].dirty = false;
    arbitrate_pool(pool);
  }
  dirty_pools_.clear();
  for (std::size_t n = 0; n < dirty_kernels_.size(); ++n) {
    const std::uint32_t k = dirty_kernels_[n];
    kernels_[k].dirty = false;
    dispatch(k);
  }
  dirty_kernels_.clear();
  return true;
}

void Run::serve_token(std::uint32_t token) {
  Line& line = token_lines_[token];
  while (!line.empty()) {
    const Claim c = line.front();
    const std::uint32_t i = plan_.member_op[c.member];
    const std::uint32_t lacking = lacking_token(i);
    if (lacking == token) return;
    line.pop();
    if (lacking != kNone) {
      token_lines_[lacking].push(c);
    } else {
      stand_at_pool(c);
    }
  }
}

void Run::arbitrate_pool(std::uint32_t p) {
  for (;;) {
    Pool& pool = pools_[p];
    const std::uint32_t k = first_wanting(pool);
    const bool waiting = !pool.line.empty();
    if (waiting && (k == kNone || goes_before(pool.line.front(), kernels_[k].claim))) {
      const Claim c = pool.line.front();
      if (const std::uint32_t token = lacking_token(plan_.member_op[c.member]); token != kNone) {
        pool.line.pop();
        token_lines_[token].push(c);
      } else if (fits(c)) {
        pool.line.pop();
        enter(c);
      } else if (!make_kernels_yield(p, c)) {
        break;
      }
    } else if (k != kNone && granted(kernels_[k]) > 0) {
      if (kernels_[k].future > 0) {
        split_waves(k);
      } else {
        give_workers(k, granted(kernels_[k]));
      }
    } else if (k == kNone || !make_kernels_yield(p, Claim(kernels_[k].claim))) {
      break;
    }
  }
  Pool& pool = pools_[p];
  if (pool.kernels.empty()) return;
  std::erase_if(pool.kernels, [this](std::uint32_t k) {
    kernels_[k].returned = 0;
    mark_kernel(k);
    return !wants_more(kernels_[k]);
  });
}

// Lets running waves of kernels that stand behind `c` end at their next tile boundary. True when a boundary is now and
// SMs came free.
bool Run::make_kernels_yield(std::uint32_t p, const Claim& c) {
  const std::uint32_t before = pools_[p].free;
  for (std::size_t n = 0; n < pools_[p].kernels.size(); ++n) {
    const std::uint32_t k = pools_[p].kernels[n];
    if (kernels_[k].resident) continue;
    if (kernels_[k].future > 0 && goes_before(c, kernels_[k].claim)) split_waves(k);
  }
  return pools_[p].free > before;
}

bool Run::fits(const Claim& c) const {
  const std::uint32_t i = plan_.member_op[c.member];
  if (demand(i).kind == DemandKind::tiles && tile_demand(i).pool.valid() && total_tiles(i) > 0 &&
      room(tile_demand(i).pool.v, tile_demand(i).cluster) == 0) {
    return false;
  }
  for (const SlotNeed& need : slots_of(i)) {
    const std::uint32_t pool = pool_of(need, c.member);
    if (need.count > pools_[pool].free) return false;
    if (need.cluster > 1 && need.count > room(pool, need.cluster)) return false;
  }
  return true;
}

// Admission: takes tokens and slots.
void Run::enter(const Claim& c) {
  const std::uint32_t i = plan_.member_op[c.member];
  take_tokens(i);
  for (const SlotNeed& need : slots_of(i)) {
    take_slots(pool_of(need, c.member), need.count, need.cluster, places_of(c.member));
  }
  admit(c.member);
  if (demand(i).kind == DemandKind::tiles) begin_kernel(c);
}

void Run::release_slots(std::uint32_t i) {
  if (slots_of(i).empty()) return;
  for (std::uint32_t m = lanes_of(i).begin; m < lanes_of(i).end; ++m) {
    for (const SlotNeed& need : slots_of(i)) {
      const std::uint32_t p = pool_of(need, m);
      give_slots(p, need.count, places_of(m));
      const Pool& pool = pools_[p];
      if (!pool.line.empty() || !pool.kernels.empty()) mark_dirty(p);  // else nobody is there to take them
    }
  }
}

bool Run::wants_more(const Kernel& k) const {
  return k.persistent || k.resident ? k.next_worker < k.workers : k.unstarted + k.future > 0;
}

// SMs that a resident kernel would take now.
std::uint32_t Run::wanted(const Kernel& k) const {
  if (k.persistent || k.resident) return k.workers - k.next_worker;
  const std::uint32_t tiles = k.unstarted + k.future;
  const std::uint32_t busy = k.idle + k.warming;
  return tiles <= busy ? 0 : std::min(k.workers - k.held, tiles - busy);
}

std::uint32_t Run::first_wanting(const Pool& pool) const {
  std::uint32_t best = kNone;
  for (const std::uint32_t k : pool.kernels) {
    if (wanted(kernels_[k]) == 0) continue;
    if (best == kNone || goes_before(kernels_[k].claim, kernels_[best].claim)) best = k;
  }
  return best;
}

}  // namespace overlap::engine
