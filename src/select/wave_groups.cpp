// FlashOverlap (arXiv 2504.19519): its predictor of overlapped GEMM and collective by groups of waves.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "overlap/error.hpp"
#include "overlap/select.hpp"

namespace overlap {

std::uint32_t wave_tiles(const WaveGroupInputs& in) {
  return ((in.shape.m + in.tile_m - 1) / in.tile_m) * ((in.shape.n + in.tile_n - 1) / in.tile_n);
}

std::uint32_t wave_count(const WaveGroupInputs& in, std::uint32_t sms) {
  if (sms == 0) throw InputError("", "no SM is left for the GEMM");
  return (wave_tiles(in) + sms - 1) / sms;
}

Seconds predict_wave_groups(const WaveGroupInputs& in) {
  if (in.sms <= in.given_sms) throw InputError("", "no SM is left for the GEMM");
  const std::uint32_t workers = in.sms - in.given_sms;
  const std::uint32_t waves = wave_count(in, workers);
  const std::uint32_t given = std::accumulate(in.waves.begin(), in.waves.end(), 0U);
  if (given != waves) throw InputError("", fmt::format("groups of {} waves for a GEMM of {}", given, waves));
  const Seconds wave = in.gemm / static_cast<double>(wave_count(in, in.sms));
  const double tiles = wave_tiles(in);
  Seconds computed;
  Seconds end;
  double done = 0;
  for (const std::uint32_t g : in.waves) {
    computed += wave * static_cast<double>(g);
    const double upto = std::min(tiles, done + static_cast<double>(g) * workers);
    end = std::max(computed, end) + in.comm((upto - done) / tiles);
    done = upto;
  }
  return end;
}

}  // namespace overlap
