#include <algorithm>
#include <cmath>
#include <numeric>

#include "cost/gemm_plans.hpp"
#include "cost/pricer.hpp"
#include "overlap/codec.hpp"
#include "overlap/error.hpp"
#include "overlap/kernel_table.hpp"

namespace overlap {

Priced price(const OpGraph& graph, const Machine& machine, const CostOptions& options) {
  return cost::Pricer(graph, machine, options).run();
}

namespace cost {
namespace {

// Tiles of a Gemm priced as a whole: their area is the greatest common divisor of the parts' areas.
std::uint64_t common_area(std::span<const Part> parts) {
  std::uint64_t unit = 0;
  for (const Part& p : parts) unit = std::gcd(unit, std::uint64_t{p.rect.rows} * p.rect.cols);
  return unit;
}

// Bytes a clock that an SM reads and writes in a kernel which only adds or copies: what it has in flight to memory.
// Measured: sums of 200 to 400 MB on 16 SMs of an H200 at 1.98 GHz run at 31 to 33 GB/s an SM
// (tests/data/h200x2-host3).
constexpr double kStreamBytesPerClock = 16.5;

// Unit of what a GEMM behind others saves: fine enough to be fitted, and 0.4 ms fit a key.
constexpr double kSaved = 1e-13;

// While every device of the node computes, clocks are a little lower than in a lone run.
void slow_down(GemmPlan& plan, double share) {
  if (plan.tile_m == 0) return;  // `ideal` and `roofline` know no clocks
  for (Seconds* t : {&plan.total, &plan.tile_time, &plan.finish, &plan.first_tile}) *t *= 1 + share;
}

}  // namespace

Demand Pricer::gemm(const Op& op, const Gemm& g) {
  const DeviceId dev = graph_.device_of(op);
  const auto parts = graph_.parts_of(g);
  Demand d;
  d.kind = DemandKind::tiles;
  if (std::uint64_t{g.m} * g.n * g.k == 0 || parts.empty()) {
    d.kind = DemandKind::fixed;
    return d;
  }
  DType output = g.dtype;
  if (const auto c = graph_.slices(parts.front().c); !c.empty()) output = graph_.buffer(c.front().buffer).dtype;
  std::vector<std::uint32_t>& key = gemm_key_;
  key.assign({dev.v, g.m, g.n, g.k, static_cast<std::uint32_t>(g.dtype), static_cast<std::uint32_t>(output),
              g.accumulate ? 1U : 0U, g.max_sms});
  if (parts.size() > 1) {
    for (const Part& p : parts) {
      key.push_back(p.rect.rows);
      key.push_back(p.rect.cols);
    }
  }
  const PricedGemm& lone = priced(dev, g, output, {});
  const Seconds saved = saved_behind(dev, lone.lone);
  if (saved.si() <= 0.0) return lone.demand;
  key.push_back(static_cast<std::uint32_t>(saved.si() / kSaved));
  return priced(dev, g, output, saved).demand;
}

// The GEMM whose key is gemm_key_.
const Pricer::PricedGemm& Pricer::priced(DeviceId dev, const Gemm& g, DType output, Seconds saved) {
  std::uint64_t hash = 0;
  for (const std::uint32_t v : gemm_key_) hash = (hash ^ v) * 0x9E3779B97F4A7C15ULL + (hash >> 32U);
  for (;; ++hash) {
    const auto [known, fresh] = gemms_.emplace(hash);
    if (fresh) {
      known.key = gemm_key_;
      known.demand = price_gemm(dev, g, output, saved);
      known.lone = lone_;
    }
    if (known.key == gemm_key_) return known;
  }
}

// What a GEMM of this lone time does not lose again behind the GEMMs before it on the device.
Seconds Pricer::saved_behind(DeviceId dev, Seconds lone) {
  const auto& kernels = device(dev).gemm.kernels;
  if (!kernels || kernels->dip.loss.si() <= 0.0 || !options_.effects.power) return {};
  const auto lost = [&dip = kernels->dip](Seconds load) {
    const double share = dip.length.si() > 0.0 ? (load - dip.after) / dip.length : (load > dip.after ? 1.0 : 0.0);
    return dip.loss * std::clamp(share, 0.0, 1.0);
  };
  if (load_.empty()) load_.resize(graph_.devices());
  Seconds& load = load_[dev.index()];
  const Seconds saved = lost(lone) - (lost(load + lone) - lost(load));
  load += lone;
  return Seconds(std::floor(saved.si() / kSaved) * kSaved);  // equal GEMMs share a price
}

// A GEMM that no op before it equals; gemm_key_ is its key.
Demand Pricer::price_gemm(DeviceId dev, const Gemm& g, DType output, Seconds saved) {
  const auto parts = graph_.parts_of(g);
  Demand d;
  d.kind = DemandKind::tiles;
  gemm_key_[0] = like_[dev.index()];
  const auto [it, fresh] = plans_.try_emplace(gemm_key_);
  gemm_key_[0] = dev.v;
  if (fresh) {
    const Device& like = machine_.devices[like_[dev.index()]];
    it->second = plan_of(machine_.plans, options_.compute,
                         {&like, {g.m, g.n, g.k}, g.dtype, output, g.accumulate, g.max_sms, parts, options_.effects});
  }
  if (fresh && graph_.devices() > 1 && options_.effects.power) slow_down(it->second, device(dev).gemm.busy_node);
  lone_ = it->second.total;
  if (fresh && saved.si() > 0.0) slow_down(it->second, -(saved / it->second.total));
  d.tiles = tile_demand(dev, g, it->second);
  if (it->second.traffic.si() > 0 && hbm_of(dev).valid()) {
    uses_.assign({{hbm_of(dev), 1.0}});
    const TileDemand& t = out_.demands.tiles[d.tiles];
    if (const ResourceId p = port_[dev.index()]; p.valid() && !it->second.whole) {
      // At its lone rate on all SMs a GEMM fills the path; copies go first (its share is small).
      uses_.push_back({p, t.tile_time.si() / t.tile_traffic.si() / device(dev).sms});
      d.share = kLocalShare;
    }
    d.uses = intern(uses_);
  }
  return d;
}

std::uint32_t Pricer::tile_demand(DeviceId dev, const Gemm& g, const GemmPlan& plan) {
  const auto parts = graph_.parts_of(g);
  TileDemand t;
  t.pool = plan.whole ? mma_pool(dev) : sm_pool(dev);
  t.workers = plan.workers;
  t.cluster = plan.cluster;
  t.scheduler = plan.persistent                ? TileScheduler::persistent
                : g.max_sms > 0 && !plan.whole ? TileScheduler::carve_out
                                               : TileScheduler::dynamic;
  t.first_tile = plan.first_tile;
  t.finish = plan.finish;
  t.last_wave = plan.last_wave;
  std::vector<std::uint32_t>& counts = out_.demands.part_tiles;
  t.part_tiles.begin = static_cast<std::uint32_t>(counts.size());
  std::uint64_t total = 0;
  const std::uint64_t unit = plan.whole ? common_area(parts) : 0;
  for (const Part& p : parts) {
    const std::uint64_t area = std::uint64_t{p.rect.rows} * p.rect.cols;
    const std::uint64_t n = plan.whole ? area / std::max<std::uint64_t>(unit, 1)
                                       : std::uint64_t{(p.rect.rows + plan.tile_m - 1) / plan.tile_m} *
                                             ((p.rect.cols + plan.tile_n - 1) / plan.tile_n) * plan.splits;
    if (n > 0xffffffffU) throw InputError("", "a Gemm has too many tiles");
    counts.push_back(static_cast<std::uint32_t>(n));
    total += n;
  }
  t.part_tiles.end = static_cast<std::uint32_t>(counts.size());
  const double share = static_cast<double>(std::max<std::uint64_t>(total, 1));
  t.tile_time = plan.whole ? plan.tile_time / share : plan.tile_time;
  t.tile_traffic = plan.traffic / share;
  out_.demands.tiles.push_back(t);
  return static_cast<std::uint32_t>(out_.demands.tiles.size() - 1);
}

// Memory bound: every byte read or written once; a remote operand comes over the route. Delay is its own time.
Demand Pricer::elementwise(const Op& op, const Elementwise& e) {
  const DeviceId dev = graph_.device_of(op);
  Demand d;
  if (e.kind == ElementwiseKind::delay) {
    d.latency = e.delay;
    return d;
  }
  d.kind = DemandKind::fluid;
  d.work = graph_.bytes(op.reads) + graph_.bytes(op.writes);
  d.cap = copy_rate(dev);
  if (port_[dev.index()].valid()) d.share = kLocalShare;
  std::vector<Use>& uses = uses_;
  uses.clear();
  const auto touch = [&](Range slices, bool read) {
    for (const Slice& s : graph_.slices(slices)) {
      const DeviceId at = graph_.buffer(s.buffer).device;
      const double share = graph_.bytes(s) / d.work;
      add_hbm(uses, at, share);
      if (at != dev) add_route(uses, read ? at : dev, read ? dev : at, share);
    }
  };
  if (d.work.si() <= 0) {
    d.kind = DemandKind::fixed;
    return d;
  }
  if (e.codec != Codec::none) price_codec(op, e, d);
  if (e.codec == Codec::none && e.ctas > 0 && options_.effects.sm_slots) {
    d.cap = std::min(d.cap, Bandwidth(kStreamBytesPerClock * e.ctas * device(dev).clock.si()));
  }
  touch(op.reads, true);
  touch(op.writes, false);
  d.uses = intern(uses);
  if (options_.effects.sm_slots && device(dev).sms > 0) {
    const std::uint32_t wanted = e.ctas > 0 ? e.ctas : std::max(1U, device(dev).sms / 4);
    d.slots = slots(sm_pool(dev), std::min(wanted, device(dev).sms));
  }
  return d;
}

// A kernel of a codec: its start and its rate, of which the first pass (two writes) or the second (a copy that has a
// codec) take their shares. The rate is in original bytes; the second pass knows them by what is left of them.
void Pricer::price_codec(const Op& op, const Elementwise& e, Demand& d) const {
  CodecCost c = codec_cost(e.codec);
  const OwnKernels& own = device(graph_.device_of(op)).own_kernels;
  if (options_.own_kernels && e.codec == Codec::window && own.compress.si() > 0 && own.decompress.si() > 0) {
    c.compress = own.compress;
    c.decompress = own.decompress;
    c.compress_start = own.compress_start;
    c.decompress_start = own.decompress_start;
  }
  const bool decodes = e.kind == ElementwiseKind::decompress;
  const bool second = e.kind == ElementwiseKind::copy;
  const bool first = e.kind == ElementwiseKind::compress && graph_.slices(op.writes).size() > 1;
  const double share = second ? 1.0 - c.early_time : (first ? c.early_time : 1.0);
  const Bytes moved = graph_.bytes(decodes || second ? op.writes : op.reads);
  const Bytes original = second ? moved / (c.ratio - c.early) : moved;
  const Bandwidth rate = decodes ? c.decompress : c.compress;
  if (share <= 0.0 || rate.si() <= 0.0) return;
  d.latency = (decodes ? c.decompress_start : c.compress_start) * share;
  d.cap = std::min(d.cap, d.work / (original / rate * share));
}

Demand Pricer::demand(const Op& op) {
  if (const auto* g = std::get_if<Gemm>(&op.work)) return gemm(op, *g);
  if (const auto* t = std::get_if<Transfer>(&op.work)) return transfer(op, *t);
  if (const auto* c = std::get_if<Collective>(&op.work)) return collective(op, *c);
  return elementwise(op, std::get<Elementwise>(op.work));
}

Priced Pricer::run() {
  make_resources();
  make_background();
  out_.demands.ops.reserve(graph_.ops().size());
  for (const Op& op : graph_.ops()) out_.demands.ops.push_back(demand(op));
  return std::move(out_);
}

}  // namespace cost
}  // namespace overlap
