// The rows of one cell and workload: what competes with each other. Read back from rows.jsonl a group at a time, so a
// summary needs memory for one group, whatever the number of rows.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "overlap/sweep.hpp"

namespace overlap::sweep {

struct Group {
  std::uint64_t first_row = 0;
  std::vector<SweepRow> rows;

  // Rows with a result, fastest first; ties by row.
  [[nodiscard]] std::vector<std::size_t> ranking(const Study& study) const;
  [[nodiscard]] std::optional<double> metric(const Study& study, std::size_t row, std::string_view name) const;
  // The fastest row of a family; nullopt when none ran.
  [[nodiscard]] std::optional<std::size_t> best_of(const Study& study, std::string_view family) const;
};

class GroupReader {
 public:
  GroupReader(const Study& study, const StudyPlan& plan, const std::string& folder);
  // The next group; false at the end. Throws InputError naming file and line for what is no row.
  bool next(Group& group);

 private:
  std::optional<SweepRow> read_row();
  const Study* study_;
  std::vector<std::string> axes_;
  std::string path_;
  std::ifstream in_;
  std::uint64_t line_ = 0;
  std::uint64_t row_ = 0;
  std::optional<SweepRow> ahead_;
};

}  // namespace overlap::sweep
