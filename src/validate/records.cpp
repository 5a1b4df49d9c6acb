// Measured records from JSON Lines.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "config/reader.hpp"
#include "overlap/error.hpp"
#include "overlap/validate.hpp"

namespace overlap {
namespace {

namespace fs = std::filesystem;
using config::Cursor;
using config::Document;
using config::Value;

std::optional<Cursor> find(const Cursor& at, std::string_view key) {
  if (at.value().find(key) == nullptr) return std::nullopt;
  return at.member(key);
}
double number(const Cursor& at, std::string_view key, double fallback) {
  const auto c = find(at, key);
  return c ? c->ratio(-1e15, 1e15) : fallback;
}
std::uint32_t count(const Cursor& at, std::string_view key, std::uint32_t fallback) {
  const auto c = find(at, key);
  return c ? static_cast<std::uint32_t>(c->integer(0, 1LL << 31)) : fallback;
}
std::string text(const Cursor& at, std::string_view key) {
  const auto c = find(at, key);
  return c ? c->text() : std::string();
}

void read_spans(Record& r, const Cursor& at) {
  const auto list = find(at, "spans");
  if (!list) return;
  for (const Cursor& c : list->items()) {
    const std::vector<Cursor> f = c.items();
    if (f.size() != 4) c.fail("a span is [gpu, name, begin_us, end_us]");
    r.spans.push_back({DeviceId(static_cast<std::uint32_t>(f[0].integer(0, 1 << 20))), f[1].text(),
                       Seconds(f[2].ratio(-1e12, 1e12) * 1e-6), Seconds(f[3].ratio(-1e12, 1e12) * 1e-6)});
  }
}

// Kernel rows have no times of their own but one list a kernel.
void read_kernels(Record& r, const Cursor& kernels) {
  std::vector<double> sum;
  for (const Cursor& k : kernels.items()) {
    std::vector<double> us;
    for (const Cursor& v : k.member("us").items()) us.push_back(v.ratio(0, 1e12));
    if (us.empty()) k.fail("a kernel needs times");
    std::sort(us.begin(), us.end());
    const std::vector<double> three = {us[us.size() / 2], us.front(), us.back()};
    for (std::size_t i = 0; i < 3; ++i) {
      if (sum.size() < 3) sum.resize(3);
      sum[i] += three[i];
    }
  }
  if (sum.empty()) kernels.fail("no kernels");
  r.kind = "gemm_kernels";
  r.median = Seconds(sum[0] * 1e-6), r.min = Seconds(sum[1] * 1e-6), r.max = Seconds(sum[2] * 1e-6);
}

void read_times(Record& r, const Cursor& at) {
  const double median = number(at, "median_us", 0);
  double low = number(at, "p10_us", median), high = number(at, "p90_us", median);
  if (const auto raw = find(at, "raw_us")) {
    for (const Cursor& c : raw->items()) {
      low = std::min(low, c.ratio(0, 1e12));
      high = std::max(high, c.ratio(0, 1e12));
    }
  }
  r.median = Seconds(median * 1e-6);
  r.min = Seconds(number(at, "min_us", low) * 1e-6);
  r.max = Seconds(number(at, "max_us", high) * 1e-6);
}

Method read_method(const Cursor& at) {
  Method m;
  m.clock_ratio = number(at, "clock_ratio", 1.0);
  if (m.clock_ratio < 0.1 || m.clock_ratio > 10) at.fail("clock_ratio lies between 0.1 and 10");
  m.in_place = number(at, "in_place", 1) != 0;
  if (find(at, "race_us")) m.race = Seconds(number(at, "race_us", 0) * 1e-6);
  if (const auto c = find(at, "release_join_us")) {
    const auto us = [&](std::string_view key) { return Seconds(c->member(key).ratio(0, 1e6) * 1e-6); };
    m.release = {us("empty"), us("local"), us("stream"), us("remote")};
  }
  return m;
}

void read_params(Record& r, const Cursor& at) {
  for (const auto& [key, value] : at.value().members) {
    switch (value.kind) {
      case Value::Kind::integer:
        r.params.emplace_back(key, value.integer);
        break;
      case Value::Kind::real:
        r.params.emplace_back(key, value.real);
        break;
      case Value::Kind::string:
        r.params.emplace_back(key, value.string);
        break;
      default:
        at.member(key).fail("a parameter is a number or a text");
    }
  }
}

Record read_record(const Cursor& at) {
  Record r;
  r.where = at.file();
  r.kind = text(at, "kind");
  r.schedule = text(at, "schedule");
  if (r.kind == "contention") r.schedule = text(at, "mode");
  r.d = std::max(1U, count(at, "d", 1));
  r.shape = {count(at, "m", 0), count(at, "n", 0), count(at, "k", 0)};
  r.gpus = count(at, "gpus", r.kind == "gemm" ? 1 : 2);
  r.bytes = Bytes(number(at, "bytes", number(at, "chunk_bytes", 0)));
  r.chunks = count(at, "chunks", count(at, "streams", count(at, "comm_chunks", 1)));
  r.gemms = count(at, "gemms", 0);
  r.graph = text(at, "graph");
  if (const auto params = find(at, "params")) read_params(r, *params);
  r.fused = find(at, "part_ends").has_value();
  r.op = text(at, "op");
  r.accumulate = number(at, "accumulate", 0) != 0;
  r.channels = count(at, "max_channels", 0);
  r.sms = count(at, "sm_target", 0);
  r.priority = count(at, "prio", 0) != 0;
  if (const auto k = find(at, "kernels")) {
    read_kernels(r, *k);
    return r;
  }
  read_times(r, at);
  read_spans(r, at);
  return r;
}

// A contention line says two things: how long a GEMM took, and when both streams had ended.
void add_contention(RecordSet& set, Record r, const Cursor& at) {
  const double gemm = number(at, "gemm_us", 0) * 1e-6;
  if (gemm <= 0) return;
  Record end = r;
  r.median = r.min = r.max = Seconds(gemm);
  set.records.push_back(std::move(r));
  if (end.schedule == "alone") return;
  end.kind = "contention_end";
  end.joined = end.median.si() > 0;
  if (!end.joined) {
    end.median = Seconds(std::max(end.gemms * gemm, number(at, "comm_total_us", 0) * 1e-6));
    end.min = end.max = end.median;
  }
  // Copies that this device only receives end on the other's clock.
  if (end.joined || end.schedule != "dma_in") set.records.push_back(std::move(end));
}

// Loads from cool with times of GEMMs alone; lines that name what they run under "of" begin warm.
bool read_sustained(RecordSet& set, Record r, const Cursor& at) {
  const auto list = find(at, "series_s_us");
  if (r.kind != "sustained" || !list || find(at, "of")) return false;
  double begin = 0;
  for (const Cursor& c : list->items()) {
    const std::vector<Cursor> f = c.items();
    if (f.size() != 2) c.fail("a point is [seconds, us]");
    // The first point holds the launch of the whole load; the load begins there.
    if (r.series.empty() && begin == 0) {
      begin = f[0].ratio(0, 1e6);
    } else {
      r.series.emplace_back(f[0].ratio(0, 1e6) - begin, f[1].ratio(0, 1e12) * 1e-6);
    }
  }
  if (r.series.empty()) list->fail("two points are needed");
  r.gpus = count(at, "both", 0) != 0 ? 2 : 1;
  set.sustained.push_back(std::move(r));
  return true;
}

bool can_replay(const Record& r) {
  static const std::set<std::string_view> kinds = {
      "gemm",    "gemm_kernels", "ag_gemm",      "gemm_rs",  "interdecom_env", "empty",         "peer_uni",
      "peer_bi", "nccl",         "peer_chunked", "copy_hbm", "contention",     "peer_same_link"};
  return kinds.contains(r.kind) && r.gpus <= 2 && (r.kind == "contention" ? r.gemms > 0 : r.median.si() > 0);
}

}  // namespace

std::vector<std::string> record_files(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& p : paths) {
    std::error_code e;
    if (!fs::is_directory(p, e)) {
      out.push_back(p);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& f : fs::directory_iterator(p)) {
      if (f.path().extension() == ".jsonl") inside.push_back(f.path().string());
    }
    std::sort(inside.begin(), inside.end());
    if (inside.empty()) throw InputError(p, "the folder has no .jsonl files");
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

std::string Record::group() const {
  return schedule.empty() ? kind : kind + "/" + schedule;
}

std::string Record::contest() const {
  return kind + " " + std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
}

RecordSet read_records(const std::vector<std::string>& paths) {
  RecordSet set;
  std::map<std::string, std::uint32_t> skipped;
  for (const std::string& file : record_files(paths)) {
    std::ifstream in(file);
    if (!in) throw InputError(file, "the file cannot be opened");
    std::string line;
    Method method;
    for (int number = 1; std::getline(in, line); ++number) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const Document doc(line, file + ":" + std::to_string(number));
      Record r = read_record(doc.root());
      if (r.kind == "meta") method = read_method(doc.root());
      if (r.kind == "meta") continue;
      r.method = method;
      r.in_place = count(doc.root(), "in_place", method.in_place ? 1 : 0) != 0;
      if (r.kind == "contention" && can_replay(r)) {
        add_contention(set, std::move(r), doc.root());
      } else if (read_sustained(set, r, doc.root())) {
        continue;
      } else if (can_replay(r)) {
        set.records.push_back(std::move(r));
      } else {
        ++skipped[r.kind.empty() ? "unnamed" : r.kind];
      }
    }
  }
  set.skipped.assign(skipped.begin(), skipped.end());
  return set;
}

}  // namespace overlap
