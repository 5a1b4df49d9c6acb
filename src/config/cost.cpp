// Cost options of an experiment.
#include "config/experiment.hpp"
#include "config/keys.hpp"

namespace overlap::config {

CostOptions read_cost(const Cursor& at) {
  constexpr std::string_view kCompute[] = {"ideal", "roofline", "tile"};
  constexpr std::string_view kNetwork[] = {"fluid", "alpha_beta"};
  const Object o(at, cost_keys());
  CostOptions c;
  if (o.has("compute")) c.compute = static_cast<ComputeModel>(o.at("compute").choice(kCompute));
  if (o.has("network")) c.network = static_cast<NetworkModel>(o.at("network").choice(kNetwork));
  if (o.has("effects")) {
    const Object e(o.at("effects"), effect_keys());
    const auto flag = [&e](std::string_view key, bool& into) {
      if (e.has(key)) into = e.at(key).boolean();
    };
    flag("launch", c.effects.launch);
    flag("latency", c.effects.latency);
    flag("hbm", c.effects.hbm);
    flag("sm_slots", c.effects.sm_slots);
    flag("copy_engines", c.effects.copy_engines);
    flag("decomposition", c.effects.decomposition);
    flag("accumulate", c.effects.accumulate);
    flag("injection_limits", c.effects.injection_limits);
    flag("power", c.effects.power);
  }
  if (o.has("penalties")) {
    const Object p(o.at("penalties"), penalty_keys());
    if (p.has("root_complex_p2p")) c.penalties.root_complex_p2p = p.at("root_complex_p2p").fraction();
  }
  return c;
}

}  // namespace overlap::config
