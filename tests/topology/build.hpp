// Topologies from JSON text, for tests.
#pragma once

#include <string>
#include <vector>

#include "config/reader.hpp"
#include "topology/generator.hpp"

inline overlap::Topology topology_of(const std::string& json) {
  const overlap::config::Document doc(json, "test.json");
  return overlap::read_topology(doc.root(), "test");
}

// Names of the nodes on the route, both ends included.
inline std::vector<std::string> path(const overlap::Topology& t, std::uint32_t a, std::uint32_t b) {
  std::vector<std::string> out = {t.nodes()[t.devices()[a].index()].name};
  for (const overlap::LinkId l : t.route(overlap::DeviceId(a), overlap::DeviceId(b))) {
    out.push_back(t.nodes()[t.links()[l.index()].to.index()].name);
  }
  return out;
}

inline std::vector<std::uint32_t> ranks(const std::vector<overlap::DeviceId>& order) {
  std::vector<std::uint32_t> out;
  for (const overlap::DeviceId d : order) out.push_back(d.v);
  return out;
}
