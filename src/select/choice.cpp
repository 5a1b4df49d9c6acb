#include <fmt/format.h>

#include "overlap/select.hpp"
#include "text/json_writer.hpp"

namespace overlap {
namespace {

std::string value_text(double v, const std::string& unit) {
  if (unit == "s") return to_text(Seconds(v));
  if (unit == "flop") return to_text(Flops(v));
  if (unit == "B") return to_text(Bytes(v));
  return unit.empty() ? fmt::format("{:.4g}", v) : fmt::format("{:.6g} {}", v, unit);
}

std::string decision_text(const Decision& d) {
  return fmt::format("{} = {} {} {} = {}", d.left, value_text(d.left_value, d.unit), d.relation, d.right,
                     value_text(d.right_value, d.unit));
}

}  // namespace

std::string to_text(const Choice& c) {
  std::string out = fmt::format("{}: {}\n", c.selector, c.pick);
  out += fmt::format("  branch  {}\n  why     {}\n", c.branch, decision_text(c.decision));
  if (c.predicted.si() > 0) out += fmt::format("  time    {} by its own model\n", to_text(c.predicted));
  out += "  inputs  ";
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    out += fmt::format("{}{} = {}", i == 0 ? "" : ", ", c.inputs[i].first, c.inputs[i].second);
  }
  out += fmt::format("\n  source  {}\n", c.source);
  for (const std::string& n : c.notes) out += fmt::format("  note    {}\n", n);
  return out;
}

std::string to_json(const Choice& c) {
  JsonWriter w(0);
  w.begin_object().field("selector", c.selector).field("pick", c.pick).field("branch", c.branch);
  w.key("decision").begin_object().field("left", c.decision.left).field("left_value", c.decision.left_value);
  w.field("relation", c.decision.relation).field("right", c.decision.right);
  w.field("right_value", c.decision.right_value).field("unit", c.decision.unit).end_object();
  if (c.degree) w.field("degree", *c.degree);
  if (c.predicted.si() > 0) w.field("predicted_s", c.predicted.si());
  w.key("inputs").begin_object();
  for (const auto& [name, value] : c.inputs) w.field(name, value);
  w.end_object().field("source", c.source).key("notes").begin_list();
  for (const std::string& n : c.notes) w.value(n);
  w.end_list().end_object();
  return w.text();
}

std::string to_csv(std::span<const Choice> choices) {
  std::string out = "selector,pick,degree,predicted_s,branch,left,left_value,relation,right,right_value,unit\n";
  for (const Choice& c : choices) {
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(c.selector), csv_field(c.pick),
                       c.degree ? std::to_string(*c.degree) : "", c.predicted.si(), csv_field(c.branch),
                       csv_field(c.decision.left), c.decision.left_value, c.decision.relation,
                       csv_field(c.decision.right), c.decision.right_value, c.decision.unit);
  }
  return out;
}

}  // namespace overlap
