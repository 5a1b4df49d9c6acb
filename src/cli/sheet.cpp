#include "cli/sheet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "text/json_writer.hpp"

namespace overlap::cli {

Cell::Cell(std::uint32_t n) : text(fmt::format("{}", n)), number(n) {}
Cell::Cell(Seconds v) : text(to_text(v)), number(v.si()) {}
Cell::Cell(Bytes v) : text(to_text(v)), number(v.si()) {}
Cell::Cell(Bandwidth v) : text(to_text(v)), number(v.si()) {}
Cell::Cell(FlopRate v) : text(to_text(v)), number(v.si()) {}

std::string Sheet::text() const {
  std::vector<std::size_t> width;
  for (const Column& c : columns) width.push_back(c.title.size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].text.size());
  }
  std::string out;
  const auto line = [&](const auto& text_of) {
    std::string l;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const bool number = !rows.empty() && rows.front()[i].number.has_value();
      l += number ? fmt::format("  {:>{}}", text_of(i), width[i]) : fmt::format("  {:<{}}", text_of(i), width[i]);
    }
    l.erase(l.find_last_not_of(' ') + 1);
    out += l + "\n";
  };
  line([this](std::size_t i) { return columns[i].title; });
  for (const auto& row : rows) line([&row](std::size_t i) { return row[i].text; });
  return out;
}

std::string Sheet::csv() const {
  std::string out;
  for (std::size_t i = 0; i < columns.size(); ++i) out += (i == 0 ? "" : ",") + csv_field(columns[i].key);
  out += "\n";
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += i == 0 ? "" : ",";
      out += row[i].number ? fmt::format("{}", *row[i].number) : csv_field(row[i].text);
    }
    out += "\n";
  }
  return out;
}

std::string print(const std::vector<NamedSheet>& sheets, Format format) {
  std::string out;
  if (format == Format::json) {
    JsonWriter w;
    w.begin_object();
    for (const NamedSheet& s : sheets) {
      w.key(s.key).begin_list();
      for (const auto& row : s.sheet.rows) {
        w.begin_object();
        for (std::size_t i = 0; i < row.size(); ++i) {
          w.key(s.sheet.columns[i].key);
          row[i].number ? w.value(*row[i].number) : w.value(row[i].text);
        }
        w.end_object();
      }
      w.end_list();
    }
    w.end_object();
    return w.text() + "\n";
  }
  for (const NamedSheet& s : sheets) {
    if (!out.empty()) out += "\n";
    if (format == Format::text && !s.title.empty()) out += s.title + "\n";
    if (format == Format::csv && sheets.size() > 1) out += "# " + s.key + "\n";
    out += format == Format::csv ? s.sheet.csv() : s.sheet.text();
  }
  return out;
}

void show(const std::vector<NamedSheet>& sheets, Format format) {
  const std::string text = print(sheets, format);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

std::string percent(double ratio) {
  return fmt::format("{:.1f} %", ratio * 100.0);
}

}  // namespace overlap::cli
