// rows.csv and rows.jsonl of one folder, appended a cell at a time. A process that dies (even by SIGKILL) leaves whole
// cells and at most one torn one behind, which the next run cuts off.
#pragma once

#include <cstdint>
#include <string>

#include "sweep/rows.hpp"

namespace overlap::sweep {

class RowFiles {
 public:
  // A folder with rows of another study, or with rows and no `resume`, is refused with InputError.
  // Cells of this writer are first, first + stride, ... (shards).
  RowFiles(const Study& study, const StudyPlan& plan, const std::string& folder, bool resume, std::uint64_t first,
           std::uint64_t stride);
  ~RowFiles();
  RowFiles(const RowFiles&) = delete;
  RowFiles& operator=(const RowFiles&) = delete;

  [[nodiscard]] std::uint64_t cells_done() const { return cells_done_; }
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  // Cells must come in order. On a full disk the files are cut back to whole cells and InputError is thrown.
  void append(const CellBlock& block);

 private:
  struct File {
    std::string path;
    int descriptor = -1;
    std::uint64_t size = 0;  // of whole cells
    void open();
    void append(const std::string& text);
    void cut() const;
  };
  void adopt(const Study& study, const StudyPlan& plan, std::uint64_t first, std::uint64_t stride);

  File csv_;
  File jsonl_;
  std::uint64_t cells_done_ = 0;
  std::uint64_t rows_ = 0;
};

// What makes two studies the same: everything that a row depends on.
std::string identity(const Study& study);

}  // namespace overlap::sweep
