// Tables with a header line, as text: blocks, rows and named columns.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/inputs.hpp"

namespace overlap::calibrate {

struct Row {
  std::uint32_t line = 0;
  std::vector<std::string> fields;
};
struct Block {
  std::string title;  // of the block and the comments above the first one
  std::uint32_t line = 0;
  std::vector<std::string> head;
  std::vector<Row> rows;
};

// A line that begins with '##' opens a further block; other lines with '#' are comments. Fields are separated by
// commas, semicolons or tabs.
std::vector<Block> blocks_of(std::string_view text);

// Columns of a block by name, in lower case. Errors carry file and line.
class Columns {
 public:
  Columns(const Inputs& in, std::uint32_t source, const Block& b);
  [[nodiscard]] std::optional<std::size_t> find(std::initializer_list<std::string_view> names) const;
  [[nodiscard]] std::optional<std::size_t> ending(std::string_view end) const;
  [[noreturn]] void fail(const Row& r, const std::string& what) const;
  // A positive whole number.
  [[nodiscard]] std::uint32_t whole(const Row& r, std::size_t column) const;
  // Median of the time columns that hold something; nothing when none does. Negative times stay: the caller rejects.
  [[nodiscard]] std::optional<double> seconds(const Row& r) const;
  [[nodiscard]] bool timed() const { return !times_.empty(); }
  void check(const Row& r) const;  // as many fields as the header

 private:
  const Inputs& in_;
  std::uint32_t source_;
  const Block& block_;
  std::vector<std::string> lower_;
  std::vector<std::pair<std::size_t, double>> times_;
};

}  // namespace overlap::calibrate
