// Writes JSON text, members in the order of the calls: commas and indentation in the right places, numbers exact.
//
//   JsonWriter w;
//   w.begin_object().field("name", "a").key("links").begin_list().value(1.5).end_list().end_object();
//   write_file(path, std::move(w).take());
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/quote.hpp"

namespace overlap {

class JsonWriter {
 public:
  // Spaces of indent a level; 0 = all on one line, without spaces.
  explicit JsonWriter(std::size_t indent = 2) : indent_(indent) {}
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_list() { return open('['); }
  JsonWriter& end_list() { return close(']'); }
  JsonWriter& key(std::string_view k);
  JsonWriter& value(std::string_view v) { return raw(json_string(v)); }
  JsonWriter& value(const char* v) { return raw(json_string(v)); }
  JsonWriter& value(double v) { return raw(json_number(v)); }  // throws CheckError when not finite
  JsonWriter& value(std::integral auto v) { return raw(std::to_string(v)); }
  JsonWriter& value(bool v) { return raw(v ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  template <class T>
  JsonWriter& field(std::string_view k, const T& v) {
    return key(k).value(v);
  }
  [[nodiscard]] const std::string& text() const { return out_; }          // without a newline at the end
  [[nodiscard]] std::string take() && { return std::move(out_) + "\n"; }  // a whole file

 private:
  JsonWriter& open(char c);
  JsonWriter& close(char c);
  JsonWriter& raw(std::string_view text);
  void separate();
  void new_line();

  std::size_t indent_;
  std::string out_;
  std::vector<bool> first_;  // of each open object or list: nothing written yet
  bool after_key_ = false;
};

}  // namespace overlap
