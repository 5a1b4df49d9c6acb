// Tables with a header line: m, n, k and times; sizes and times of collectives; matrices of rates between devices. A
// line that begins with '##' opens a further table of the same file, whose title says what it holds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "calibrate/inputs.hpp"
#include "calibrate/table_blocks.hpp"
#include "calibrate/text.hpp"
#include "overlap/error.hpp"

namespace overlap::calibrate {
namespace {

bool read_gemms(Inputs& in, std::uint32_t source, const Block& b, const Columns& c) {
  const auto m = c.find({"m"}), n = c.find({"n"}), k = c.find({"k"});
  if (!m || !n || !k) return false;
  const auto rate = c.find({"tflops", "tflop/s", "tflops/s"});
  const auto dtype = c.find({"dtype", "in_dtype"}), units = c.find({"gfx", "device", "gpu", "gpu_name"});
  const auto splits = c.find({"splitk", "split_k", "splits"});
  if (!c.timed() && !rate) {
    throw InputError(in.where({source, b.line}), "m, n and k, but no column of times (us, ms) or of TFLOP/s");
  }
  std::string device;
  for (const Row& r : b.rows) {
    c.check(r);
    TimedGemm g;
    g.at = {source, r.line};
    g.shape = {c.whole(r, *m), c.whole(r, *n), c.whole(r, *k)};
    double t = c.timed() ? c.seconds(r).value_or(0) : 0;
    if (!c.timed()) {
      const auto v = number(r.fields[*rate]);
      if (!v || *v == 0) c.fail(r, fmt::format("TFLOP/s is '{}'", r.fields[*rate]));
      t = g.shape.flops().si() / (*v * 1e12);
    }
    if (units) {
      if (device.empty()) device = r.fields[*units];
      if (r.fields[*units] != device) {
        c.fail(r,
               fmt::format("a row of {} among rows of {}; calibrate one device at a time", r.fields[*units], device));
      }
    }
    if (splits && number(r.fields[*splits]).value_or(1) >= 1) {
      g.splits = static_cast<std::uint32_t>(*number(r.fields[*splits]));
    }
    if (t == 0) {
      in.reject(g.at, "no time");
    } else if (t < 0) {
      in.reject(g.at, "a negative time");
    } else if (dtype && !contains(lower(r.fields[*dtype]), "16")) {
      in.reject(g.at, "operands of " + r.fields[*dtype] + "; 16-bit operands are fitted");
    } else {
      g.time = Seconds(t);
      in.gemms.push_back(g);
      ++in.sources[source].rows;
    }
  }
  in.sources[source].format = "GEMM table";
  return true;
}

// "8 GPUs", "8x H100", "-g 8"
std::uint32_t members_in(std::string_view title) {
  const std::vector<std::string> w = words(lower(title));
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::string_view next = i + 1 < w.size() ? std::string_view(w[i + 1]) : std::string_view();
    std::string_view head = w[i];
    const bool counted = head.ends_with('x');
    if (counted) head.remove_suffix(1);
    const auto v = number(head);
    const bool gpus = counted || next.starts_with("gpu") || next.starts_with("rank") || (i > 0 && w[i - 1] == "-g");
    if (v && gpus && *v >= 2 && *v <= 4096) return static_cast<std::uint32_t>(*v);
  }
  return 0;
}

// Counts devices of a field such as "8", "0,1" or "0,1,6,7".
std::uint32_t members_of(const std::string& field) {
  const auto commas = static_cast<std::uint32_t>(std::count(field.begin(), field.end(), ','));
  if (commas > 0) return commas + 1;
  return static_cast<std::uint32_t>(number(field).value_or(0));
}

bool read_collectives(Inputs& in, std::uint32_t source, const Block& b, const Columns& c) {
  const auto bytes = c.find({"bytes", "size", "size_bytes", "message_size", "nbytes"});
  const auto kib = c.find({"kib", "size_kib"}), mib = c.find({"mib", "size_mib"});
  const auto alg = c.ending("algbw_gbps"), bus = c.ending("busbw_gbps");
  const auto size = bytes ? bytes : kib ? kib : mib;
  if (!size || (!c.timed() && !alg && !bus)) return false;
  const auto test = c.find({"test", "collective", "op", "operation"});
  const auto gpus = c.find({"gpus", "ranks", "members", "num_workers", "nranks", "world_size"});
  const auto env = c.find({"env"});
  const std::string whole = b.title + " " + in.sources[source].file;
  for (const Row& r : b.rows) {
    c.check(r);
    const Place at{source, r.line};
    TimedCollective t;
    t.at = at;
    t.kind = collective_kind(test ? r.fields[*test] : whole);
    t.members = gpus ? members_of(r.fields[*gpus]) : members_in(b.title);
    const auto v = number(r.fields[*size]);
    if (!v || *v < 0) c.fail(r, fmt::format("{} is '{}', a size is needed", b.head[*size], r.fields[*size]));
    t.bytes = Bytes(*v * (bytes ? 1 : kib ? 1024 : 1048576));
    if (t.kind.empty()) {
      in.reject(at, "no collective is named (all_reduce, all_gather, reduce_scatter, all_to_all)");
      continue;
    }
    if (t.members < 2) {
      in.reject(at, "the number of devices is not stated");
      continue;
    }
    if (env && !r.fields[*env].empty()) {
      in.reject(at, "measured under " + r.fields[*env] + ", not the library's default");
      continue;
    }
    if (t.bytes.si() == 0) {
      in.reject(at, "no bytes");
      continue;
    }
    double time = c.timed() ? c.seconds(r).value_or(0) : 0;
    const double told = alg ? number(r.fields[*alg]).value_or(0) : 0;
    const double bus_rate = bus ? number(r.fields[*bus]).value_or(0) : 0;
    if (time == 0 && told > 0) time = t.bytes.si() / (told * 1e9);
    if (time == 0 && bus_rate > 0) time = t.bytes.si() / (bus_rate / bus_factor(t.kind, t.members) * 1e9);
    if (time <= 0) {
      in.reject(at, time < 0 ? "a negative time" : "no time");
      continue;
    }
    // Printed rates have two decimals.
    if (told > 1 && std::abs(t.bytes.si() / time / (told * 1e9) - 1) > 0.05) {
      in.reject(at, fmt::format("bytes over time are {:.2f} GB/s, the row says {}", t.bytes.si() / time / 1e9, told));
      continue;
    }
    t.time = Seconds(time);
    in.collectives.push_back(t);
    ++in.sources[source].rows;
  }
  in.sources[source].format = "collective table";
  return true;
}

// Number of a device in a matrix' labels: "3", "G3", "GPU3"; -1 for hosts ("C0", "CPU0").
int device_label(std::string_view label) {
  const std::string plain = lower(label);
  std::string_view digits = plain;
  if (digits.starts_with("gpu")) {
    digits.remove_prefix(3);
  } else if (digits.starts_with('g')) {
    digits.remove_prefix(1);
  }
  const double v = number(digits).value_or(-1);
  return v < 0 || v > 65535 || v != std::floor(v) ? -1 : static_cast<int>(v);
}

// "D\D,0,1,2" and a row a device: rates in GB/s unless the title speaks of latencies.
// `own`: devices that some matrix of the file shows copying to themselves.
bool read_matrix(Inputs& in, std::uint32_t source, const Block& b, std::set<int>& own) {
  const std::string corner = lower(b.head[0]);
  if (!contains(corner, "d\\d") && corner != "gpu" && corner != "device") return false;
  std::string title = lower(b.title);
  if (const std::size_t tool = title.find("p2pbandwidthlatencytest"); tool != std::string::npos) title.erase(tool, 23);
  const bool rates = !contains(title, "latency") && !contains(title, "host");
  const bool both = contains(title, "bidirectional");
  // A table of hosts and devices prints a device's copy to itself, and nothing there for a host.
  for (const Row& r : b.rows) {
    const int from = device_label(r.fields[0]);
    for (std::size_t i = 1; from >= 0 && i < std::min(r.fields.size(), b.head.size()); ++i) {
      if (device_label(b.head[i]) == from && number(r.fields[i])) own.insert(from);
    }
  }
  const auto rank = [&](int label) {
    if (own.empty() || label < 0) return label;
    const auto it = own.find(label);
    return it == own.end() ? -1 : static_cast<int>(std::distance(own.begin(), it));
  };
  for (const Row& r : b.rows) {
    const Place at{source, r.line};
    if (!rates || r.fields.size() != b.head.size()) {
      in.reject(at, rates ? "no row of the matrix above it"
                          : "a matrix of latencies or of a host; rates between devices are fitted");
      continue;
    }
    const int from = rank(device_label(r.fields[0]));
    for (std::size_t i = 1; from >= 0 && i < r.fields.size(); ++i) {
      const int to = rank(device_label(b.head[i]));
      const double v = number(r.fields[i]).value_or(0);
      if (to < 0 || v <= 0 || to == from) continue;
      in.pairs.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to),
                          Bandwidth(v * 1e9 / (both ? 2 : 1)), both, false, contains(title, "_sm"), at});
      ++in.sources[source].rows;
    }
  }
  in.sources[source].format = "matrix of rates";
  return true;
}

// "metric,min,max" lines that name a test of nvbandwidth.
bool read_metrics(Inputs& in, std::uint32_t source, const Block& b, const Columns& c) {
  const auto metric = c.find({"metric", "test", "name"});
  if (!metric) return false;
  bool any = false;
  for (const Row& r : b.rows) {
    c.check(r);
    const std::string name = lower(r.fields[*metric]);
    std::vector<double> v;
    for (std::size_t i = 0; i < r.fields.size(); ++i) {
      if (const auto x = number(r.fields[i]); x && i != *metric) v.push_back(*x);
    }
    const bool rate = contains(name, "device_to_device") && contains(name, "memcpy") && !contains(name, "latency");
    if (!rate || v.empty() || median_of(v) <= 0) {
      in.reject({source, r.line}, "'" + r.fields[*metric] + "' is no rate between devices");
      continue;
    }
    const bool both = contains(name, "bidirectional");
    in.pairs.push_back({0,
                        0,
                        Bandwidth(median_of(v) * 1e9 / (both ? 2 : 1)),
                        both,
                        true,
                        name.ends_with("_sm gb/s"),
                        {source, r.line}});
    ++in.sources[source].rows;
    any = true;
  }
  if (any) in.sources[source].format = "nvbandwidth";
  return true;
}

}  // namespace

void read_tables(Inputs& in, std::uint32_t source, const std::string& text) {
  const std::vector<Block> blocks = blocks_of(text);
  bool known = false;
  std::set<int> own;
  for (const Block& b : blocks) {
    const Columns c(in, source, b);
    if (in.sources[source].device.empty()) {
      const std::vector<std::string> models = device_models(b.title);
      if (models.size() == 1) in.sources[source].device = models.front();
    }
    const bool read = read_matrix(in, source, b, own) || read_gemms(in, source, b, c) ||
                      read_collectives(in, source, b, c) || read_metrics(in, source, b, c);
    known = known || read;
    if (!read) {
      in.reject({source, b.line}, fmt::format("a table of columns that are not known: {}", fmt::join(b.head, ", ")));
    }
  }
  if (!known) {
    throw InputError(in.where({source, blocks.empty() ? 0 : blocks.front().line}),
                     "no known columns: m,n,k and us (or ms, TFLOP/s); or bytes and time_us (or algbw_GBps, "
                     "busbw_GBps) of a collective; or a matrix D\\D,0,1,...");
  }
}

}  // namespace overlap::calibrate
