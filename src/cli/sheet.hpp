// A table of results that prints itself as aligned text, JSON (a list of objects) or CSV.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "overlap/units.hpp"

namespace overlap::cli {

// `key` is the name in JSON and CSV and ends in the unit: "latency_s", "payload_bytes_per_s".
struct Column {
  std::string title;
  std::string key;
};

// Text for people; JSON and CSV hold `number` where there is one.
struct Cell {
  std::string text;
  std::optional<double> number;
  Cell(std::string t) : text(std::move(t)) {}  // NOLINT: cells are made from what they show
  Cell(std::string_view t) : text(t) {}        // NOLINT
  Cell(const char* t) : text(t) {}             // NOLINT
  Cell(std::uint32_t n);                       // NOLINT
  Cell(Seconds v);                             // NOLINT
  Cell(Bytes v);                               // NOLINT
  Cell(Bandwidth v);                           // NOLINT
  Cell(FlopRate v);                            // NOLINT
};

struct Sheet {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string csv() const;
};

// Named sheets: text and CSV one below the other under their names, JSON one object.
struct NamedSheet {
  std::string title;  // of the text
  std::string key;    // of the JSON member
  Sheet sheet;
};
[[nodiscard]] std::string print(const std::vector<NamedSheet>& sheets, Format format);
void show(const std::vector<NamedSheet>& sheets, Format format);  // to standard output

// 0.123 as "12.3 %".
std::string percent(double ratio);

}  // namespace overlap::cli
