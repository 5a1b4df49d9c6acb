#include <algorithm>
#include <array>
#include <cmath>

#include "cost/kernel_model.hpp"
#include "cost/near_rows.hpp"
#include "overlap/error.hpp"

// Tile model of a library GEMM. A candidate is a tile shape and a split of K; the library's choice is the candidate of
// least time. Per candidate: a K step is a soft maximum of MMA and L2 feed, waves are whole, HBM traffic follows from
// what the tiles of a wave share in L2, and a soft maximum (p = 4, two square roots) joins compute and memory.

namespace overlap::cost {
namespace {

struct Tile {
  double rows, cols;
};
constexpr std::array kTiles = {Tile{128, 256}, Tile{256, 128}, Tile{320, 128}, Tile{192, 192}, Tile{192, 128},
                               Tile{128, 192}, Tile{128, 128}, Tile{64, 256},  Tile{256, 64},  Tile{64, 192},
                               Tile{192, 64},  Tile{128, 64},  Tile{64, 128},  Tile{64, 64},   Tile{64, 32},
                               Tile{32, 64},   Tile{128, 32},  Tile{32, 128},  Tile{16, 128},  Tile{128, 16},
                               Tile{16, 64},   Tile{64, 16}};
constexpr std::array kTileSplits = {1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0};
constexpr double kReference = 128.0 * 256.0;  // tile to which the per-tile cost refers

// What all candidates of one query share, in plain SI numbers.
struct Frame {
  double m, n, k, in, out, sms, all_sms, clock, rate, hbm, l2, feed;
  bool reads_c, quantized, power;
  double c_share;
};

Frame frame_of(const GemmQuery& q) {
  const Device& d = *q.device;
  if (d.sms == 0 || d.clock.si() <= 0) {
    throw InputError("", "device " + d.name + " states no SM count or clock, which the tile model needs");
  }
  Frame f{};
  f.m = q.shape.m, f.n = q.shape.n, f.k = q.shape.k;
  f.in = size_of(q.operand).si(), f.out = size_of(q.output).si();
  f.all_sms = d.sms;
  f.sms = q.sms == 0 ? f.all_sms : std::min<double>(q.sms, f.all_sms);
  f.clock = d.clock.si();
  f.rate = d.peak_of(q.operand).si() / f.all_sms * d.gemm.mma_efficiency;  // FLOP/s of an SM
  f.hbm = d.hbm.si() * d.gemm.hbm_efficiency;
  f.l2 = d.l2.si();
  f.feed = d.gemm.l2_bytes_per_clock * f.clock;
  f.reads_c = q.accumulate && q.effects.accumulate;
  f.c_share = d.gemm.accumulate_share;
  f.quantized = q.effects.decomposition;
  f.power = q.effects.power;
  return f;
}

double output_tiles(const GemmQuery& q, const Frame& f, Tile t) {
  if (!f.quantized) return f.m * f.n / (t.rows * t.cols);
  if (q.parts.size() < 2) return std::ceil(f.m / t.rows) * std::ceil(f.n / t.cols);
  double sum = 0;
  for (const Part& p : q.parts) sum += std::ceil(p.rect.rows / t.rows) * std::ceil(p.rect.cols / t.cols);
  return sum;
}

// HBM bytes with the reuse of a wave: `resident` tiles form a block; the operand that is cheaper to read again is.
double traffic_of(const Frame& f, Tile t, double resident) {
  const double gm = std::ceil(f.m / t.rows), gn = std::ceil(f.n / t.cols);
  const double a = f.m * f.k * f.in, b = f.k * f.n * f.in;
  const double bm = std::clamp(std::sqrt(resident * t.cols / t.rows), 1.0, gm);
  const double bn = std::clamp(resident / bm, 1.0, gn);
  const auto again = [&](double bytes, double passes) {
    return std::max(0.0, std::ceil(passes) - 1.0) * std::max(0.0, bytes - 0.7 * f.l2);
  };
  return a + b + std::min(again(a, gn / bn), again(b, gm / bm)) + f.m * f.n * f.out;
}

GemmPlan candidate(const GemmQuery& q, const Frame& f, Tile t, double splits) {
  const GemmCoefficients& c = q.device->gemm;
  const double bk = 128.0 / f.in;
  const double steps = f.quantized ? std::ceil(std::ceil(f.k / bk) / splits) : f.k / bk / splits;
  const double tiles = output_tiles(q, f, t) * splits;
  const double waves = f.quantized ? std::ceil(tiles / f.sms) : tiles / f.sms;
  const double step = soft_max(2 * t.rows * t.cols * bk / f.rate, (t.rows + t.cols) * bk * f.in / f.feed);
  const double mma = 2 * t.rows * t.cols * bk / f.rate;
  const double fill = f.quantized ? c.tile.si() * (0.35 + 0.65 * t.rows * t.cols / kReference) : 0.0;
  const double overlap = std::clamp(32768.0 / (t.rows * t.cols), 1.0, 4.0);
  const double loop = waves * steps * step;
  double compute = loop + fill * (1 + std::max(0.0, waves - 1) / overlap);
  const double traffic = traffic_of(f, t, f.sms / splits);
  const double memory = traffic / std::min(f.hbm, 64.0 * f.clock * std::min(f.sms, std::max(tiles, 1.0)));
  double body = soft_max(compute, memory);
  if (f.power && c.power_floor < 1) {
    const double duty = std::min(1.0, waves * steps * mma / body);
    compute /= 1 - (1 - c.power_floor) * duty * body / (body + c.power_time.si());
    body = soft_max(compute, memory);
  }
  double extra = 0;
  if (splits > 1) {
    const double partials = 8 * f.m * f.n * splits;
    extra += c.split_k.si() + partials / (partials > 0.5 * f.l2 ? f.hbm : f.feed * f.all_sms);
  }
  if (f.reads_c) extra += f.c_share * f.m * f.n * f.out / f.hbm;
  GemmPlan p;
  p.tile_m = static_cast<std::uint32_t>(t.rows), p.tile_n = static_cast<std::uint32_t>(t.cols);
  p.splits = static_cast<std::uint32_t>(splits);
  p.traffic = Bytes(traffic + (f.reads_c ? f.m * f.n * f.out : 0.0));
  p.total = Seconds(c.fixed.si() + body + extra);
  p.whole = !f.quantized;
  if (p.whole) {
    p.tile_time = p.total;
    return p;
  }
  p.tiles = static_cast<std::uint32_t>(tiles);
  p.workers = std::min(p.tiles, static_cast<std::uint32_t>(f.sms));
  const double first = fill * (1 - 1 / overlap) * body / compute;
  p.first_tile = Seconds(first + 0.5 * c.fixed.si());
  p.tile_time = Seconds((body - first) / waves);
  p.finish = Seconds(0.5 * c.fixed.si() + extra);
  return p;
}

}  // namespace

GemmPlan plan_tile(const GemmQuery& q) {
  const Frame f = frame_of(q);
  const KernelTable* table = f.quantized ? q.device->gemm.kernels.get() : nullptr;
  if (table != nullptr && table->operand == q.operand && !table->kernels.empty()) {
    GemmPlan p = plan_from_table(q, *table);
    p.traffic = Bytes(traffic_of(f, {double(p.tile_m), double(p.tile_n)}, f.sms / p.splits) +
                      (f.reads_c ? f.m * f.n * f.out : 0.0));
    return p;
  }
  GemmPlan best;
  best.total = kForever;
  for (const Tile t : kTiles) {
    for (const double s : kTileSplits) {
      if (s > 1 && f.k / s < 512) break;
      const GemmPlan p = candidate(q, f, t, s);
      if (p.total < best.total) best = p;
    }
  }
  if (table != nullptr && table->kernels.empty()) correct(best, q, *table);
  return best;
}

}  // namespace overlap::cost
