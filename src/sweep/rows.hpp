// Rows of a study as text: one CSV line and one JSON line each, a block a cell.
#pragma once

#include <cstdint>
#include <string>

#include "overlap/sweep.hpp"

namespace overlap::sweep {

struct CellBlock {
  std::uint64_t cell = 0;
  std::uint32_t rows = 0;
  std::string csv;
  std::string jsonl;
};

std::string csv_header(const Study& study, const StudyPlan& plan);
// Evaluates the cell and formats its rows.
CellBlock cell_block(const Study& study, const StudyPlan& plan, std::uint64_t cell);
// Rows that the cell will have: its workloads x schedules. Reads the experiment, evaluates nothing.
std::uint32_t rows_of_cell(const StudyPlan& plan, std::uint64_t cell);

}  // namespace overlap::sweep
