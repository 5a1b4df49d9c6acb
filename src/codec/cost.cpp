#include <algorithm>

#include "overlap/codec.hpp"

namespace overlap {
namespace {

CodecCost plain() {
  return {};
}

// Throughput of ZipCCL's kernels is not published. One pass: reads 2 bytes a value, writes 1.42, and back; taken as a
// memory-bound kernel of 16 SMs with the rate that UCCL-Zip's large blocks reach.
CodecCost window() {
  CodecCost c;
  c.ratio = 0.708;  // the middle of 0.706..0.710 for Gaussian data
  c.early = 0.5;
  c.early_time = 1.0;
  c.compress_start = Seconds(5e-6);
  c.decompress_start = Seconds(5e-6);
  c.compress = Bandwidth(600e9);
  c.decompress = Bandwidth(600e9);
  c.compress_traffic = 1.0 + c.ratio;
  c.decompress_traffic = 1.0 + c.ratio;
  c.ctas = 16;
  c.estimate = true;
  return c;
}

// UCCL-Zip on H200: 4 MB in 70 us, 16 MB in 90 us, so 63 us + bytes/600 GB/s; first pass 14 % of the time.
// 16 MB at 49.7 GB/s gains 8 % over plain, which leaves about 70 us of decompression on the path.
// Traffic: split (read 1, write 1), encode (read 1/2, write coded), coalesce (read and write coded).
CodecCost entropy() {
  CodecCost c;
  c.ratio = 0.68;
  c.early = 0.5;
  c.early_time = 0.14;
  c.compress_start = Seconds(63.3e-6);
  c.decompress_start = Seconds(43e-6);
  c.compress = Bandwidth(600e9);
  c.decompress = Bandwidth(600e9);
  c.compress_traffic = 2.0 + 0.5 + 3 * (c.ratio - c.early);
  c.decompress_traffic = 1.0 + c.ratio;
  c.ctas = 0;
  return c;
}

}  // namespace

const CodecCost& codec_cost(Codec codec) {
  static const CodecCost costs[] = {plain(), window(), entropy()};
  return costs[static_cast<std::size_t>(codec)];
}

Seconds compress_time(const CodecCost& c, Bytes original) {
  return c.compress.si() > 0 ? c.compress_start + original / c.compress : Seconds{};
}

Seconds decompress_time(const CodecCost& c, Bytes original) {
  return c.decompress.si() > 0 ? c.decompress_start + original / c.decompress : Seconds{};
}

Seconds plain_send(Bytes original, Bandwidth b) {
  return original / b;
}

Seconds coded_send(Bytes original, Bandwidth b, double ratio, Seconds compress) {
  return compress + original * ratio / b;
}

Seconds split_send(Bytes original, Bandwidth b, double ratio, double early, double early_time, Seconds compress) {
  const Seconds raw = original * early / b;
  return compress * early_time + std::max(compress * (1.0 - early_time), raw) + original * (ratio - early) / b;
}

Bandwidth break_even(double ratio, Bandwidth compress, Bandwidth decompress) {
  return (1.0 - ratio) / (1.0 / compress + 1.0 / decompress);
}

}  // namespace overlap
