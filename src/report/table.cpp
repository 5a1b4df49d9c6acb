#include "report/table.hpp"

#include <algorithm>

namespace overlap {

std::string tinted(std::string_view text, Tint tint, bool on) {
  static constexpr std::string_view kCodes[] = {"", "1", "2", "32", "33", "31", "34", "36"};
  if (!on || tint == Tint::plain) return std::string(text);
  std::string out = "\033[";
  out += kCodes[static_cast<std::size_t>(tint)];
  out += 'm';
  out += text;
  out += "\033[0m";
  return out;
}

void Table::row(std::vector<std::string> cells, Tint tint) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
  tints_.push_back(tint);
}

std::string Table::text(bool colour, std::string_view indent) const {
  std::vector<std::size_t> width;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t w = columns_[c].head.size();
    for (const auto& r : rows_) w = std::max(w, r[c].size());
    width.push_back(w);
  }
  const auto line = [&](const auto& cell) {
    std::string out;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (c > 0) out += "  ";
      const std::string& text = cell(c);
      const std::string space(width[c] - text.size(), ' ');
      out += columns_[c].right ? space + text : text + space;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  };
  std::string out;
  out += indent;
  out += tinted(line([&](std::size_t c) -> const std::string& { return columns_[c].head; }), Tint::dim, colour) + "\n";
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    out += indent;
    out += tinted(line([&](std::size_t c) -> const std::string& { return rows_[r][c]; }), tints_[r], colour) + "\n";
  }
  return out;
}

}  // namespace overlap
