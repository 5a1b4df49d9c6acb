// Workload files: layers expanded over lists of token counts, TP degrees and patterns.
#include <fmt/format.h>

#include "config/experiment.hpp"
#include "config/keys.hpp"
#include "config/paths.hpp"
#include "overlap/config.hpp"

namespace overlap::config {
namespace {

constexpr std::uint32_t kMostExtent = 1U << 24;

// One value or a list of them; `own` wins over `outer`.
struct Axis {
  std::optional<Cursor> at;
  [[nodiscard]] std::vector<Cursor> values(const Object& layer, std::string_view key) const {
    if (!at) layer.fail(fmt::format("a layer needs the key '{}' (here or in the whole file)", key));
    if (!at->is_array()) return {*at};
    std::vector<Cursor> out = at->items();
    if (out.empty()) at->fail("an empty list");
    return out;
  }
};

Axis axis(const Object& layer, const Object* outer, std::string_view key) {
  if (layer.has(key)) return {layer.at(key)};
  if (outer != nullptr && outer->has(key)) return {outer->at(key)};
  return {};
}

void read_dtypes(const Object& o, Workload& w) {
  if (o.has("dtype")) w.operand = w.output = w.wire = o.at("dtype").dtype();
  if (o.has("operand")) w.operand = o.at("operand").dtype();
  if (o.has("output")) w.output = o.at("output").dtype();
  if (o.has("wire")) w.wire = o.at("wire").dtype();
}

}  // namespace

Pattern read_pattern(const Cursor& at) {
  constexpr std::string_view kPatterns[] = {"ag+gemm", "gemm+rs", "gemm+ar", "a2a+gemm", "bulk", "agk+gemm"};
  return static_cast<Pattern>(at.choice(kPatterns));
}

void read_layer(const Cursor& at, const Object* outer, std::vector<Workload>& out) {
  const Object o(at, layer_keys());
  Workload base;
  base.name = o.at("name").text();
  base.in = o.at("in").count(kMostExtent);
  base.out = o.at("out").count(kMostExtent);
  base.source = o.has("source") ? o.at("source").text()
                                : (outer != nullptr && outer->has("source") ? outer->at("source").text() : "");
  if (outer != nullptr) read_dtypes(*outer, base);
  read_dtypes(o, base);
  const auto patterns = axis(o, outer, "pattern").values(o, "pattern");
  const auto degrees = axis(o, outer, "tp").values(o, "tp");
  const auto tokens = axis(o, outer, "tokens").values(o, "tokens");
  for (const Cursor& p : patterns) {
    for (const Cursor& tp : degrees) {
      for (const Cursor& t : tokens) {
        Workload w = base;
        w.pattern = read_pattern(p);
        w.tp = tp.count(kMostExtent);
        w.tokens = t.count(kMostExtent);
        if (patterns.size() > 1) w.name += fmt::format(".{}", to_text(w.pattern));
        if (degrees.size() > 1) w.name += fmt::format(".tp{}", w.tp);
        if (tokens.size() > 1) w.name += fmt::format(".m{}", w.tokens);
        if (out.size() >= kMostWorkloads) at.fail(fmt::format("more than {} workloads", kMostWorkloads));
        out.push_back(std::move(w));
      }
    }
  }
}

}  // namespace overlap::config

namespace overlap {

WorkloadSet load_workloads(const std::string& path) {
  const config::Document doc(config::resolve(path, "", "workloads"));
  const config::Object o(doc.root(), config::workload_file_keys());
  WorkloadSet set;
  set.name = o.at("name").text();
  if (o.has("summary")) set.summary = o.at("summary").text();
  set.source = o.at("source").text();
  if (o.has("topologies")) {
    for (const config::Cursor& c : o.at("topologies").items()) set.topologies.push_back(c.text());
  }
  for (const config::Cursor& c : o.at("layers").items()) config::read_layer(c, &o, set.workloads);
  if (set.workloads.empty()) o.at("layers").fail("an empty list");
  return set;
}

}  // namespace overlap
