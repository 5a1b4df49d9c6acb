#include "config/value.hpp"
#include "text/json_writer.hpp"

namespace overlap::config {
namespace {

void write(JsonWriter& w, const Value& v) {
  using Kind = Value::Kind;
  switch (v.kind) {
    case Kind::null:
      w.null();
      return;
    case Kind::boolean:
      w.value(v.boolean);
      return;
    case Kind::integer:
      w.value(v.integer);
      return;
    case Kind::real:
      w.value(v.real);
      return;
    case Kind::string:
      w.value(v.string);
      return;
    case Kind::array:
      w.begin_list();
      for (const Value& item : v.items) write(w, item);
      w.end_list();
      return;
    case Kind::object:
      w.begin_object();
      for (const auto& [name, member] : v.members) write(w.key(name), member);
      w.end_object();
      return;
  }
}

}  // namespace

std::string json_text(const Value& v, std::size_t indent) {
  JsonWriter w(indent);
  write(w, v);
  return w.text();
}

}  // namespace overlap::config
