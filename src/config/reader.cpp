#include "config/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "overlap/error.hpp"

namespace overlap::config {
namespace {

// Of a JSON pointer: ~ and / are escaped (RFC 6901).
std::string escaped(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

// What stands there, short enough for a message.
std::string shown(const Value& v) {
  switch (v.kind) {
    case Value::Kind::integer:
      return fmt::format("{}", v.integer);
    case Value::Kind::real:
      return fmt::format("{}", v.real);
    case Value::Kind::string:
      return v.string.size() > 60 ? fmt::format("'{}...'", v.string.substr(0, 57)) : fmt::format("'{}'", v.string);
    default:
      return std::string(v.kind_text());
  }
}

}  // namespace

std::string unknown_name(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  const std::string_view cut = name.substr(0, 60);
  const std::string near = nearest_name(cut, known);
  if (!near.empty()) return fmt::format("unknown {} '{}'; did you mean '{}'?", what, cut, near);
  return fmt::format("unknown {} '{}'; known: {}", what, cut, fmt::join(known, ", "));
}

std::string Cursor::where() const {
  return *file_ + ":" + (pointer_.empty() ? "/" : pointer_);
}

void Cursor::fail(const std::string& what) const {
  throw InputError(where(), what);
}

const std::string& Cursor::text() const {
  if (!is_string() || value_->string.empty()) fail(fmt::format("a text belongs here, not {}", shown(*value_)));
  return value_->string;
}

bool Cursor::boolean() const {
  if (value_->kind != Value::Kind::boolean) fail(fmt::format("true or false belongs here, not {}", shown(*value_)));
  return value_->boolean;
}

std::int64_t Cursor::integer(std::int64_t min, std::int64_t max) const {
  if (value_->kind != Value::Kind::integer || value_->integer < min || value_->integer > max) {
    fail(fmt::format("a whole number in {}..{} belongs here, not {}", min, max, shown(*value_)));
  }
  return value_->integer;
}

std::uint32_t Cursor::count(std::uint32_t max) const {
  return static_cast<std::uint32_t>(integer(1, max));
}

double Cursor::ratio(double min, double max) const {
  const bool number = value_->kind == Value::Kind::integer || value_->kind == Value::Kind::real;
  if (!number || !(value_->real >= min && value_->real <= max)) {
    fail(fmt::format("a number without unit in {}..{} belongs here, not {}", min, max, shown(*value_)));
  }
  return value_->real;
}

double Cursor::fraction() const {
  const bool number = value_->kind == Value::Kind::integer || value_->kind == Value::Kind::real;
  if (!number || !(value_->real > 0 && value_->real <= 1)) {
    fail(fmt::format("a number in (0, 1] belongs here, not {}", shown(*value_)));
  }
  return value_->real;
}

template <class Q>
Q Cursor::quantity(Q (*parse)(std::string_view), const char* example, bool zero_allowed) const {
  if (!is_string()) {
    fail(fmt::format("{} where a value with its unit belongs, such as \"{}\"",
                     value_->kind == Value::Kind::integer || value_->kind == Value::Kind::real
                         ? "the bare number " + shown(*value_)
                         : std::string(value_->kind_text()),
                     example));
  }
  Q out;
  try {
    out = parse(value_->string.size() > 60 ? std::string_view(value_->string).substr(0, 60) : value_->string);
  } catch (const UnitError& e) {
    fail(e.what());
  }
  if (!std::isfinite(out.si()) || out.si() < 0 || (!zero_allowed && out.si() == 0)) {
    fail(fmt::format("{} must be {}", shown(*value_), zero_allowed ? "zero or more" : "more than zero"));
  }
  return out;
}

Bandwidth Cursor::bandwidth() const {
  return quantity(parse_bandwidth, "450 GB/s", false);
}
FlopRate Cursor::flop_rate() const {
  return quantity(parse_flop_rate, "989 TFLOP/s", false);
}
Frequency Cursor::frequency() const {
  return quantity(parse_frequency, "1.98 GHz", false);
}
Bytes Cursor::bytes() const {
  return quantity(parse_bytes, "80 GiB", false);
}
Seconds Cursor::time() const {
  return quantity(parse_seconds, "1.7 us", true);
}

DType Cursor::dtype() const {
  const std::optional<DType> t = parse_dtype(text());
  if (!t) fail(unknown_name("dtype", text(), {"bf16", "f16", "f32", "f64", "fp8_e4m3", "fp8_e5m2", "u8"}));
  return *t;
}

std::size_t Cursor::choice(std::span<const std::string_view> choices) const {
  const auto found = std::find(choices.begin(), choices.end(), text());
  if (found == choices.end()) fail(unknown_name("value", text(), {choices.begin(), choices.end()}));
  return static_cast<std::size_t>(found - choices.begin());
}

std::vector<Cursor> Cursor::items() const {
  if (!is_array()) fail(fmt::format("a list belongs here, not {}", shown(*value_)));
  std::vector<Cursor> out;
  for (std::size_t i = 0; i < value_->items.size(); ++i) {
    out.emplace_back(value_->items[i], *file_, fmt::format("{}/{}", pointer_, i));
  }
  return out;
}

Cursor Cursor::member(std::string_view key) const {
  const Value* v = value_->find(key);
  if (v == nullptr) fail(fmt::format("the key '{}' is missing", key));
  return {*v, *file_, pointer_ + "/" + escaped(key)};
}

Object::Object(const Cursor& at, const KeySet& keys) : at_(at), keys_(keys) {
  if (!at.is_object()) at.fail(fmt::format("an object ({}) belongs here, not {}", keys.object, shown(at.value())));
  for (const auto& [key, value] : at.value().members) {
    if (std::find(keys.keys.begin(), keys.keys.end(), key) != keys.keys.end()) continue;
    Cursor(value, at.file(), at.pointer() + "/" + escaped(key.substr(0, 60)))
        .fail(unknown_name(fmt::format("key of a {}", keys.object), key, {keys.keys.begin(), keys.keys.end()}));
  }
}

Cursor Object::at(std::string_view key) const {
  const Value* v = at_.value().find(key);
  if (v == nullptr) at_.fail(fmt::format("a {} needs the key '{}'", keys_.object, key));
  return at_.member(key);
}

std::optional<Cursor> Object::find(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  return at_.member(key);
}

Document::Document(const std::string& file)
    : file_(std::make_unique<const std::string>(file)), value_(std::make_unique<const Value>(parse_file(file))) {}
Document::Document(std::string_view text, const std::string& file)
    : file_(std::make_unique<const std::string>(file)), value_(std::make_unique<const Value>(parse_text(text, file))) {}

Document::Document(Value value, const std::string& file)
    : file_(std::make_unique<const std::string>(file)), value_(std::make_unique<const Value>(std::move(value))) {}

}  // namespace overlap::config
