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
  r.chunks = count(at, "chunks", count(at, "streams", 1));
  r.op = text(at, "op");
  r.accumulate = number(at, "accumulate", 0) != 0;
  r.channels = count(at, "max_channels", 0);
  r.sms = count(at, "sm_target", 0);
  r.priority = count(at, "prio", 0) != 0;
  if (const auto k = find(at, "kernels")) {
    read_kernels(r, *k);
    return r;
  }
  const double median = number(at, "median_us", number(at, "gemm_us", 0));
  r.median = Seconds(median * 1e-6);
  r.min = Seconds(number(at, "min_us", number(at, "p10_us", median)) * 1e-6);
  r.max = Seconds(number(at, "max_us", number(at, "p90_us", median)) * 1e-6);
  read_spans(r, at);
  return r;
}

bool can_replay(const Record& r) {
  static const std::set<std::string_view> kinds = {
      "gemm",    "gemm_kernels", "ag_gemm",      "gemm_rs",  "interdecom_env", "empty",         "peer_uni",
      "peer_bi", "nccl",         "peer_chunked", "copy_hbm", "contention",     "peer_same_link"};
  return kinds.contains(r.kind) && r.median.si() > 0 && r.gpus <= 2;
}

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
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

}  // namespace

std::string Record::group() const {
  return schedule.empty() ? kind : kind + "/" + schedule;
}

std::string Record::contest() const {
  return kind + " " + std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" + std::to_string(shape.k);
}

RecordSet read_records(const std::vector<std::string>& paths) {
  RecordSet set;
  std::map<std::string, std::uint32_t> skipped;
  for (const std::string& file : files_of(paths)) {
    std::ifstream in(file);
    if (!in) throw InputError(file, "the file cannot be opened");
    std::string line;
    for (int number = 1; std::getline(in, line); ++number) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const Document doc(line, file + ":" + std::to_string(number));
      Record r = read_record(doc.root());
      if (r.kind == "meta") continue;
      if (can_replay(r)) {
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
