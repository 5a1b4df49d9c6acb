#include "sweep/axis_text.hpp"

#include <charconv>

namespace overlap::sweep {

std::string plain_text(const std::string& json) {
  if (json.empty() || (json.front() != '"' && json.front() != '{' && json.front() != '[')) return json;
  const config::Value v = config::parse_text(json, "axis value");
  if (v.kind == config::Value::Kind::string) return v.string;
  if (v.items.size() == 1) return plain_text(config::json_text(v.items.front()));
  const config::Value* name = v.find("name");
  return name != nullptr && name->kind == config::Value::Kind::string ? name->string : json;
}

std::optional<double> number_of(const std::string& json) {
  const std::string text = plain_text(json);
  double v = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc{}) return std::nullopt;
  return v;
}

}  // namespace overlap::sweep
