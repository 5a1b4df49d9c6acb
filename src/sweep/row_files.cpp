#include "sweep/row_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "config/value.hpp"
#include "overlap/error.hpp"
#include "overlap/report.hpp"
#include "sweep/axis_text.hpp"
#include "text/json_writer.hpp"

namespace overlap::sweep {
namespace {

namespace fs = std::filesystem;

// Ends of whole cells in a file of lines that begin (after `key`) with the cell's number.
class PrefixReader {
 public:
  PrefixReader(const std::string& path, std::string key, bool header)
      : in_(path, std::ios::binary), key_(std::move(key)) {
    std::string line;
    if (header && next(line)) bytes_ = offset_;
  }
  // Reads `rows` lines of `cell`; false when they are not all there.
  bool cell(std::uint64_t cell, std::uint32_t rows) {
    const std::string start = key_ + std::to_string(cell) + ",";
    std::string line;
    for (std::uint32_t i = 0; i < rows; ++i) {
      if (!next(line) || line.compare(0, start.size(), start) != 0) return false;
    }
    bytes_ = offset_;
    return true;
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  bool next(std::string& line) {
    if (!std::getline(in_, line) || in_.eof()) return false;  // a last line without newline is torn
    offset_ += line.size() + 1;
    return true;
  }
  std::ifstream in_;
  std::string key_;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
};

[[noreturn]] void fail(const std::string& path, int error) {
  const bool full = error == ENOSPC;
  throw InputError(path, std::string("cannot write: ") + std::strerror(error) +
                             (full ? "; the rows so far are whole: free some space and go on with --resume" : ""));
}

}  // namespace

std::string identity(const Study& study) {
  JsonWriter w;
  w.begin_object().field("format", "overlapsim-study-1").field("name", study.name);
  w.field("experiment", config::json_text(config::parse_text(study.experiment_text, study.experiment_name)));
  w.key("axes").begin_list();
  for (const AxisGroup& g : study.groups) {
    w.begin_list();
    for (const Axis& a : g.axes) {
      w.begin_object().field("name", a.name).field("pointer", a.pointer).key("values").begin_list();
      for (const std::string& v : a.values) w.value(v);
      w.end_list().field("low", a.low).field("high", a.high).field("unit", a.unit).end_object();
    }
    w.end_list();
  }
  w.end_list().field("points", std::uint64_t{study.sample_points}).field("seed", study.sample_seed);
  w.key("filters").begin_list();
  for (const Filter& f : study.filters) w.value(f.left + f.relation + f.right);
  w.end_list().field("seeds", std::uint64_t{study.seeds}).field("baseline", study.baseline);
  w.key("metrics").begin_list();
  for (const std::string& m : study.metrics) w.value(m);
  w.end_list().end_object();
  return std::move(w).take();
}

void RowFiles::File::open() {
  descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) fail(path, errno);
}

void RowFiles::File::cut() const {
  if (::ftruncate(descriptor, static_cast<off_t>(size)) != 0) fail(path, errno);
}

void RowFiles::File::append(const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(descriptor, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n < 0 ? errno : ENOSPC;
      cut();
      fail(path, error);
    }
    done += static_cast<std::size_t>(n);
  }
  size += text.size();
}

RowFiles::RowFiles(const Study& study, const StudyPlan& plan, const std::string& folder, bool resume,
                   std::uint64_t first, std::uint64_t stride) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InputError(folder, "cannot make the folder: " + error.message());
  csv_.path = folder + "/rows.csv";
  jsonl_.path = folder + "/rows.jsonl";
  const std::string mark = folder + "/study.json";
  if (fs::exists(mark)) {
    if (!resume) throw InputError(folder, "holds a study already; go on with --resume or choose another folder");
    if (identity(load_study(mark)) != identity(study)) {
      throw InputError(mark, "is another study than " + study.file + "; choose another folder");
    }
  }
  write_file(mark, study.text);
  csv_.open();
  jsonl_.open();
  adopt(study, plan, first, stride);
}

RowFiles::~RowFiles() {
  if (csv_.descriptor >= 0) ::close(csv_.descriptor);
  if (jsonl_.descriptor >= 0) ::close(jsonl_.descriptor);
}

void RowFiles::adopt(const Study& study, const StudyPlan& plan, std::uint64_t first, std::uint64_t stride) {
  PrefixReader csv(csv_.path, "", true);
  PrefixReader jsonl(jsonl_.path, "{\"cell\":", false);
  for (std::uint64_t cell = first; cell < plan.cells(); cell += stride) {
    // A file shorter than a line ends the search before any experiment is read.
    if (fs::file_size(jsonl_.path) == jsonl.bytes() || fs::file_size(csv_.path) == csv.bytes()) break;
    const std::uint32_t rows = rows_of_cell(plan, cell);
    const std::uint64_t csv_end = csv.bytes();
    if (!csv.cell(cell, rows)) break;
    if (!jsonl.cell(cell, rows)) {
      csv_.size = csv_end;
      break;
    }
    csv_.size = csv.bytes();
    ++cells_done_;
    rows_ += rows;
  }
  jsonl_.size = jsonl.bytes();
  csv_.cut();
  jsonl_.cut();
  if (csv_.size == 0) csv_.append(csv_header(study, plan));
}

void RowFiles::append(const CellBlock& block) {
  const std::uint64_t before = csv_.size;
  csv_.append(block.csv);
  try {
    jsonl_.append(block.jsonl);
  } catch (const InputError&) {
    csv_.size = before;
    csv_.cut();
    throw;
  }
  ++cells_done_;
  rows_ += block.rows;
}

}  // namespace overlap::sweep
