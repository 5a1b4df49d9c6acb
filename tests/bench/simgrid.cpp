// usage: bench_simgrid CASE N JIT SECONDS --cfg=...: the same replay as bench_ours on SimGrid. No actors: flows are
// host-to-host communications started from the maestro, successors start in the completion callback, dated starts come
// from kernel timers; latency 0, so that CM02 is plain max-min. `scripts/bench` gives the options.
#include <fmt/format.h>

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>

#include "cases.hpp"
#include "meter.hpp"

namespace sg = simgrid::s4u;

namespace {

struct Run {
  bench::Case c;
  std::vector<sg::Host*> hosts;
  std::vector<bench::Index> waits, left, first, dated;
  std::size_t next_dated = 0, done = 0, runs = 0;
  double from = 0, makespan = 0, begin = 0, cold = 0, seconds = 0;
  std::vector<sg::CommPtr> ended;  // released outside of the completion callback

  void start(bench::Index f) {
    const bench::Index r = c.flow_route[f];
    auto comm = sg::Comm::sendto_init();
    comm->set_data(reinterpret_cast<void*>(std::uintptr_t{f} + 1));
    comm->set_source(hosts[c.route_src[r]])->set_destination(hosts[c.route_dst[r]]);
    comm->set_payload_size(static_cast<std::uint64_t>(c.flow_size[f]));
    comm->vetoable_start();
    comm->add_ref();
  }

  void arm() {
    if (next_dated == dated.size()) return;
    simgrid::kernel::timer::Timer::set(from + c.flow_start[dated[next_dated]], [this] {
      start(dated[next_dated++]);
      arm();
    });
  }

  void start_all() {
    waits = c.flow_waits;
    left = c.gate_flows;
    done = next_dated = 0;
    for (const bench::Index f : first) start(f);
    arm();
  }

  void completed(bench::Index f) {
    const bench::Index gate = c.gate_of.empty() ? f : c.gate_of[f];
    if (left.empty() || --left[gate] == 0)
      for (bench::Index k = c.next_at[gate]; k < c.next_at[gate + 1]; ++k)
        if (--waits[c.next[k]] == 0) start(c.next[k]);
    if (++done < c.flow_route.size()) return;
    ++runs;
    if (runs == 1) {
      makespan = sg::Engine::get_clock();
      cold = bench::cpu_seconds() - begin;
      if (cold >= seconds) return;
      begin = bench::cpu_seconds();  // once more, warm, and again until the time is up
    } else if (bench::cpu_seconds() - begin >= seconds) {
      return;
    }
    from = sg::Engine::get_clock();
    start_all();
  }
};

}  // namespace

int main(int argc, char** argv) {
  sg::Engine engine(&argc, argv);
  if (argc < 5) return 2;
  static Run run;
  run.c = bench::make_case(argv[1], static_cast<bench::Index>(std::atol(argv[2])), std::strtod(argv[3], nullptr));
  run.seconds = std::strtod(argv[4], nullptr);
  const bench::Case& c = run.c;
  auto* zone = sg::create_full_zone("z");
  for (bench::Index i = 0; i < c.hosts; ++i) run.hosts.push_back(zone->create_host("h" + std::to_string(i), 1e9));
  run.waits = c.flow_waits;
  run.left = c.gate_flows;
  bench::reset_peak();
  const double before = bench::data_kb();  // from here on: links and routes, as on our side, then the flows
  std::vector<sg::Link*> links;
  for (std::size_t i = 0; i < c.capacity.size(); ++i)
    links.push_back(zone->create_link("l" + std::to_string(i), c.capacity[i])->set_latency(0.0)->seal());
  for (std::size_t r = 0; r < c.route_src.size(); ++r) {
    std::vector<sg::LinkInRoute> route;
    for (bench::Index k = c.route_at[r]; k < c.route_at[r + 1]; ++k) route.emplace_back(links[c.route_link[k]]);
    zone->add_route(run.hosts[c.route_src[r]]->get_netpoint(), run.hosts[c.route_dst[r]]->get_netpoint(), nullptr,
                    nullptr, route, false);
  }
  zone->seal();
  for (bench::Index f = 0; f < c.flow_route.size(); ++f)
    if (c.flow_waits[f] == 0) (c.flow_start[f] > 0 ? run.dated : run.first).push_back(f);
  sg::Activity::on_completion_cb([](sg::Activity const& a) {
    run.ended.emplace_back(static_cast<sg::Comm*>(const_cast<sg::Activity*>(&a)), false);
    run.completed(static_cast<bench::Index>(reinterpret_cast<std::uintptr_t>(a.get_data<void>()) - 1));
  });
  sg::Engine::on_time_advance_cb([](double) { run.ended.clear(); });
  run.begin = bench::cpu_seconds();
  run.start_all();
  engine.run();
  const double warm_runs = run.runs > 1 ? static_cast<double>(run.runs - 1) : 1;
  const double spent = run.runs > 1 ? bench::cpu_seconds() - run.begin : run.cold;
  const double flows = static_cast<double>(c.flow_route.size());
  fmt::print(
      "simgrid {} n={} jit={} flows={} runs={} cpu={:.6f} flows/s={:.0f} makespan={:.12g} "
      "solver_kb={:.0f}\n",
      argv[1], argv[2], argv[3], flows, warm_runs, spent, warm_runs * flows / spent, run.makespan,
      bench::peak_data_kb() - before);
  std::fflush(stdout);
  _exit(0);  // SimGrid's teardown is not what is measured
}
