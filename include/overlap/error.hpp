// The two ways a run ends early.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

// Bad input of the user: one message, exit code 2. `where` is "file:/json/pointer", "file:line" or empty.
class InputError : public std::runtime_error {
 public:
  InputError(const std::string& where, const std::string& what)
      : std::runtime_error(where.empty() ? what : where + ": " + what), where_(where), what_(what) {}
  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] const std::string& problem() const { return what_; }

 private:
  std::string where_;
  std::string what_;
};

// A value with a missing, unknown or wrong unit; the config reader turns it into an InputError with its place.
class UnitError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A check that failed or a graph that cannot finish: exit code 1.
class CheckError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The candidate nearest to `name` by edit distance, for "did you mean"; empty when nothing is near.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace overlap
