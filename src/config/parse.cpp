#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "config/value.hpp"
#include "overlap/error.hpp"

namespace overlap::config {
namespace {

// "line:column" of byte offset `at` (1-based, as the JSON library counts).
std::string line_of(std::string_view text, std::size_t at) {
  std::size_t line = 1;
  std::size_t column = 1;
  for (std::size_t i = 0; i + 1 < at && i < text.size(); ++i) {
    column = text[i] == '\n' ? 1 : column + 1;
    line += text[i] == '\n' ? 1U : 0U;
  }
  return fmt::format("{}:{}", line, column);
}

// On one line, without control characters, and no longer than a message should be.
std::string shortened(std::string text) {
  if (text.size() > 160) text = text.substr(0, 160) + " ...";
  for (char& c : text) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return text;
}

// Receives the tokens of the library's parser. Throws out of it at the first fault.
class Handler {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  Handler(std::string_view text, const std::string& file) : text_(text), file_(file) {}
  Value root;

  bool null() { return put({}); }
  bool boolean(bool v) {
    Value out;
    out.kind = Value::Kind::boolean;
    out.boolean = v;
    return put(std::move(out));
  }
  bool number_integer(number_integer_t v) {
    Value out;
    out.kind = Value::Kind::integer;
    out.integer = v;
    out.real = static_cast<double>(v);
    return put(std::move(out));
  }
  bool number_unsigned(number_unsigned_t v) {
    if (v > static_cast<number_unsigned_t>(INT64_MAX)) return number_float(static_cast<double>(v), {});
    return number_integer(static_cast<number_integer_t>(v));
  }
  bool number_float(number_float_t v, const string_t& /*text*/) {
    if (!std::isfinite(v)) throw InputError(place(), "a number that is not finite");
    Value out;
    out.kind = Value::Kind::real;
    out.real = v;
    return put(std::move(out));
  }
  bool string(string_t& v) {
    Value out;
    out.kind = Value::Kind::string;
    out.string = std::move(v);
    return put(std::move(out));
  }
  bool binary(binary_t& /*v*/) { return false; }
  bool start_object(std::size_t /*size*/) { return open(Value::Kind::object); }
  bool start_array(std::size_t /*size*/) { return open(Value::Kind::array); }
  bool key(string_t& k) {
    Value& top = *stack_.back();
    if (top.find(k) != nullptr)
      throw InputError(place() + (stack_.size() > 1 ? "/" : "") + k.substr(0, 60), "this key stands twice");
    top.members.emplace_back(std::move(k), Value{});
    return true;
  }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/, const nlohmann::detail::exception& e) {
    std::string what = e.what();
    const std::size_t colon = what.find(": ");
    what = colon == std::string::npos ? what : what.substr(colon + 2);
    const bool cut = what.find("end of input") != std::string::npos || what.find("closing quote") != std::string::npos;
    const char* const fault = text_.empty() ? "the file is empty" : cut ? "the file ends too early" : "not valid JSON";
    throw InputError(file_ + ":" + line_of(text_, position), fmt::format("{}: {}", fault, shortened(what)));
  }

 private:
  [[nodiscard]] std::string place() const {
    std::string pointer;
    for (std::size_t i = 0; i < stack_.size(); ++i) {
      const Value& v = *stack_[i];
      if (i + 1 == stack_.size()) break;
      pointer += "/" + (v.kind == Value::Kind::object ? v.members.back().first : std::to_string(v.items.size() - 1));
    }
    return file_ + ":" + (pointer.empty() ? "/" : pointer);
  }
  Value& slot() {
    if (stack_.empty()) return root;
    Value& top = *stack_.back();
    if (top.kind == Value::Kind::object) return top.members.back().second;
    return top.items.emplace_back();
  }
  bool put(Value v) {
    slot() = std::move(v);
    return true;
  }
  bool open(Value::Kind kind) {
    if (stack_.size() >= kMaxDepth) throw InputError(place(), fmt::format("nested deeper than {} levels", kMaxDepth));
    Value& v = slot();
    v.kind = kind;
    stack_.push_back(&v);  // stays put: its parent grows only after it is closed
    return true;
  }
  bool close() {
    stack_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  std::vector<Value*> stack_;
};

}  // namespace

Value::Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

const Value* Value::find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string_view Value::kind_text() const {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "true or false";
    case Kind::integer:
    case Kind::real:
      return "a bare number";
    case Kind::string:
      return "a string";
    case Kind::array:
      return "a list";
    case Kind::object:
      return "an object";
  }
  return "";
}

Value parse_text(std::string_view text, const std::string& file) {
  Handler handler(text, file);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &handler)) throw InputError(file, "not valid JSON");
  return std::move(handler.root);
}

std::string read_text(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) throw InputError(file, "there is no such file");
  if (!std::filesystem::is_regular_file(file, error)) throw InputError(file, "is not a regular file");
  if (std::filesystem::file_size(file, error) > kMaxFileBytes) {
    throw InputError(file, fmt::format("is larger than {} MiB", kMaxFileBytes >> 20U));
  }
  std::ifstream in(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.good() && !in.eof()) throw InputError(file, "cannot be read");
  return text;
}

Value parse_file(const std::string& file) {
  return parse_text(read_text(file), file);
}

}  // namespace overlap::config
