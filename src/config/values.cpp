#include "config/values.hpp"

#include <cmath>

namespace overlap::config {

void set_member(Value& object, std::string_view path, Value value) {
  object.kind = Value::Kind::object;
  const std::size_t slash = path.find('/');
  const std::string_view name = path.substr(0, slash);
  Value* found = nullptr;
  for (auto& [key, member] : object.members) {
    if (key == name) found = &member;
  }
  if (found == nullptr) found = &object.members.emplace_back(std::string(name), Value{}).second;
  if (slash == std::string_view::npos) {
    *found = std::move(value);
  } else {
    set_member(*found, path.substr(slash + 1), std::move(value));
  }
}

Value text_value(std::string_view text) {
  Value v;
  v.kind = Value::Kind::string;
  v.string = std::string(text);
  return v;
}

Value bool_value(bool v) {
  Value out;
  out.kind = Value::Kind::boolean;
  out.boolean = v;
  return out;
}

Value number_value(double number) {
  Value v;
  v.kind = number == std::floor(number) && std::abs(number) < 1e15 ? Value::Kind::integer : Value::Kind::real;
  v.integer = v.kind == Value::Kind::integer ? static_cast<std::int64_t>(number) : 0;
  v.real = number;
  return v;
}

}  // namespace overlap::config
