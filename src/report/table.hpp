// Text tables and colours for terminals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace overlap {

enum class Tint { plain, bold, dim, green, yellow, red, blue, cyan };
// Wraps text in the terminal's colour; unchanged when `on` is false.
std::string tinted(std::string_view text, Tint tint, bool on);

struct Column {
  std::string head;
  bool right = true;  // right-aligned
};

// Columns two spaces apart, as wide as their widest cell. Cells are plain text without tints; the tint of a row
// colours it.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void row(std::vector<std::string> cells, Tint tint = Tint::plain);
  [[nodiscard]] std::string text(bool colour, std::string_view indent = "  ") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<Tint> tints_;
};

}  // namespace overlap
