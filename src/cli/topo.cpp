// topo show FILE, topo route FILE A B, topo cuts FILE
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/sheet.hpp"
#include "config/reader.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"

namespace overlap::cli {
namespace {

constexpr std::size_t kMost = 64;  // rows of a table on a terminal, unless --all

struct TopoArgs {
  std::string file;
  std::string from;
  std::string to;
  bool all = false;
  Format format = Format::text;
};

std::string sharing_rule(const Topology& t, const Link& l) {
  if (!l.shares_with) return "max-min among flows of this direction";
  const Link& owner = t.links()[l.shares_with->index()];
  return fmt::format("half duplex: one capacity with {} -> {}", t.nodes()[owner.from.index()].name,
                     t.nodes()[owner.to.index()].name);
}

Sheet node_sheet(const Topology& t) {
  Sheet s{{{"rank", "rank"},
           {"node", "node"},
           {"kind", "kind"},
           {"group", "group"},
           {"forwards", "forwards"},
           {"sends at most", "injection_bytes_per_s"},
           {"takes at most", "ejection_bytes_per_s"}},
          {}};
  std::vector<std::string> rank(t.nodes().size(), "-");
  std::vector<std::string> group(t.nodes().size(), "-");
  for (std::size_t i = 0; i < t.devices().size(); ++i) {
    rank[t.devices()[i].index()] = fmt::format("{}", i);
    group[t.devices()[i].index()] = fmt::format("{}", t.group_of(DeviceId(i)));
  }
  const auto limit = [](const std::optional<Bandwidth>& b) { return b ? Cell(*b) : Cell("its links"); };
  for (std::size_t i = 0; i < t.nodes().size(); ++i) {
    const Node& n = t.nodes()[i];
    s.rows.push_back(
        {rank[i], n.name, to_text(n.kind), group[i], n.transit ? "yes" : "no", limit(n.injection), limit(n.ejection)});
  }
  return s;
}

std::vector<Cell> link_row(const Topology& t, const Link& l) {
  return {t.nodes()[l.from.index()].name,
          t.nodes()[l.to.index()].name,
          to_text(l.kind),
          l.wire,
          l.payload(),
          l.latency,
          sharing_rule(t, l)};
}

std::vector<Column> link_columns() {
  return {{"from", "from"},
          {"to", "to"},
          {"kind", "kind"},
          {"wire", "wire_bytes_per_s"},
          {"payload", "payload_bytes_per_s"},
          {"latency", "latency_s"},
          {"sharing", "sharing"}};
}

int show_machine(const TopoArgs& a) {
  const Topology t = load_topology(a.file);
  const auto shorten = [&a](Sheet s, std::string& title) {
    if (a.format != Format::text || a.all || s.rows.size() <= kMost) return s;
    title += fmt::format(" (first {} of {}; --all shows them)", kMost, s.rows.size());
    s.rows.erase(s.rows.begin() + static_cast<std::ptrdiff_t>(kMost), s.rows.end());
    return s;
  };
  Sheet links{link_columns(), {}};
  for (const Link& l : t.links()) links.rows.push_back(link_row(t, l));
  if (a.format == Format::text) {
    fmt::print("{}: {} devices, {} nodes, {} directed links\n", t.name(), t.device_count(), t.nodes().size(),
               t.links().size());
    if (!t.dimensions().empty()) fmt::print("grid {}, dimension-order routes\n", fmt::join(t.dimensions(), " x "));
    fmt::print("in-switch multicast: {}, peer access: {}\n\n", t.capabilities().in_switch_multicast ? "yes" : "no",
               t.capabilities().peer_access ? "yes" : "no");
  }
  std::string nodes_title = "nodes";
  std::string links_title = "links, one line a direction";
  Sheet nodes = shorten(node_sheet(t), nodes_title);
  links = shorten(std::move(links), links_title);
  show({{nodes_title, "nodes", std::move(nodes)}, {links_title, "links", std::move(links)}}, a.format);
  return 0;
}

NodeId node_named(const Topology& t, const std::string& name) {
  const std::optional<NodeId> found = t.find_node(name);
  if (found) return *found;
  std::size_t rank = t.device_count();
  if (!name.empty() && name.size() < 7 && name.find_first_not_of("0123456789") == std::string::npos) {
    rank = std::stoul(name);
  }
  if (rank < t.device_count()) return t.devices()[rank];
  std::vector<std::string> known;
  for (const Node& n : t.nodes()) known.push_back(n.name);
  if (known.size() > 40) known.resize(40);
  throw InputError(t.name(), config::unknown_name("node or rank", name, known));
}

std::vector<LinkId> route_of(const Topology& t, NodeId from, NodeId to) {
  DeviceId a;
  DeviceId b;
  for (std::size_t i = 0; i < t.devices().size(); ++i) {
    if (t.devices()[i] == from) a = DeviceId(i);
    if (t.devices()[i] == to) b = DeviceId(i);
  }
  if (!a.valid() || !b.valid()) return t.route_between(from, to);
  const auto links = t.route(a, b);
  return {links.begin(), links.end()};
}

int show_route(const TopoArgs& a) {
  const Topology t = load_topology(a.file);
  const NodeId from = node_named(t, a.from);
  const NodeId to = node_named(t, a.to);
  Sheet s{link_columns(), {}};
  Seconds latency;
  Bandwidth least(1e300);
  for (const LinkId id : route_of(t, from, to)) {
    const Link& l = t.links()[id.index()];
    s.rows.push_back(link_row(t, l));
    latency += l.latency;
    least = std::min(least, l.payload());
    const Node& sender = t.nodes()[l.from.index()];
    const Node& taker = t.nodes()[l.to.index()];
    if (sender.injection) least = std::min(least, *sender.injection);
    if (taker.ejection) least = std::min(least, *taker.ejection);
  }
  if (a.format == Format::text) {
    if (s.rows.empty()) {
      fmt::print("{} is its own neighbour: no links\n", a.from);
      return 0;
    }
    fmt::print("{} links, {} latency in all, {} for one flow alone (cut-through: latency + bytes / rate)\n\n",
               s.rows.size(), to_text(latency), to_text(least));
  }
  show({{"", "route", std::move(s)}}, a.format);
  return 0;
}

int show_cuts(const TopoArgs& a) {
  const Topology t = load_topology(a.file);
  Sheet s{{{"cut", "cut"}, {"devices inside", "devices_inside"}, {"out", "out_bytes_per_s"}, {"in", "in_bytes_per_s"}},
          {}};
  for (const Cut& c : t.cuts()) {
    s.rows.push_back({c.name, static_cast<std::uint32_t>(c.left.size()), c.left_to_right, c.right_to_left});
  }
  show({{"", "cuts", std::move(s)}}, a.format);
  return 0;
}

}  // namespace

Action topo_command(Options& o) {
  o.command("show", "Nodes and links of a topology file", [](Options& s) -> Action {
    const auto a = std::make_shared<TopoArgs>();
    s.argument("FILE", a->file, "Topology file, or the name of a bundled one");
    s.flag("--all", a->all, "All rows, however many");
    s.format(a->format);
    return [a] { return show_machine(*a); };
  });
  o.command("route", "The route from one node to another", [](Options& s) -> Action {
    const auto a = std::make_shared<TopoArgs>();
    s.argument("FILE", a->file, "Topology file, or the name of a bundled one");
    s.argument("FROM", a->from, "Rank or node name");
    s.argument("TO", a->to, "Rank or node name");
    s.format(a->format);
    return [a] { return show_route(*a); };
  });
  o.command("cuts", "Cuts that bound every schedule: around each device and between groups", [](Options& s) -> Action {
    const auto a = std::make_shared<TopoArgs>();
    s.argument("FILE", a->file, "Topology file, or the name of a bundled one");
    s.format(a->format);
    return [a] { return show_cuts(*a); };
  });
  return {};
}

}  // namespace overlap::cli
