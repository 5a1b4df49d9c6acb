// Writes JSON text, members in the order of the calls; numbers in the shortest form that reads back the same.
//
//   JsonWriter w;
//   w.begin_object().key("name").value("a").key("links").begin_list().value(1).end_list().end_object();
//   std::string text = w.text();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.hpp"

namespace overlap::config {

class JsonWriter {
 public:
  // Spaces of indent a level; 0 = all on one line.
  explicit JsonWriter(int indent = 2) : indent_(indent) {}
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_list() { return open('['); }
  JsonWriter& end_list() { return close(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(bool v) { return raw(v ? "true" : "false"); }
  JsonWriter& value(double v);  // throws CheckError when not finite: no file of ours ever holds a NaN
  JsonWriter& value(std::int64_t v);
  JsonWriter& value(std::uint64_t v);
  JsonWriter& value(std::uint32_t v) { return value(std::uint64_t{v}); }
  JsonWriter& value(int v) { return value(std::int64_t{v}); }
  JsonWriter& null() { return raw("null"); }
  JsonWriter& value(const Value& v);
  [[nodiscard]] const std::string& text() const { return out_; }  // without a newline at the end

 private:
  JsonWriter& raw(std::string_view text);
  JsonWriter& open(char c);
  JsonWriter& close(char c);
  void before_item();
  void new_line();

  int indent_;
  std::string out_;
  std::vector<bool> has_items_;  // by open level
  bool after_key_ = false;
};

[[nodiscard]] std::string json_quoted(std::string_view text);
// One field of a CSV line: quoted when it holds a comma, a quote or a line break (RFC 4180).
[[nodiscard]] std::string csv_field(std::string_view text);

// Writes to a temporary beside `file` and renames it. Throws InputError with the reason when it cannot.
void write_file(const std::string& file, std::string_view text);

}  // namespace overlap::config
