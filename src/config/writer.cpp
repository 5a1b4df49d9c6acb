#include "config/writer.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "overlap/error.hpp"

namespace overlap::config {

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
          out += c;
        }
    }
  }
  return out + "\"";
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

void JsonWriter::new_line() {
  if (indent_ == 0) return;
  out_ += '\n';
  out_.append(static_cast<std::size_t>(indent_) * has_items_.size(), ' ');
}

void JsonWriter::before_item() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) out_ += indent_ == 0 ? ", " : ",";
  has_items_.back() = true;
  new_line();
}

JsonWriter& JsonWriter::key(std::string_view name) {
  before_item();
  out_ += json_quoted(name) + ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view text) {
  before_item();
  out_ += text;
  return *this;
}

JsonWriter& JsonWriter::open(char c) {
  before_item();
  out_ += c;
  has_items_.push_back(false);
  return *this;
}

JsonWriter& JsonWriter::close(char c) {
  const bool any = has_items_.back();
  has_items_.pop_back();
  if (any) new_line();
  out_ += c;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  return raw(json_quoted(text));
}
JsonWriter& JsonWriter::value(double v) {
  if (!std::isfinite(v)) throw CheckError("a result is not a finite number; nothing is written");
  return raw(fmt::format("{}", v));
}
JsonWriter& JsonWriter::value(std::int64_t v) {
  return raw(fmt::format("{}", v));
}
JsonWriter& JsonWriter::value(std::uint64_t v) {
  return raw(fmt::format("{}", v));
}

JsonWriter& JsonWriter::value(const Value& v) {
  switch (v.kind) {
    case Value::Kind::null:
      return null();
    case Value::Kind::boolean:
      return value(v.boolean);
    case Value::Kind::integer:
      return value(v.integer);
    case Value::Kind::real:
      return value(v.real);
    case Value::Kind::string:
      return value(v.string);
    case Value::Kind::array:
      begin_list();
      for (const Value& item : v.items) value(item);
      return end_list();
    case Value::Kind::object:
      begin_object();
      for (const auto& [name, member] : v.members) key(name).value(member);
      return end_object();
  }
  return *this;
}

void write_file(const std::string& file, std::string_view text) {
  const std::string temporary = file + ".tmp";
  std::FILE* out = std::fopen(temporary.c_str(), "wb");
  if (out == nullptr) throw InputError(file, fmt::format("cannot be written: {}", std::strerror(errno)));
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const bool closed = std::fclose(out) == 0;
  std::error_code error;
  if (written && closed) std::filesystem::rename(temporary, file, error);
  if (!written || !closed || error) {
    const std::string reason = error ? error.message() : std::strerror(errno);
    std::filesystem::remove(temporary, error);
    throw InputError(file, "cannot be written: " + reason);
  }
}

}  // namespace overlap::config
