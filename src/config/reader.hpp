// Strict reading of JSON files: every error is one InputError with file, JSON pointer, what is wrong and the remedy.
//
//   constexpr std::string_view kKeys[] = {"bandwidth", "latency"};
//   const Document doc("link.json");
//   const Object link(doc.root(), {"link", kKeys});           // refuses keys that are not among kKeys
//   Bandwidth b = link.at("bandwidth").bandwidth();           // required; positive and finite
//   Seconds l = link.has("latency") ? link.at("latency").time() : Seconds(0);
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.hpp"
#include "overlap/dtype.hpp"
#include "overlap/units.hpp"

namespace overlap::config {

// Keys that one kind of object may have; the schemas are tested against these.
struct KeySet {
  std::string_view object;  // "link", "device"
  std::span<const std::string_view> keys;
};

// A value and its place. Cheap to copy; the Document must outlive it.
class Cursor {
 public:
  Cursor(const Value& value, const std::string& file, std::string pointer)
      : value_(&value), file_(&file), pointer_(std::move(pointer)) {}

  [[nodiscard]] const Value& value() const { return *value_; }
  [[nodiscard]] const std::string& file() const { return *file_; }
  [[nodiscard]] const std::string& pointer() const { return pointer_; }
  [[nodiscard]] std::string where() const;  // "file:/pointer"
  [[noreturn]] void fail(const std::string& what) const;

  [[nodiscard]] bool is_string() const { return value_->kind == Value::Kind::string; }
  [[nodiscard]] bool is_array() const { return value_->kind == Value::Kind::array; }
  [[nodiscard]] bool is_object() const { return value_->kind == Value::Kind::object; }

  [[nodiscard]] const std::string& text() const;  // not empty
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer(std::int64_t min, std::int64_t max) const;
  [[nodiscard]] std::uint32_t count(std::uint32_t max = 1U << 30U) const;  // 1..max
  [[nodiscard]] double ratio(double min, double max) const;                // a number without unit, both ends allowed
  [[nodiscard]] double fraction() const;                                   // (0, 1]
  [[nodiscard]] Bandwidth bandwidth() const;                               // > 0
  [[nodiscard]] FlopRate flop_rate() const;                                // > 0
  [[nodiscard]] Frequency frequency() const;                               // > 0
  [[nodiscard]] Bytes bytes() const;                                       // > 0
  [[nodiscard]] Seconds time() const;                                      // >= 0
  [[nodiscard]] DType dtype() const;
  // One of `choices`; its place among them. The error names the nearest.
  [[nodiscard]] std::size_t choice(std::span<const std::string_view> choices) const;
  [[nodiscard]] std::vector<Cursor> items() const;  // of a list
  [[nodiscard]] Cursor member(std::string_view key) const;

 private:
  template <class Q>
  Q quantity(Q (*parse)(std::string_view), const char* example, bool zero_allowed) const;

  const Value* value_;
  const std::string* file_;
  std::string pointer_;
};

// An object whose keys are checked.
class Object {
 public:
  Object(const Cursor& at, const KeySet& keys);
  [[nodiscard]] const Cursor& cursor() const { return at_; }
  [[nodiscard]] bool has(std::string_view key) const { return at_.value().find(key) != nullptr; }
  [[nodiscard]] Cursor at(std::string_view key) const;  // throws when it is missing
  [[nodiscard]] std::optional<Cursor> find(std::string_view key) const;
  [[noreturn]] void fail(const std::string& what) const { at_.fail(what); }

 private:
  Cursor at_;
  KeySet keys_;
};

// A parsed file.
class Document {
 public:
  explicit Document(const std::string& file);
  Document(std::string_view text, const std::string& file);  // text that does not stand in a file
  Document(Value value, const std::string& file);
  [[nodiscard]] Cursor root() const { return {*value_, *file_, ""}; }
  [[nodiscard]] const std::string& file() const { return *file_; }

 private:
  std::unique_ptr<const std::string> file_;
  std::unique_ptr<const Value> value_;
};

// Refuses an unknown name: "unknown WHAT 'NAME'; did you mean 'X'?" or the list of the known.
[[nodiscard]] std::string unknown_name(std::string_view what, std::string_view name,
                                       const std::vector<std::string>& known);

}  // namespace overlap::config
