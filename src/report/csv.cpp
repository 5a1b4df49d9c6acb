#include <fmt/core.h>

#include "overlap/report.hpp"
#include "report/microseconds.hpp"
#include "text/quote.hpp"

namespace overlap {
namespace {

std::string us_cell(Seconds t) {
  return json_number(microseconds(t));
}

}  // namespace

std::string report_csv(const RunReport& report) {
  std::string out = "workload,pattern,rank,schedule,params,refusal,makespan_us,speedup_over_serial,overlap_efficiency";
  for (const PhaseName& p : phase_names()) out += fmt::format(",{}_us", p.key);
  out +=
      ",closed_form_us,lower_bound_us,lower_bound,extra_memory_bytes,communication_us,algorithm_gb_per_s,bus_gb_per_"
      "s\n";
  for (const WorkloadReport& w : report.workloads) {
    std::size_t rank = 0;
    for (const ScheduleReport& s : w.schedules) {
      out += fmt::format("{},{},", csv_field(w.name), csv_field(w.pattern));
      if (!s.refusal.empty()) {
        out += fmt::format(",{},{},{}", csv_field(s.schedule), csv_field(s.params), csv_field(s.refusal));
        out += std::string(10 + phase_names().size(), ',') + "\n";
        continue;
      }
      out += fmt::format("{},{},{},,{},{},{}", ++rank, csv_field(s.schedule), csv_field(s.params), us_cell(s.makespan),
                         json_number(s.speedup), json_number(s.efficiency));
      for (const PhaseName& p : phase_names()) out += "," + us_cell(s.phases.*p.member);
      const Bound bound = strongest(s.bounds);
      out += fmt::format(",{},{},{},{},{},{},{}\n", s.cross.closed_form ? us_cell(*s.cross.closed_form) : "",
                         us_cell(bound.time), to_text(bound.kind), json_number(s.extra_memory.si()),
                         us_cell(s.communication), json_number(s.bandwidth.algorithm.si() / 1e9),
                         json_number(s.bandwidth.bus.si() / 1e9));
    }
  }
  return out;
}

}  // namespace overlap
