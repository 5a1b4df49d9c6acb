// Reading and writing of kernel tables (CSV).
#include "overlap/kernel_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>

#include "cost/kernel_model.hpp"
#include "cost/near_rows.hpp"
#include "overlap/error.hpp"

namespace overlap {
namespace {

struct Line {
  const std::string& path;
  int line = 0;
  std::vector<std::string_view> fields;

  [[noreturn]] void fail(const std::string& what) const { throw InputError(fmt::format("{}:{}", path, line), what); }

  [[nodiscard]] double number(std::size_t i, double low, double high) const {
    double v = 0;
    const std::string_view t = fields[i];
    const auto r = std::from_chars(t.data(), t.data() + t.size(), v);
    if (r.ec != std::errc() || r.ptr != t.data() + t.size() || !std::isfinite(v) || v < low || v > high) {
      fail(fmt::format("field {} is '{}', a number from {:g} to {:g} is needed", i + 1, t, low, high));
    }
    return v;
  }
  [[nodiscard]] Seconds us(std::size_t i) const { return Seconds(number(i, 0, 1e9) * 1e-6); }
  [[nodiscard]] std::uint32_t count(std::size_t i, std::uint32_t low = 0) const {
    const std::string_view t = fields[i];
    std::uint32_t plain = 0;
    const auto r = std::from_chars(t.data(), t.data() + t.size(), plain);
    if (r.ec == std::errc() && r.ptr == t.data() + t.size() && plain >= low && plain <= 4000000000U) return plain;
    const double v = number(i, low, 4e9);
    if (v != std::floor(v)) fail(fmt::format("field {} is no whole number", i + 1));
    return static_cast<std::uint32_t>(v);
  }
  void expect(std::size_t n) const {
    if (fields.size() != n) fail(fmt::format("{} fields, {} are needed", fields.size(), n));
  }
};

void split(std::string_view text, std::vector<std::string_view>& out) {
  out.clear();
  while (true) {
    const std::size_t comma = text.find(',');
    out.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return;
    text.remove_prefix(comma + 1);
  }
}

KernelTimes times_at(const Line& l, std::size_t i) {
  return {l.us(i), l.us(i + 1), l.us(i + 2), l.number(i + 3, 0, 1e3)};
}

void read_kernel(KernelTable& t, const Line& l) {
  l.expect(13);
  KernelModel k;
  k.cols = l.count(1, 1);
  k.rows = l.count(2, 1);
  k.time = times_at(l, 3);
  k.accumulate = l.us(7);
  k.accumulate_steps = l.number(8, 1e-3, 1e9);
  k.choice = times_at(l, 9);
  t.kernels.push_back(k);
}

// The rows of GEMMs are nearly all of a table. False, and nothing done, when this is no such row in plain numbers: the
// way of the other rows says what is wrong with it.
bool read_plain_gemm(KernelTable& t, std::string_view text) {
  constexpr std::string_view kHead = "gemm,";
  if (!text.starts_with(kHead)) return false;
  const char* at = text.data() + kHead.size();
  const char* const end = text.data() + text.size();
  MeasuredGemm g;
  std::uint32_t accumulate = 0;
  for (std::uint32_t* const v : {&g.m, &g.n, &g.k, &accumulate, &g.sms, &g.kernel, &g.splits}) {
    const auto [rest, error] = std::from_chars(at, end, *v);
    if (error != std::errc() || rest == end || *rest != ',' || *v > 4000000000U) return false;
    at = rest + 1;
  }
  double us = 0;
  const auto [rest, error] = std::from_chars(at, end, us);
  if (error != std::errc() || rest != end) return false;
  g.accumulate = accumulate != 0;
  g.time = Seconds(us * 1e-6);
  const bool sound = g.m > 0 && g.n > 0 && g.k > 0 && g.splits > 0 && g.kernel < t.kernels.size();
  if (!sound || !(g.time.si() > 0) || g.time.si() > 1e3) return false;
  t.rows.push_back(g);
  return true;
}

void read_gemm(KernelTable& t, const Line& l) {
  l.expect(9);
  MeasuredGemm g;
  g.m = l.count(1, 1), g.n = l.count(2, 1), g.k = l.count(3, 1);
  g.accumulate = l.count(4) != 0;
  g.sms = l.count(5);
  g.kernel = l.count(6);
  if (g.kernel >= t.kernels.size()) l.fail("the row names a kernel that no line before it defines");
  g.splits = l.count(7, 1);
  g.time = l.us(8);
  if (g.time.si() <= 0) l.fail("a time must be positive");
  t.rows.push_back(g);
}

void read_near(KernelTable& t, const Line& l) {
  l.expect(8);
  NearGemm g;
  g.m = l.count(1, 1), g.n = l.count(2, 1), g.k = l.count(3, 1);
  g.tile_rows = l.count(4, 1), g.tile_cols = l.count(5, 1);
  g.splits = l.count(6, 1);
  g.ratio = l.number(7, 1e-3, 1e3);
  t.near.push_back(g);
}

void read_line(KernelTable& t, const Line& l) {
  const std::string_view kind = l.fields[0];
  if (kind == "kernel") {
    read_kernel(t, l);
  } else if (kind == "gemm") {
    read_gemm(t, l);
  } else if (kind == "machine") {
    l.expect(6);
    t.sms = l.count(1, 1);
    t.hbm = Bandwidth(l.number(2, 1, 1e9) * 1e9);
    t.fewer_sms = l.number(3, 0, 1);
    t.copy_out = l.number(4, 0, 1), t.copy_in = l.number(5, 0, 1);
  } else if (kind == "reduction") {
    l.expect(5);
    t.reduction = l.us(1), t.reduction_share = l.number(2, 0, 1e3);
    t.choice_reduction = l.us(3), t.choice_reduction_share = l.number(4, 0, 1e3);
  } else if (kind == "fused") {
    l.expect(7);
    t.fused.cols = l.count(1, 1), t.fused.rows = l.count(2, 1);
    t.fused.time = times_at(l, 3);
  } else if (kind == "dip") {
    l.expect(4);
    t.dip = {l.us(1), l.us(2), l.us(3)};
  } else if (kind == "channel") {
    l.expect(3);
    t.channel = {Bandwidth(l.number(1, 1e-3, 1e6) * 1e9), l.number(2, 1, 100)};
  } else if (kind == "near") {
    read_near(t, l);
  } else {
    l.fail(fmt::format("'{}' is no kind of line (machine, dip, channel, fused, kernel, reduction, gemm, near)", kind));
  }
}

std::string times_text(const KernelTimes& k) {
  return fmt::format("{:.6g},{:.6g},{:.6g},{:.6g}", k.fixed.si() * 1e6, k.wave.si() * 1e6, k.step.si() * 1e6, k.memory);
}

}  // namespace

std::shared_ptr<const KernelTable> load_kernel_table(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw InputError(path, "the kernel table cannot be opened");
  auto table = std::make_shared<KernelTable>();
  table->path = path;
  constexpr std::size_t kLeastRow = 32;  // bytes that a GEMM takes in the file, or more
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(path, unknown);
  if (!unknown) table->rows.reserve(bytes / kLeastRow);
  Line line{path, 0, {}};
  for (std::string text; std::getline(in, text);) {
    ++line.line;
    if (!text.empty() && text.back() == '\r') text.pop_back();
    if (text.empty() || text[0] == '#' || read_plain_gemm(*table, text)) continue;
    split(text, line.fields);
    read_line(*table, line);
  }
  if ((table->kernels.empty() && table->near.empty()) || table->sms == 0) {
    throw InputError(path, "a kernel table needs a 'machine' line and 'kernel' or 'near' lines");
  }
  cost::index_rows(*table);
  cost::place_near(*table);
  return table;
}

std::string to_csv(const KernelTable& t, const std::string& comment) {
  std::string out;
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) out += "# " + line + "\n";
  out +=
      "# machine,SMs,HBM GB/s,share of the step time that leaving out all SMs would save,slowdown by copies out,in\n";
  out += fmt::format("machine,{},{:g},{:.4g},{:.4g},{:.4g}\n", t.sms, t.hbm.si() / 1e9, t.fewer_sms, t.copy_out,
                     t.copy_in);
  if (t.dip.loss.si() > 0) {
    out += "# dip,load that is free us,length us,time lost us: once, when a device begins to compute\n";
    out += fmt::format("dip,{:.4g},{:.4g},{:.4g}\n", t.dip.after.si() * 1e6, t.dip.length.si() * 1e6,
                       t.dip.loss.si() * 1e6);
  }
  if (t.channel.slowdown > 1) {
    out +=
        "# channel,wire GB/s of the way between devices,slowdown of a library collective's SMs beside a GEMM on all "
        "SMs\n";
    out += fmt::format("channel,{:.4g},{:.4g}\n", t.channel.path.si() / 1e9, t.channel.slowdown);
  }
  if (t.fused.rows > 0) {
    out += "# fused,tile columns,tile rows,time fixed us,wave us,step us,memory: kernel whose parts signal\n";
    out += fmt::format("fused,{},{},{}\n", t.fused.cols, t.fused.rows, times_text(t.fused.time));
  }
  if (!t.kernels.empty()) {
    out += "# reduction,time us,share,choice us,choice share\n";
    out += fmt::format("reduction,{:.5g},{:.5g},{:.5g},{:.5g}\n", t.reduction.si() * 1e6, t.reduction_share,
                       t.choice_reduction.si() * 1e6, t.choice_reduction_share);
    out += "# kernel,tile columns,tile rows,time fixed us,wave us,step us,memory,accumulate us,accumulate steps,";
    out += "choice fixed us,wave us,step us,memory\n";
  }
  for (const KernelModel& k : t.kernels) {
    out += fmt::format("kernel,{},{},{},{:.6g},{:.6g},{}\n", k.cols, k.rows, times_text(k.time),
                       k.accumulate.si() * 1e6, k.accumulate_steps, times_text(k.choice));
  }
  if (!t.rows.empty()) out += "# gemm,m,n,k,accumulate,SMs asked for (0 all),kernel,splits of k,median us\n";
  for (const MeasuredGemm& g : t.rows) {
    out += fmt::format("gemm,{},{},{},{},{},{},{},{:.6g}\n", g.m, g.n, g.k, g.accumulate ? 1 : 0, g.sms, g.kernel,
                       g.splits, g.time.si() * 1e6);
  }
  if (!t.near.empty()) out += "# near,m,n,k,tile rows,tile columns,splits of k,measured over predicted time\n";
  for (const NearGemm& g : t.near) {
    out += fmt::format("near,{},{},{},{},{},{},{:.5g}\n", g.m, g.n, g.k, g.tile_rows, g.tile_cols, g.splits, g.ratio);
  }
  return out;
}

}  // namespace overlap
