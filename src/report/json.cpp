#include "overlap/report.hpp"
#include "report/microseconds.hpp"
#include "text/json_writer.hpp"

namespace overlap {
namespace {

void write_checks(JsonWriter& j, const ScheduleReport& s) {
  j.key("lower_bounds").begin_list();
  for (const Bound& b : s.bounds) {
    j.begin_object()
        .field("kind", to_text(b.kind))
        .field("where", b.where)
        .field("time_us", microseconds(b.time))
        .end_object();
  }
  j.end_list();
  j.key("closed_form");
  if (s.cross.closed_form) {
    j.begin_object().field("makespan_us", microseconds(*s.cross.closed_form));
    j.field("difference_us", microseconds(s.makespan - *s.cross.closed_form));
    j.field("formula", s.cross.formula).field("assumes", s.cross.assumes).end_object();
  } else {
    j.null();
  }
  j.key("effects_off").begin_list();
  for (const EffectOff& e : s.cross.effects) {
    j.begin_object().field("effect", e.name).field("makespan_us", microseconds(e.makespan));
    j.field("change_us", microseconds(s.makespan - e.makespan))
        .field("reference_us", microseconds(e.reference))
        .end_object();
  }
  j.end_list();
  j.key("failed_checks").begin_list();
  for (const std::string& c : s.checks) j.value(c);
  j.end_list();
}

void write_links(JsonWriter& j, const ScheduleReport& s) {
  j.key("links").begin_list();
  for (const LinkUse& l : s.links) {
    const FluidResource& r = s.run->resources.fluids[l.resource.index()];
    j.begin_object().field("name", r.name).field("capacity_gb_per_s", r.capacity.si() / 1e9);
    j.field("bytes", l.bytes.si()).field("busy_us", microseconds(l.busy)).field("utilisation", l.utilisation);
    j.field("peak_flows", std::uint64_t{l.peak_flows}).field("sharing", sharing_rule(r)).end_object();
  }
  j.end_list();
}

void write_path(JsonWriter& j, const ScheduleReport& s) {
  j.key("critical_path").begin_list();
  for (const PathStep& p : s.path) {
    j.begin_object().field("step", to_text(p.kind));
    if (p.op.valid()) j.field("op", s.run->graph.text(s.run->graph.op(p.op).label));
    j.field("begin_us", microseconds(p.begin)).field("end_us", microseconds(p.end)).end_object();
  }
  j.end_list();
}

void write_losses(JsonWriter& j, const Losses& l) {
  const auto side = [&](std::string_view name, const SideLoss& s) {
    j.key(name).begin_object().field("whole_us", microseconds(s.whole)).field("pieces_us", microseconds(s.pieces));
    j.field("running_us", microseconds(s.running));
    if (s.whole > Seconds{}) j.field("dil", s.dil());
    if (s.pieces > Seconds{}) j.field("cil", s.cil());
    j.end_object();
  };
  j.key("losses").begin_object();
  side("gemm", l.gemm);
  side("communication", l.communication);
  j.end_object();
}

void write_schedule(JsonWriter& j, const ScheduleReport& s, std::uint64_t rank) {
  j.begin_object();
  j.field("schedule", s.schedule).field("params", s.params);
  if (!s.refusal.empty()) {
    j.field("refusal", s.refusal).end_object();
    return;
  }
  j.field("rank", rank).field("makespan_us", microseconds(s.makespan));
  j.field("speedup_over_serial", s.speedup).field("overlap_efficiency", s.efficiency);
  j.key("phases_us").begin_object();
  for (const PhaseName& p : phase_names()) j.field(p.key, microseconds(s.phases.*p.member));
  j.end_object();
  j.field("phases_of_gpu", std::uint64_t{s.phases.device.v});
  j.field("extra_memory_bytes", s.extra_memory.si()).field("communication_us", microseconds(s.communication));
  j.field("algorithm_gb_per_s", s.bandwidth.algorithm.si() / 1e9).field("bus_gb_per_s", s.bandwidth.bus.si() / 1e9);
  write_checks(j, s);
  if (s.losses) write_losses(j, *s.losses);
  if (s.run) {
    j.field("ops", std::uint64_t{s.run->graph.ops().size()}).field("events", s.run->timeline.events);
    write_links(j, s);
    write_path(j, s);
  }
  j.end_object();
}

}  // namespace

std::string report_json(const RunReport& report) {
  JsonWriter j;
  j.begin_object().field("config", report.config).field("machine", report.machine).field("models", report.models);
  j.key("notes").begin_list();
  for (const std::string& n : report.notes) j.value(n);
  j.end_list();
  j.key("workloads").begin_list();
  for (const WorkloadReport& w : report.workloads) {
    j.begin_object().field("name", w.name).field("pattern", w.pattern).field("layer", w.layer);
    j.field("per_gpu", w.per_gpu);
    if (w.ideal_overlap > Seconds{}) {
      j.field("ideal_overlap_us", microseconds(w.ideal_overlap)).field("ideal_overlap_speedup", w.ideal_speedup);
    }
    j.key("schedules").begin_list();
    std::uint64_t rank = 0;
    for (const ScheduleReport& s : w.schedules) write_schedule(j, s, s.refusal.empty() ? ++rank : 0);
    j.end_list();
    j.key("sensitivities").begin_list();
    for (const Sensitivity& s : w.sensitivities) {
      j.begin_object().field("input", s.input).field("relative_effect_of_1_percent", s.effect).end_object();
    }
    j.end_list().end_object();
  }
  j.end_list().end_object();
  return std::move(j).take();
}

}  // namespace overlap
