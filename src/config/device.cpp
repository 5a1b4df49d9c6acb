// Device files.
#include <filesystem>
#include <map>
#include <mutex>

#include "config/keys.hpp"
#include "config/paths.hpp"
#include "config/reader.hpp"
#include "config/values.hpp"
#include "overlap/config.hpp"
#include "overlap/kernel_table.hpp"

namespace overlap {
namespace {

using config::Cursor;
using config::Object;

// A derived file: members of `over` replace those of `base`; objects are merged key by key.
config::Value merged(config::Value base, const config::Value& over) {
  for (const auto& [key, value] : over.members) {
    if (key == "base") continue;
    config::Value* found = nullptr;
    for (auto& [name, old] : base.members) {
      if (name == key) found = &old;
    }
    if (found == nullptr) {
      base.members.emplace_back(key, value);
    } else if (found->kind == config::Value::Kind::object && value.kind == config::Value::Kind::object) {
      *found = merged(std::move(*found), value);
    } else {
      *found = value;
    }
  }
  return base;
}

void read_peaks(const Cursor& at, Device& d) {
  const Object o(at, config::peak_keys());
  bool any = false;
  for (const std::string_view key : config::peak_keys().keys) {
    if (key == "source" || !o.has(key)) continue;
    d.peak[static_cast<std::size_t>(*parse_dtype(key))] = o.at(key).flop_rate();
    any = true;
  }
  if (!any) o.fail("at least one dtype is needed");
}

// A study reads its device file for every experiment: the kernel table, by far the largest part, is read once for as
// long as the file stays as it is.
std::shared_ptr<const KernelTable> shared_table(const std::string& path) {
  struct Known {
    std::filesystem::file_time_type written;
    std::uintmax_t size = 0;
    std::shared_ptr<const KernelTable> table;
  };
  static std::mutex guard;
  static std::map<std::string, Known> known;
  std::error_code unreadable;
  const auto written = std::filesystem::last_write_time(path, unreadable);
  const std::uintmax_t size = std::filesystem::file_size(path, unreadable);
  if (unreadable) return load_kernel_table(path);  // tells what is wrong
  const std::lock_guard lock(guard);
  Known& k = known[path];
  if (!k.table || k.written != written || k.size != size) k = {written, size, load_kernel_table(path)};
  return k.table;
}

GemmCoefficients read_gemm(const Cursor& at) {
  const Object o(at, config::gemm_keys());
  GemmCoefficients g;
  g.mma_efficiency = o.at("mma_efficiency").ratio(0.01, 1.5);
  g.fixed = o.at("fixed").time();
  g.tile = o.at("tile").time();
  g.l2_bytes_per_clock = o.at("l2_bytes_per_clock").ratio(0.1, 1e5);
  g.hbm_efficiency = o.at("hbm_efficiency").fraction();
  g.power_floor = o.at("power_floor").fraction();
  g.power_time = o.at("power_time").time();
  g.split_k = o.at("split_k").time();
  g.accumulate_share = o.at("accumulate_share").ratio(0, 1);
  if (o.has("busy_node")) g.busy_node = o.at("busy_node").ratio(0, 1);
  if (o.has("kernels")) {
    const Cursor c = o.at("kernels");
    g.kernels = shared_table(config::resolve(c.text(), c.file(), "configs/devices"));
  }
  return g;
}

StreamCosts read_stream(const Cursor& at) {
  const Object o(at, config::stream_keys());
  StreamCosts s;
  s.kernel_gap = o.at("kernel_gap").time();
  s.satisfied_wait = o.at("satisfied_wait").time();
  s.local_wait = o.at("local_wait").time();
  s.remote_wait = o.at("remote_wait").time();
  s.copy_start = o.at("copy_start").time();
  s.copy_gap = o.at("copy_gap").time();
  s.collective_start = o.at("collective_start").time();
  s.release_join = o.at("release_join").time();
  if (o.has("join")) s.join = o.at("join").time();
  if (o.has("remote_join")) s.remote_join = o.at("remote_join").time();
  if (o.has("race_window")) s.race_window = o.at("race_window").time();
  if (o.has("collective_gap")) s.collective_gap = o.at("collective_gap").time();
  if (o.has("copy_event")) s.copy_event = o.at("copy_event").time();
  if (o.has("kernel_event")) s.kernel_event = o.at("kernel_event").time();
  return s;
}

CollectiveTable read_collective(const Cursor& at) {
  constexpr std::string_view kKinds[] = {"all_gather", "reduce_scatter", "all_reduce", "all_to_all"};
  const Object o(at, config::collective_keys());
  CollectiveTable t;
  t.kind = kKinds[o.at("kind").choice(kKinds)];
  t.members = static_cast<std::uint32_t>(o.at("members").integer(2, 1 << 20));
  t.channels = o.at("channels").count(1024);
  if (o.has("in_place")) t.in_place = o.at("in_place").boolean();
  if (t.in_place && t.kind != "all_gather") o.at("in_place").fail("only an all_gather has a table in place");
  for (const Cursor& c : o.at("knots").items()) {
    const Object knot(c, config::knot_keys());
    const CollectiveKnot k{knot.at("bytes").bytes(), knot.at("time").time()};
    if (!t.knots.empty() && (k.bytes <= t.knots.back().bytes || k.time < t.knots.back().time)) {
      knot.fail("bytes must grow from knot to knot, and times must not fall");
    }
    t.knots.push_back(k);
  }
  if (t.knots.size() < 2) o.at("knots").fail("at least two knots are needed");
  return t;
}

OwnKernels read_own_kernels(const Cursor& at) {
  const Object o(at, config::own_kernels_keys());
  OwnKernels k;
  k.copy = o.at("copy").bandwidth();
  k.compress = o.at("compress").bandwidth();
  k.decompress = o.at("decompress").bandwidth();
  k.compress_start = o.at("compress_start").time();
  k.decompress_start = o.at("decompress_start").time();
  return k;
}

PowerCap read_power(const Cursor& at) {
  const Object o(at, config::power_keys());
  return {o.at("onset").time(), o.at("steady_ratio").ratio(1, 10), o.at("ramp").time()};
}

Device read_device(const Cursor& at) {
  const Object o(at, config::device_keys());
  Device d;
  d.name = o.at("name").text();
  d.source = o.at("source").text();
  d.sms = o.at("sms").count(65536);
  d.clock = o.at("clock").frequency();
  read_peaks(o.at("peak"), d);
  d.l2 = o.at("l2").bytes();
  d.memory = o.at("memory").bytes();
  d.hbm = o.at("hbm").bandwidth();
  d.hbm_efficiency = o.at("hbm_efficiency").fraction();
  d.copy_engines = o.at("copy_engines").count(1024);
  d.collective_channels = o.at("collective_channels").count(1024);
  if (o.has("own_kernels")) d.own_kernels = read_own_kernels(o.at("own_kernels"));
  if (o.has("collective_cluster")) d.collective_cluster = o.at("collective_cluster").count(64);
  if (o.has("sm_groups")) {
    const Object groups(o.at("sm_groups"), config::sm_groups_keys());
    std::uint32_t sum = 0;
    for (const Cursor& c : groups.at("sms").items()) {
      d.sm_groups.push_back(c.count(1024));
      sum += d.sm_groups.back();
    }
    if (sum != d.sms) groups.at("sms").fail("the groups must hold " + std::to_string(d.sms) + " SMs together");
  }
  if (o.has("dma_2d")) d.dma_2d = o.at("dma_2d").boolean();
  d.gemm = read_gemm(o.at("gemm"));
  d.stream = read_stream(o.at("stream"));
  if (o.has("collectives")) {
    for (const Cursor& c : o.at("collectives").items()) d.collectives.push_back(read_collective(c));
  }
  if (o.has("power")) d.power = read_power(o.at("power"));
  if (o.has("estimate")) d.estimate = o.at("estimate").boolean();
  if (o.has("validated_error")) d.validated_error = o.at("validated_error").ratio(0, 10);
  return d;
}

config::Value load_merged(const std::string& file, int depth) {
  config::Value value = config::parse_file(file);
  const config::Value* base = value.find("base");
  if (base == nullptr) return value;
  const Cursor at(*base, file, "/base");
  if (depth > 8) at.fail("bases that refer to each other");
  return merged(load_merged(config::resolve(at.text(), file, "configs/devices"), depth + 1), value);
}

}  // namespace

config::Value config::device_value(const std::string& path) {
  return load_merged(config::resolve(path, "", "configs/devices"), 0);
}

Device config::device_from(const config::Value& value, const std::string& file) {
  return read_device(Cursor(value, file, ""));
}

Device load_device(const std::string& path) {
  const std::string file = config::resolve(path, "", "configs/devices");
  const config::Value value = load_merged(file, 0);
  return read_device(Cursor(value, file, ""));
}

}  // namespace overlap
