// One value of a file set to another, for what-if studies.
#include <fmt/format.h>

#include <charconv>

#include "config/value.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"

namespace overlap {
namespace {

using config::Value;

std::string unescaped(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
      out += token[++i] == '0' ? '~' : '/';
    } else {
      out += token[i];
    }
  }
  return out;
}

// The member or item that `token` names; a new member of an object is made when it is the last step.
Value* step(Value& at, const std::string& token, bool last) {
  if (at.kind == Value::Kind::object) {
    for (auto& [name, value] : at.members) {
      if (name == token) return &value;
    }
    return last ? &at.members.emplace_back(token, Value{}).second : nullptr;
  }
  if (at.kind != Value::Kind::array) return nullptr;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (error != std::errc{} || end != token.data() + token.size() || index >= at.items.size()) return nullptr;
  return &at.items[index];
}

}  // namespace

void config::set_at(Value& root, const std::string& pointer, Value replacement) {
  if (pointer.empty() || pointer[0] != '/') {
    throw InputError(pointer, "a JSON pointer begins with '/', such as /workloads/0/tokens");
  }
  Value* at = &root;
  for (std::size_t begin = 1; begin <= pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', begin), pointer.size());
    const std::string token = unescaped(std::string_view(pointer).substr(begin, end - begin));
    at = step(*at, token, end == pointer.size());
    if (at == nullptr) throw InputError(pointer, fmt::format("the file has nothing at '{}'", pointer.substr(0, end)));
    begin = end + 1;
  }
  *at = std::move(replacement);
}

std::string with_value(const std::string& text, const std::string& pointer, const std::string& value) {
  Value root = config::parse_text(text, "the experiment");
  config::set_at(root, pointer, config::parse_text(value, "the value of " + pointer));
  return config::json_text(root, 2) + "\n";
}

}  // namespace overlap
