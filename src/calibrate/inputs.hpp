// Everything that `calibrate` reads, whatever the format of the file: rows with their place, and what was not usable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "overlap/validate.hpp"

namespace overlap::calibrate {

struct Place {
  std::uint32_t source = 0;  // index into Inputs::sources
  std::uint32_t line = 0;
};

// One measured GEMM. A table without kernel names leaves `tile_cols` 0.
struct TimedGemm {
  GemmShape shape;
  Seconds time;
  bool accumulate = false;
  std::uint32_t sms = 0;        // SMs that the library was told to use; 0 = all
  std::uint32_t tile_cols = 0;  // of the kernel that ran, 0 = unknown
  std::uint32_t tile_rows = 0;
  std::uint32_t splits = 1;
  Place at;
};

// One measured library collective over `members` devices. Bytes of the whole buffer, as everywhere.
struct TimedCollective {
  std::string kind;  // as in CollectiveTable
  std::uint32_t members = 0;
  std::uint32_t channels = 0;  // 0 = the library's default
  Bytes bytes;
  Seconds time;
  bool in_place = false;
  Place at;
};

// Measured rate of one ordered pair of devices, a direction of it where both were busy.
struct PairRate {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Bandwidth rate;
  bool both_ways = false;
  bool every_pair = false;  // the source states one number for all pairs
  bool by_sms = false;      // copied by SMs, not by copy engines
  Place at;
};

struct Source {
  std::string file;
  std::string format;  // "measured records", "GEMM table", "kernel table", "nccl-tests", "nvbandwidth", ...
  std::string device;  // model that the file names, "H100"; empty where it names none or several
  std::uint32_t rows = 0;
  std::uint32_t rejected = 0;
};
struct Rejected {
  Place at;
  std::string why;
};

struct Inputs {
  std::vector<Source> sources;
  std::vector<Rejected> rejected;
  std::vector<TimedGemm> gemms;
  std::vector<TimedCollective> collectives;
  std::vector<PairRate> pairs;
  std::vector<std::string> record_files;
  RecordSet records;  // of all record files

  [[nodiscard]] std::string where(Place p) const;                // "file:line"
  [[nodiscard]] Place place_of(const std::string& where) const;  // the reverse
  void reject(Place p, std::string why);
};

// Files, or folders of which every file is read in name order. Throws InputError: a file that is empty or of no known
// format, a malformed row with its line, files of different devices.
Inputs read_inputs(const std::vector<std::string>& paths);

// Model names such as H100, A100, MI300X, B200 in `text`, each once, in the order found.
std::vector<std::string> device_models(std::string_view text);

// One reader a format; each takes the whole text. They throw InputError with file and line.
void read_kernel_table(Inputs& in, std::uint32_t source, const std::string& text);
void read_tables(Inputs& in, std::uint32_t source, const std::string& text);
void read_nccl_tests(Inputs& in, std::uint32_t source, const std::string& text);
void read_nvbandwidth(Inputs& in, std::uint32_t source, const std::string& text);
void read_nvbandwidth_json(Inputs& in, std::uint32_t source, const std::string& text);
void read_record_lines(Inputs& in, std::uint32_t source, const std::string& text);

// Bytes of a file, unpacked when it is gzipped (needs zlib at build time).
std::string read_bytes(const std::string& file);

}  // namespace overlap::calibrate
