// A JSON value as it stands in a file, members in the order of the file. Only parse.cpp knows the JSON library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace overlap::config {

struct Value {
  enum class Kind : std::uint8_t { null, boolean, integer, real, string, array, object };
  Kind kind = Kind::null;
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0;  // of an integer too
  std::string string;
  std::vector<Value> items;
  std::vector<std::pair<std::string, Value>> members;

  // Out of line: `members` holds pairs with a Value, which is not complete here.
  Value();
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();

  [[nodiscard]] const Value* find(std::string_view key) const;
  [[nodiscard]] std::string_view kind_text() const;  // "a number", "an object" ...
};

// Deepest nesting and largest file that are read.
inline constexpr std::size_t kMaxDepth = 64;
inline constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20U;

// Throws InputError with "file:line:column" or "file:/pointer": not JSON, truncated, nested too deep, a key that stands
// twice, a number that is not finite.
[[nodiscard]] Value parse_text(std::string_view text, const std::string& file);
// Throws InputError also when the file is missing, is a folder or too large.
[[nodiscard]] Value parse_file(const std::string& file);
[[nodiscard]] std::string read_text(const std::string& file);
// Sets what the JSON pointer leads to ("/workloads/0/tokens"). Throws InputError when it leads nowhere.
void set_at(Value& root, const std::string& pointer, Value replacement);
// Back to text, numbers exact, members in the order of the file. `indent`: spaces a level, 0 = all on one line.
[[nodiscard]] std::string json_text(const Value& v, std::size_t indent = 0);

}  // namespace overlap::config
