// Writes JSON text: objects and lists with commas and indentation in the right places, numbers shortest and exact.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

std::string json_string(std::string_view text);  // quoted and escaped
std::string json_number(double v);               // finite values only

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_list() { return open('['); }
  JsonWriter& end_list() { return close(']'); }
  JsonWriter& key(std::string_view k);
  JsonWriter& value(std::string_view v) { return raw(json_string(v)); }
  JsonWriter& value(const char* v) { return raw(json_string(v)); }
  JsonWriter& value(double v) { return raw(json_number(v)); }
  JsonWriter& value(std::uint64_t v) { return raw(std::to_string(v)); }
  JsonWriter& value(bool v) { return raw(v ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  template <class T>
  JsonWriter& field(std::string_view k, const T& v) {
    return key(k).value(v);
  }
  [[nodiscard]] std::string take() && { return std::move(out_) + "\n"; }

 private:
  JsonWriter& open(char c);
  JsonWriter& close(char c);
  JsonWriter& raw(std::string_view text);
  void separate();

  std::string out_;
  std::vector<bool> first_;  // of each open object or list: nothing written yet
  bool after_key_ = false;
};

}  // namespace overlap
