// Groups of SMs (GPCs): a cluster of CTAs needs its SMs in one of them, so that free SMs are not always room for it.
#include <algorithm>
#include <numeric>

#include "engine/run.hpp"

namespace overlap::engine {
namespace {

// A cluster to each group that has room for one, in turn. SMs come in pairs (TPCs) where nobody asks for more.
void deal_out(std::vector<std::uint32_t>& left, std::uint32_t count, std::uint32_t cluster, std::uint8_t* place) {
  for (cluster = std::max(2U, cluster); count > 0; cluster = std::max(1U, cluster / 2)) {
    for (bool taken = true; taken && count > 0;) {
      taken = false;
      for (std::size_t g = 0; g < left.size() && count > 0; ++g) {
        if (left[g] < cluster) continue;
        const std::uint32_t n = std::min(cluster, count);
        left[g] -= n;
        count -= n;
        if (n == 2) {  // mostly: a call of memset() would cost more
          place[0] = place[1] = static_cast<std::uint8_t>(g);
        } else {
          std::fill_n(place, n, static_cast<std::uint8_t>(g));
        }
        place += n;
        taken = true;
      }
    }
  }
}

}  // namespace

void Run::make_groups() {
  places_.resize(1);
  for (std::uint32_t p = 0; p < pools_.size(); ++p) {
    const auto& groups = resources_.pools[p].groups;
    if (groups.empty() || groups.size() > 255 || std::accumulate(groups.begin(), groups.end(), 0U) != pools_[p].count)
      continue;
    pools_[p].left = groups;
    places_.resize(plan_.member_op.size());
  }
}

std::vector<std::uint8_t>& Run::places_of(std::uint32_t member) {
  return places_[places_.size() > 1 ? member : 0];
}

// Free slots in whole clusters.
std::uint32_t Run::room(std::uint32_t p, std::uint32_t cluster) const {
  const Pool& pool = pools_[p];
  if (cluster < 2 || pool.left.empty()) return pool.free;
  std::uint32_t sum = 0;
  for (const std::uint32_t slots : pool.left) sum += slots / cluster * cluster;
  return sum;
}

// SMs that a kernel of a pool gets now.
std::uint32_t Run::granted(const Kernel& k) const {
  return std::min(wanted(k), room(k.pool, k.cluster));
}

void Run::take_slots(std::uint32_t p, std::uint32_t count, std::uint32_t cluster, std::vector<std::uint8_t>& places) {
  Pool& pool = pools_[p];
  const bool whole = pool.free == pool.count;
  pool.free -= count;
  if (pool.left.empty()) return;
  places.resize(places.size() + count);
  std::uint8_t* const place = places.data() + places.size() - count;
  if (!whole) {
    deal_out(pool.left, count, cluster, place);
    return;
  }
  // Out of an untouched pool: the beginning of what would be dealt out in all.
  const std::vector<std::uint8_t>& all = whole_order(p, cluster);
  std::copy_n(all.begin(), count, place);
  if (count < all.size() / 2) {
    for (std::uint32_t n = 0; n < count; ++n) --pool.left[all[n]];
  } else {
    std::fill(pool.left.begin(), pool.left.end(), 0U);
    for (std::size_t n = count; n < all.size(); ++n) ++pool.left[all[n]];
  }
}

const std::vector<std::uint8_t>& Run::whole_order(std::uint32_t p, std::uint32_t cluster) {
  const auto& groups = resources_.pools[p].groups;
  for (const WholeOrder& o : whole_orders_) {
    if (o.cluster == cluster && *o.groups == groups) return o.places;
  }
  WholeOrder& o = whole_orders_.emplace_back();
  o.cluster = cluster;
  o.groups = &groups;
  o.places.resize(pools_[p].count);
  std::vector<std::uint32_t> left = groups;
  deal_out(left, pools_[p].count, cluster, o.places.data());
  return o.places;
}

// Gives back the slots that were taken last: workers with the highest numbers run out of tiles first.
void Run::give_slots(std::uint32_t p, std::uint32_t count, std::vector<std::uint8_t>& places) {
  Pool& pool = pools_[p];
  pool.free += count;
  if (pool.left.empty()) return;
  if (count == places.size() && pool.free == pool.count) {  // all, as after many a wave
    pool.left = resources_.pools[p].groups;
    places.clear();
    return;
  }
  for (; count > 0; --count) {
    ++pool.left[places.back()];
    places.pop_back();
  }
}

}  // namespace overlap::engine
