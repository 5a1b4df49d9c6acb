#include "sweep/json_text.hpp"

#include <charconv>

#include "report/json_writer.hpp"

namespace overlap::sweep {

std::string json_text(const config::Value& v) {
  using Kind = config::Value::Kind;
  switch (v.kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return v.boolean ? "true" : "false";
    case Kind::integer:
      return std::to_string(v.integer);
    case Kind::real:
      return json_number(v.real);
    case Kind::string:
      return json_string(v.string);
    case Kind::array: {
      std::string out = "[";
      for (const config::Value& item : v.items) out += (out.size() > 1 ? "," : "") + json_text(item);
      return out + "]";
    }
    case Kind::object: {
      std::string out = "{";
      for (const auto& [key, member] : v.members) {
        out += (out.size() > 1 ? "," : "") + json_string(key) + ":" + json_text(member);
      }
      return out + "}";
    }
  }
  return "null";
}

std::string plain_text(const std::string& json) {
  if (json.empty() || (json.front() != '"' && json.front() != '{' && json.front() != '[')) return json;
  const config::Value v = config::parse_text(json, "axis value");
  if (v.kind == config::Value::Kind::string) return v.string;
  if (v.items.size() == 1) return plain_text(json_text(v.items.front()));
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
