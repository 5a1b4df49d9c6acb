// Which schedules an experiment runs, with which parameters.
#include <fmt/format.h>

#include "config/experiment.hpp"
#include "config/keys.hpp"
#include "overlap/error.hpp"

namespace overlap::config {
namespace {

using Given = std::vector<std::pair<std::string, ParamValue>>;

// Runs `f` so that an error without a place gets this one.
template <class F>
auto placed(const Cursor& at, F f) {
  try {
    return f();
  } catch (const InputError& e) {
    at.fail(e.problem());
  }
}

ParamValue read_param(const Cursor& at) {
  switch (at.value().kind) {
    case Value::Kind::integer:
      return at.value().integer;
    case Value::Kind::real:
      return at.value().real;
    case Value::Kind::string:
      return at.value().string;
    default:
      at.fail("a number, a text or a list of these belongs here");
  }
}

// All combinations of the lists in `params`, the last one fastest.
void expand(const Cursor& at, const ScheduleInfo& info, std::vector<ScheduleRequest>& out) {
  std::vector<std::pair<std::string, std::vector<Cursor>>> axes;
  std::size_t combinations = 1;
  for (const auto& [key, value] : at.value().members) {
    const Cursor c = at.member(key);
    axes.emplace_back(key, c.is_array() ? c.items() : std::vector<Cursor>{c});
    if (axes.back().second.empty()) c.fail("an empty list");
    combinations *= axes.back().second.size();
    if (combinations > kMostRequests) at.fail(fmt::format("more than {} combinations", kMostRequests));
  }
  for (std::size_t i = 0; i < combinations; ++i) {
    Given given;
    std::size_t rest = i;
    for (auto a = axes.rbegin(); a != axes.rend(); ++a) {
      given.insert(given.begin(), {a->first, read_param(a->second[rest % a->second.size()])});
      rest /= a->second.size();
    }
    out.push_back({&info, placed(at, [&] { return complete_params(info, given); })});
  }
}

void read_choice(const Cursor& at, std::vector<ScheduleRequest>& out) {
  if (at.is_string()) {
    const ScheduleInfo* info = placed(at, [&] { return &find_schedule(at.text()); });
    out.push_back({info, complete_params(*info, {})});
    return;
  }
  const Object o(at, schedule_choice_keys());
  const Cursor name = o.at("schedule");
  const ScheduleInfo* info = placed(name, [&] { return &find_schedule(name.text()); });
  if (!o.has("params")) {
    out.push_back({info, complete_params(*info, {})});
    return;
  }
  if (!o.at("params").is_object()) o.at("params").fail("an object of parameter values belongs here");
  expand(o.at("params"), *info, out);
}

}  // namespace

std::vector<ScheduleRequest> read_schedules(const Cursor& at) {
  std::vector<ScheduleRequest> out;
  if (at.is_string()) {
    if (at.text() != "all")
      at.fail("\"all\" or a list of schedules belongs here, not '" + at.text().substr(0, 60) + "'");
    for (const ScheduleInfo& info : schedules()) out.push_back({&info, complete_params(info, {})});
    return out;
  }
  for (const Cursor& c : at.items()) read_choice(c, out);
  if (out.empty()) at.fail("an empty list");
  return out;
}

}  // namespace overlap::config
