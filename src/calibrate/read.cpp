// Which format a file has, and that all files speak of one device.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#ifdef OVERLAPSIM_HAVE_ZLIB
#include <zlib.h>
#endif

#include "calibrate/inputs.hpp"
#include "calibrate/text.hpp"
#include "config/value.hpp"
#include "overlap/error.hpp"

namespace overlap::calibrate {
namespace {

namespace fs = std::filesystem;

struct Format {
  std::string_view name;
  bool (*is)(std::string_view text);
  void (*read)(Inputs&, std::uint32_t source, const std::string& text);
};

std::string_view first_line(std::string_view text) {
  for (const std::string_view line : lines_of(text)) {
    const std::string_view t = trimmed(line);
    if (!t.empty() && t.front() != '#') return t;
  }
  return "";
}

bool is_nccl(std::string_view text) {
  if (contains(text, "nThread") && contains(text, "nGpus")) return true;
  for (const std::string_view line : lines_of(text)) {
    if (!line.starts_with('#')) continue;
    const std::string head = lower(line);
    if (contains(head, "size") && contains(head, "time") && contains(head, "algbw")) return true;
  }
  return false;
}

// In the order tried.
constexpr std::array kFormats = {
    Format{"nvbandwidth", [](std::string_view t) { return contains(t, "\"nvbandwidth\"") && first_line(t)[0] == '{'; },
           read_nvbandwidth_json},
    Format{"measured records", [](std::string_view t) { return first_line(t).starts_with('{'); }, read_record_lines},
    Format{"kernel table", [](std::string_view t) { return first_line(t).starts_with("machine,"); }, read_kernel_table},
    Format{"nccl-tests", is_nccl, read_nccl_tests},
    Format{"nvbandwidth",
           [](std::string_view t) {
             return contains(t, "memcpy CE") || contains(t, "memcpy SM") || contains(t, "nvbandwidth Version");
           },
           read_nvbandwidth},
    Format{"table",
           [](std::string_view t) {
             const std::string_view head = first_line(t);
             return contains(head, ",") || contains(head, ";") || contains(head, "\t");
           },
           read_tables},
};

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& p : paths) {
    std::error_code e;
    if (!fs::exists(p, e)) throw InputError(p, "there is no such file or folder");
    if (!fs::is_directory(p, e)) {
      out.push_back(p);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& f : fs::directory_iterator(p)) {
      const std::string ext = f.path().extension().string();
      if (f.is_regular_file() && ext != ".md" && f.path().filename().string()[0] != '.') {
        inside.push_back(f.path().string());
      }
    }
    std::sort(inside.begin(), inside.end());
    if (inside.empty()) throw InputError(p, "the folder holds no files");
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

// One model, or nothing where the text names none or several.
std::string only_model(std::string_view text) {
  const std::vector<std::string> models = device_models(text);
  return models.size() == 1 ? models.front() : "";
}

void check_one_device(const Inputs& in) {
  const Source* first = nullptr;
  for (const Source& s : in.sources) {
    if (s.device.empty()) continue;
    if (first == nullptr) first = &s;
    if (s.device == first->device) continue;
    throw InputError(s.file, fmt::format("measured on {}, but {} on {}; calibrate one device at a time", s.device,
                                         first->file, first->device));
  }
}

void read_file(Inputs& in, const std::string& file) {
  const std::string text = read_bytes(file);
  if (trimmed(text).empty()) throw InputError(file, "the file is empty");
  for (const Format& f : kFormats) {
    if (first_line(text).empty() || !f.is(text)) continue;
    const auto source = static_cast<std::uint32_t>(in.sources.size());
    in.sources.push_back({file, std::string(f.name), "", 0, 0});
    f.read(in, source, text);
    Source& s = in.sources[source];
    if (s.device.empty()) s.device = only_model(fs::path(file).filename().string());
    if (s.rows == 0 && s.rejected == 0) throw InputError(file, fmt::format("read as {}, but it has no rows", s.format));
    if (s.rows == 0) {
      for (const Rejected& r : in.rejected) {
        if (r.at.source == source) throw InputError(in.where(r.at), "no row of the file is usable: " + r.why);
      }
    }
    return;
  }
  throw InputError(file,
                   "no known format: measured records (JSON Lines), tables of m,n,k,us, nccl-tests, rccl-tests, "
                   "nvbandwidth or kernel tables are read");
}

}  // namespace

std::string Inputs::where(Place p) const {
  return p.line == 0 ? sources[p.source].file : fmt::format("{}:{}", sources[p.source].file, p.line);
}

Place Inputs::place_of(const std::string& where) const {
  const std::size_t colon = where.rfind(':');
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    if (where.compare(0, colon, sources[i].file) != 0 || colon == std::string::npos) continue;
    return {i, static_cast<std::uint32_t>(number(std::string_view(where).substr(colon + 1)).value_or(0))};
  }
  return {};
}

void Inputs::reject(Place p, std::string why) {
  ++sources[p.source].rejected;
  rejected.push_back({p, std::move(why)});
}

std::vector<std::string> device_models(std::string_view text) {
  static constexpr std::array<std::string_view, 8> kPrefixes = {"MI", "GB", "GH", "H", "A", "B", "V", "L"};
  std::string upper(text);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::vector<std::string> out;
  for (std::size_t i = 0; i < upper.size(); ++i) {
    // "8xH100" counts devices: the name begins after the x.
    const bool counted = i > 1 && upper[i - 1] == 'X' && std::isdigit(static_cast<unsigned char>(upper[i - 2])) != 0;
    if (i > 0 && word(upper[i - 1]) && !counted) continue;
    for (const std::string_view prefix : kPrefixes) {
      if (upper.compare(i, prefix.size(), prefix) != 0) continue;
      std::size_t end = i + prefix.size();
      while (end < upper.size() && std::isdigit(static_cast<unsigned char>(upper[end])) != 0) ++end;
      const std::size_t digits = end - i - prefix.size();
      if (digits < 2 || digits > 3) continue;
      const bool x = end < upper.size() && upper[end] == 'X';
      const bool count_follows =
          x && end + 1 < upper.size() && std::isdigit(static_cast<unsigned char>(upper[end + 1])) != 0;
      if (x && !count_follows) ++end;
      if (end < upper.size() && word(upper[end]) && !count_follows) continue;
      const std::string name = upper.substr(i, end - i);
      if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
    }
  }
  return out;
}

std::string read_bytes(const std::string& file) {
  std::error_code e;
  if (fs::is_directory(file, e)) throw InputError(file, "is a folder");
#ifdef OVERLAPSIM_HAVE_ZLIB
  gzFile in = ::gzopen(file.c_str(), "rb");  // plain files too
  if (in == nullptr) throw InputError(file, "the file cannot be opened");
  std::string text;
  std::array<char, 65536> part;
  int n = 0;
  while ((n = ::gzread(in, part.data(), static_cast<unsigned>(part.size()))) > 0) {
    text.append(part.data(), static_cast<std::size_t>(n));
    if (text.size() > config::kMaxFileBytes) break;
  }
  const bool broken = n < 0 || ::gzclose(in) != Z_OK;
  if (broken) throw InputError(file, "the packed file is damaged");
#else
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError(file, "the file cannot be opened");
  std::ostringstream all;
  all << in.rdbuf();
  std::string text = all.str();
  if (text.starts_with("\x1f\x8b")) throw InputError(file, "this build cannot unpack gzip (zlib1g-dev was missing)");
#endif
  if (text.size() > config::kMaxFileBytes) throw InputError(file, "larger than 64 MiB");
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  return text;
}

Inputs read_inputs(const std::vector<std::string>& paths) {
  Inputs in;
  for (const std::string& file : files_of(paths)) read_file(in, file);
  check_one_device(in);
  if (!in.record_files.empty()) in.records = read_records(in.record_files);
  return in;
}

}  // namespace overlap::calibrate
