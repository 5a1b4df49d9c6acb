// Tiled kernels: which tiles their workers take, and when parts and kernels are complete.
#include <algorithm>

#include "engine/run.hpp"

namespace overlap::engine {

std::span<const std::uint32_t> Run::part_tiles(std::uint32_t i) const {
  const Range r = tile_demand(i).part_tiles;
  return {demands_.part_tiles.data() + r.begin, r.size()};
}

std::uint32_t Run::total_tiles(std::uint32_t i) const {
  std::uint32_t sum = 0;
  for (const std::uint32_t n : part_tiles(i)) sum += n;
  return sum;
}

std::uint32_t Run::new_kernel(const Claim& c) {
  std::uint32_t index = 0;
  if (free_kernels_.empty()) {
    index = static_cast<std::uint32_t>(kernels_.size());
    kernels_.emplace_back();
    plan_.parts.emplace_back();  // its slot for the case that the op has no parts
    open_parts_.resize(plan_.parts.size());
  } else {
    index = free_kernels_.back();
    free_kernels_.pop_back();
  }
  const std::uint32_t i = plan_.member_op[c.member];
  const TileDemand& d = tile_demand(i);
  Kernel& k = kernels_[index];
  k = Kernel();
  k.op = i;
  k.claim = c;
  k.tiles = k.unstarted = k.unfinished = total_tiles(i);
  k.workers = std::min(d.workers, k.tiles);
  k.parts = static_cast<std::uint32_t>(part_tiles(i).size());
  k.first_part = static_cast<std::uint32_t>(graph_.parts().size()) + index;
  if (const Gemm* gemm = std::get_if<Gemm>(&op(i).work)) {
    if (!gemm->parts.empty()) k.first_part = gemm->parts.begin;
    k.fixed_order = gemm->order == PartOrder::fixed;
  }
  k.persistent = d.scheduler == TileScheduler::static_persistent;
  k.resident = d.scheduler == TileScheduler::persistent;
  if (d.pool.valid()) k.pool = d.pool.v;
  k.cluster = d.cluster;
  activity_[i] = index;
  return index;
}

void Run::begin_kernel(const Claim& c) {
  const std::uint32_t index = new_kernel(c);
  const std::uint32_t i = kernels_[index].op;
  const std::uint32_t first = kernels_[index].first_part;
  for (std::uint32_t p = 0; p < kernels_[index].parts; ++p) {
    plan_.parts[first + p].unstarted = plan_.parts[first + p].unfinished = part_tiles(i)[p];
    plan_.parts[first + p].op = i;
    if (!is_ready(first + p)) continue;
    if (part_tiles(i)[p] == 0) {
      complete_part(i, first + p);
    } else if (!kernels_[index].persistent) {
      open_part(index, first + p);
    }
  }
  if (kernels_[index].tiles == 0) {
    const Seconds end = demand(i).latency + std::max(tile_demand(i).finish, demand(i).tail);
    push(now_ + end.si(), EventKind::op_end, i);
  } else if (const std::uint32_t p = kernels_[index].pool; p != kNone) {
    pools_[p].kernels.push_back(index);
    give_workers(index, granted(kernels_[index]));
  } else {
    give_workers(index, wanted(kernels_[index]));
  }
}

// Hands `sms` more SMs to a kernel. Those that it gave back at this date go on at once, others warm up first.
void Run::give_workers(std::uint32_t index, std::uint32_t sms) {
  Kernel& k = kernels_[index];
  k.held += sms;
  if (k.pool != kNone) take_slots(k.pool, sms, k.cluster, k.places);
  const std::uint32_t warm = k.persistent ? 0 : std::min(sms, k.returned);
  k.returned -= warm;
  k.idle += warm;
  mark_kernel(index);
  const std::uint32_t cold = sms - warm;
  if (cold == 0) return;
  const Seconds delay = tile_demand(k.op).first_tile + (k.fresh ? demand(k.op).latency : Seconds(0));
  if (k.resident && !k.fresh && k.open_parts > 0) {
    start_late_workers(index, cold, delay);
    return;
  }
  k.fresh = false;
  const std::uint32_t worker = k.next_worker;
  k.next_worker += cold;
  if (!k.persistent && delay.si() <= 0.0) {
    k.idle += cold;
    return;
  }
  k.warming += cold;
  const std::uint32_t c = new_cohort(index);
  cohorts_[c].state = CohortState::warming;
  cohorts_[c].count = cold;
  cohorts_[c].worker = worker;
  push(now_ + delay.si(), EventKind::cohort, c, cohorts_[c].generation);
}

// Tiles of a resident kernel that the workers which run may take: those of workers that wait for an SM are theirs.
std::uint32_t Run::claimable(const Kernel& k) const {
  if (!k.resident) return k.unstarted;
  const std::uint32_t late = k.workers - k.next_worker;
  const std::uint32_t theirs = late + std::min(late, k.tiles - k.workers);
  return k.unstarted - std::min(k.unstarted, theirs);
}

// Workers that got their SM late run the tiles that they claimed at launch: two each where there are that many, one
// where others have taken the rest. Those for whom none is left let their SMs go.
void Run::start_late_workers(std::uint32_t index, std::uint32_t sms, Seconds delay) {
  const std::uint32_t part = kernels_[index].first_part;
  const std::uint32_t twice = std::min(sms, kernels_[index].tiles - kernels_[index].workers);
  std::uint32_t left = sms;
  for (const std::uint32_t waves : {2U, 1U}) {
    Kernel& k = kernels_[index];
    const std::uint32_t count = std::min(waves == 2 ? twice : left, k.unstarted / waves);
    if (count == 0) continue;
    left -= count;
    k.next_worker += count;
    k.warming += count;
    k.unstarted -= count * waves;
    plan_.parts[part].unstarted -= count * waves;
    const std::uint32_t c = new_cohort(index);
    cohorts_[c].state = CohortState::warming;
    cohorts_[c].count = count;
    cohorts_[c].waves = waves;
    cohorts_[c].part = part;
    cohorts_[c].own = true;
    push(now_ + delay.si(), EventKind::cohort, c, cohorts_[c].generation);
  }
  if (plan_.parts[part].unstarted == 0) close_part(index, part);
  if (left == 0) return;
  kernels_[index].next_worker += left;
  take_back(kernels_[index], left);
}

void Run::mark_kernel(std::uint32_t index) {
  if (kernels_[index].dirty) return;
  kernels_[index].dirty = true;
  dirty_kernels_.push_back(index);
}

// The part of which a free worker takes a tile now, or kNone.
std::uint32_t Run::ready_part(Kernel& k) const {
  if (k.open_parts == 0) return kNone;
  if (!k.fixed_order) {
    k.cursor = open_parts_.next(k.first_part + k.cursor) - k.first_part;
    return k.first_part + k.cursor;
  }
  while (k.cursor < k.parts && plan_.parts[k.first_part + k.cursor].unstarted == 0) ++k.cursor;
  if (k.cursor == k.parts || !is_ready(k.first_part + k.cursor)) return kNone;
  return k.first_part + k.cursor;
}

// The part is ready and has tiles to start.
void Run::open_part(std::uint32_t kernel, std::uint32_t part) {
  Kernel& k = kernels_[kernel];
  k.cursor = std::min(k.cursor, part - k.first_part);
  if (open_parts_.contains(part)) return;
  open_parts_.insert(part);
  ++k.open_parts;
}

void Run::close_part(std::uint32_t kernel, std::uint32_t part) {
  open_parts_.erase(part);
  --kernels_[kernel].open_parts;
}

// Somebody with a better place in line waits for SMs of this kernel's pool.
bool Run::contested(const Kernel& k) const {
  if (k.pool == kNone || k.resident) return false;
  const Pool& pool = pools_[k.pool];
  if (!pool.line.empty() && goes_before(pool.line.front(), k.claim)) return true;
  return std::any_of(pool.kernels.begin(), pool.kernels.end(), [&](std::uint32_t other) {
    return goes_before(kernels_[other].claim, k.claim) && wanted(kernels_[other]) > 0;
  });
}

// Gives tiles to idle workers, and lets workers go for whom none are left.
void Run::dispatch(std::uint32_t index) {
  if (kernels_[index].op == kNone || kernels_[index].persistent) return;
  if (kernels_[index].idle > claimable(kernels_[index]) && kernels_[index].future > 0) split_waves(index);
  hand_out(index);
  Kernel& k = kernels_[index];
  const std::uint32_t tiles = claimable(k);
  if (k.idle > tiles) {
    const std::uint32_t surplus = k.idle - tiles;
    k.idle -= surplus;
    take_back(k, surplus);
  }
}

void Run::hand_out(std::uint32_t index) {
  Kernel& k = kernels_[index];
  if (k.idle == 0) return;
  const TileDemand& d = tile_demand(k.op);
  const std::uint32_t room = k.pool == kNone ? d.workers : pools_[k.pool].free;
  const bool last =
      k.unstarted <= k.idle && k.unstarted < std::min<std::uint64_t>(d.workers, std::uint64_t{k.idle} + room);
  while (k.idle > 0) {
    const std::uint32_t part = ready_part(k);
    if (part == kNone) return;
    const std::uint32_t left = std::min(plan_.parts[part].unstarted, claimable(k));
    if (left == 0) return;
    const std::uint32_t count = std::min(k.idle, left);
    const bool several = !last && count == k.idle && left / 2 >= k.held && !contested(k);
    const std::uint32_t waves = several ? left / k.held : 1;
    const std::uint32_t c = new_cohort(index);
    cohorts_[c].count = count;
    cohorts_[c].waves = waves;
    cohorts_[c].part = part;
    k.idle -= count;
    k.unstarted -= count * waves;
    k.future += count * (waves - 1);
    plan_.parts[part].unstarted -= count * waves;
    if (plan_.parts[part].unstarted == 0) close_part(index, part);
    start_wave(c, last && !k.resident ? d.last_wave : 1.0);
  }
}

// Workers at a tile boundary: their SMs go back to the pool, to be dealt out anew at this date.
void Run::take_back(Kernel& k, std::uint32_t sms) {
  const auto index = static_cast<std::uint32_t>(&k - kernels_.data());
  if (k.pool == kNone && k.persistent) {
    k.held -= sms;
    return;
  }
  if (k.pool == kNone) {
    const std::uint32_t keep = std::min(sms, k.unstarted + k.future > k.idle ? k.unstarted + k.future - k.idle : 0);
    k.idle += keep;
    k.held -= sms - keep;
    if (keep > 0) mark_kernel(index);
    return;
  }
  if (k.resident) {
    const std::uint32_t tiles = claimable(k) + k.future;
    const std::uint32_t keep = std::min(sms, tiles > k.idle ? tiles - k.idle : 0);
    k.idle += keep;
    sms -= keep;
    if (keep > 0) mark_kernel(index);
    if (sms == 0) return;
  }
  k.held -= sms;
  if (!k.resident) k.returned += sms;
  give_slots(k.pool, sms, k.places);
  mark_dirty(k.pool);
}

void Run::credit(std::uint32_t kernel, std::uint32_t part, std::uint32_t tiles) {
  kernels_[kernel].unfinished -= tiles;
  plan_.parts[part].unfinished -= tiles;
  if (tiles > 0 && plan_.parts[part].unfinished == 0) complete_part(kernels_[kernel].op, part);
}

// The last wait of a part was met.
void Run::part_ready(std::uint32_t part) {
  const std::uint32_t i = plan_.parts[part].op;
  if (i == kNone) return;  // its kernel has not begun
  if (plan_.parts[part].unfinished == 0) {
    complete_part(i, part);  // no tiles; its kernel may have ended
    return;
  }
  const std::uint32_t kernel = activity_[i];
  Kernel& k = kernels_[kernel];
  if (k.persistent) {
    unpark(kernel, part);
    return;
  }
  const bool earlier = part - k.first_part < k.cursor;
  open_part(kernel, part);
  if (earlier && k.future > 0) split_waves(kernel);  // lowest index first, from the next tile on
  if (kernels_[kernel].idle > 0) mark_kernel(kernel);
}

void Run::complete_part(std::uint32_t i, std::uint32_t part) {
  if (part >= graph_.parts().size()) return;
  const double tail = demand(i).tail.si();
  if (tail > 0.0) {
    push(now_ + tail, EventKind::part_end, part);
    return;
  }
  timeline_.part_ends[part] = Seconds(now_);
  complete(static_cast<std::uint32_t>(graph_.ops().size()) + part);
}

void Run::kernel_done(std::uint32_t index) {
  const std::uint32_t i = kernels_[index].op;
  while (kernels_[index].cohorts != kNone) drop_cohort(kernels_[index].cohorts);
  const Seconds finish = tile_demand(i).finish;
  const Seconds tail = demand(i).tail;
  if (finish < tail) {
    push(now_ + finish.si(), EventKind::kernel_release, index);
  }
  push(now_ + std::max(finish, tail).si(), EventKind::op_end, i);
}

void Run::free_kernel_slots(std::uint32_t index) {
  Kernel& k = kernels_[index];
  if (k.pool == kNone || k.held == 0) return;
  give_slots(k.pool, k.held, k.places);
  k.held = k.idle = k.warming = 0;
  mark_dirty(k.pool);
}

void Run::free_kernel(std::uint32_t index) {
  free_kernel_slots(index);
  if (const std::uint32_t p = kernels_[index].pool; p != kNone) std::erase(pools_[p].kernels, index);
  activity_[kernels_[index].op] = kNone;
  kernels_[index].op = kNone;
  free_kernels_.push_back(index);
}

}  // namespace overlap::engine
