#include "sweep/keys.hpp"

namespace overlap::sweep {
namespace {

constexpr std::string_view kStudy[] = {
    "$schema", "name",  "summary",   "source",          "experiment", "axes",      "sample",   "filters", "baseline",
    "metrics", "seeds", "uncertain", "uncertain_cells", "selectors",  "timelines", "findings", "origin"};
constexpr std::string_view kAxis[] = {"name", "pointer", "values", "range", "whole"};
constexpr std::string_view kZip[] = {"zip"};
constexpr std::string_view kFilter[] = {"left", "is", "right"};
constexpr std::string_view kUncertain[] = {"name", "pointer", "low", "high"};
constexpr std::string_view kSample[] = {"method", "points", "seed"};

}  // namespace

config::KeySet study_keys() {
  return {"study", kStudy};
}
config::KeySet axis_keys() {
  return {"axis", kAxis};
}
config::KeySet zip_keys() {
  return {"zip", kZip};
}
config::KeySet filter_keys() {
  return {"filter", kFilter};
}
config::KeySet uncertain_keys() {
  return {"uncertain", kUncertain};
}
config::KeySet sample_keys() {
  return {"sample", kSample};
}

const std::vector<std::string>& selector_names() {
  static const std::vector<std::string> names = {"compass", "agnostic", "ficco", "xla_gate"};
  return names;
}

}  // namespace overlap::sweep
