#include <fmt/format.h>

#include <cmath>

#include "overlap/error.hpp"
#include "overlap/schedule.hpp"

namespace overlap {
namespace {

std::string value_text(const ParamValue& v) {
  if (const auto* i = std::get_if<std::int64_t>(&v)) return std::to_string(*i);
  if (const auto* d = std::get_if<double>(&v)) return fmt::format("{}", *d);
  return std::get<std::string>(v);
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

[[noreturn]] void bad(const ScheduleInfo& info, const ParamInfo& p, const std::string& what) {
  throw InputError("", fmt::format("parameter '{}' of schedule '{}' {}", p.name, info.name, what));
}

// `given` as the type of the default, checked against range or choices.
ParamValue checked(const ScheduleInfo& info, const ParamInfo& p, const ParamValue& given) {
  if (std::holds_alternative<std::string>(p.fallback)) {
    const auto* text = std::get_if<std::string>(&given);
    if (text == nullptr) bad(info, p, fmt::format("must be one of: {}", joined(p.choices)));
    for (const std::string& c : p.choices)
      if (c == *text) return given;
    const std::string near = nearest_name(*text, p.choices);
    bad(info, p,
        fmt::format("cannot be '{}'; it must be one of: {}{}", *text, joined(p.choices),
                    near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)));
  }
  if (std::holds_alternative<std::string>(given))
    bad(info, p, fmt::format("must be a number, not '{}'", std::get<std::string>(given)));
  const auto range = [&](double v) {
    if (std::isfinite(v) && v >= static_cast<double>(p.min) && v <= static_cast<double>(p.max)) return;
    bad(info, p, fmt::format("is {}; it must be in {}..{}", value_text(given), p.min, p.max));
  };
  if (std::holds_alternative<std::int64_t>(p.fallback)) {
    const auto* i = std::get_if<std::int64_t>(&given);
    if (i == nullptr) bad(info, p, fmt::format("must be a whole number, not {}", value_text(given)));
    range(static_cast<double>(*i));
    return given;
  }
  const double v = std::holds_alternative<double>(given) ? std::get<double>(given)
                                                         : static_cast<double>(std::get<std::int64_t>(given));
  range(v);
  return v;
}

}  // namespace

void Params::set(std::string name, ParamValue value) {
  for (auto& [key, old] : values_) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  values_.emplace_back(std::move(name), std::move(value));
}

bool Params::has(std::string_view name) const {
  for (const auto& entry : values_)
    if (entry.first == name) return true;
  return false;
}

const ParamValue& Params::get(std::string_view name) const {
  for (const auto& [key, value] : values_)
    if (key == name) return value;
  throw CheckError(fmt::format("a schedule asks for a parameter '{}' that it does not declare", name));
}

std::int64_t Params::integer(std::string_view name) const {
  return std::get<std::int64_t>(get(name));
}
double Params::real(std::string_view name) const {
  return std::get<double>(get(name));
}
const std::string& Params::text(std::string_view name) const {
  return std::get<std::string>(get(name));
}

std::string Params::to_text() const {
  std::string out;
  for (const auto& [key, value] : values_) out += (out.empty() ? "" : " ") + key + "=" + value_text(value);
  return out;
}

Params complete_params(const ScheduleInfo& info, const std::vector<std::pair<std::string, ParamValue>>& given) {
  Params params;
  for (const ParamInfo& p : info.params) params.set(std::string(p.name), p.fallback);
  for (const auto& [name, value] : given) {
    const ParamInfo* known = nullptr;
    std::vector<std::string> names;
    for (const ParamInfo& p : info.params) {
      names.emplace_back(p.name);
      if (p.name == name) known = &p;
    }
    if (known == nullptr) {
      const std::string near = nearest_name(name, names);
      throw InputError("", fmt::format("schedule '{}' has no parameter '{}'{}; it has: {}", info.name, name,
                                       near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near),
                                       names.empty() ? "none" : joined(names)));
    }
    params.set(name, checked(info, *known, value));
  }
  return params;
}

}  // namespace overlap
