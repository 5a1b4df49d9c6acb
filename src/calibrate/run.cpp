// Reads, fits what the rows allow, writes and reports.
#include <fmt/format.h>

#include <filesystem>

#include "calibrate/calibrate.hpp"
#include "calibrate/write.hpp"
#include "config/paths.hpp"
#include "config/values.hpp"
#include "overlap/config.hpp"
#include "overlap/error.hpp"
#include "overlap/kernel_table.hpp"
#include "overlap/report.hpp"
#include "topology/generator.hpp"

namespace overlap::calibrate {
namespace {

// The table of kernels or near rows lies beside the device file.
void write_kernels(Report& report, const Request& q, config::Value& value, const Device& device) {
  if (!device.gemm.kernels || !device.gemm.kernels->path.empty()) return;
  const std::filesystem::path file =
      std::filesystem::path(q.device_out).replace_extension("").string() + "-kernels.csv";
  std::string comment =
      "GEMMs to which " + std::filesystem::path(q.device_out).filename().string() + " was calibrated\n";
  for (const Source& s : report.inputs.sources) {
    if (s.rows > 0) comment += fmt::format("from {}: {}, {} rows\n", s.file, s.format, s.rows);
  }
  write_file(file.string(), to_csv(*device.gemm.kernels, comment));
  report.written.push_back(file.string());
  config::set_member(value, "gemm/kernels", config::text_value(file.filename().string()));
}

// The base's relative path to its schema is not that of the file written.
void drop_schema(config::Value& value) {
  std::erase_if(value.members, [](const auto& m) { return m.first == "$schema"; });
}

void write_topology(Report& report, const Request& q, config::Value value) {
  drop_schema(value);
  config::set_member(value, "name", config::text_value(config::stem_of(q.topology_out)));
  const config::Value* old = value.find("source");
  config::set_member(value, "source",
                     config::text_value((old != nullptr ? old->string + "; " : "") +
                                        "calibrated from measurements, see the source of each link"));
  static_cast<void>(read_topology(config::Cursor(value, q.topology_out, ""), "calibrated"));
  write_file(q.topology_out, config::json_text(value, 2) + "\n");
  report.written.push_back(q.topology_out);
}

void write_device(Report& report, const Request& q, config::Value value, const Device& base, const Device& device) {
  drop_schema(value);
  for (const Fit& f : report.fits) apply(value, f, report.inputs);
  write_kernels(report, q, value, device);
  if (!device.collectives.empty()) write_collectives(value, report, device);
  config::set_member(value, "name", config::text_value(config::stem_of(q.device_out)));
  config::set_member(
      value, "source",
      config::text_value(fmt::format("{}; calibrated from measurements, see the source of each section", base.source)));
  // What is written must be readable.
  static_cast<void>(config::device_from(value, q.device_out));
  write_file(q.device_out, config::json_text(value, 2) + "\n");
  report.written.push_back(q.device_out);
}

}  // namespace

int run(const Request& q) {
  if (q.data.empty()) throw InputError("calibrate", "measured files are needed");
  if (q.device.empty()) throw InputError("calibrate", "--device BASE is needed: the device file to start from");
  if (q.cross_validate != 0 && (q.cross_validate < 2 || q.cross_validate > 100)) {
    throw InputError("--cross-validate", "2 to 100 folds are possible");
  }
  if (!q.topology_out.empty() && q.topology.empty()) {
    throw InputError("calibrate", "--topology-out needs --topology BASE: the topology file to start from");
  }
  const config::Value value = config::device_value(q.device);
  const Device base = load_device(q.device);
  Report report;
  report.base = q.device;
  report.inputs = read_inputs(q.data);
  reject_inconsistent(report.inputs, base);
  Device device = base;
  fit_gemms(report, device);
  fit_kernels(report, device);
  report.measured_collectives = report.inputs.collectives;
  report.measured_pairs = report.inputs.pairs;
  config::Value topology;
  if (!q.topology.empty()) {
    report.topology_base = config::resolve(q.topology, "", "topologies");
    topology = config::parse_file(report.topology_base);
    const Topology links = load_topology(q.topology);
    const config::Value file = topology;
    const Topology fitted = fit_records(report, device, links, topology, report.inputs.records);
    if (q.cross_validate > 0) {
      cross_validate_records(report, base, device, links, fitted, file, static_cast<std::uint32_t>(q.cross_validate));
    }
  } else {
    if (!report.inputs.records.records.empty()) {
      report.notes.emplace_back(
          "records of copies, collectives and schedules were not used: they need --topology BASE");
    }
    if (!report.inputs.pairs.empty()) {
      report.notes.emplace_back("rates between devices were not used: they need --topology BASE");
    }
    fit_collectives(report, device);
  }
  if (q.cross_validate > 0) {
    cross_validate_gemms(report, base, static_cast<std::uint32_t>(q.cross_validate));
    cross_validate_collectives(report);
  }
  if (q.learning_curve) learning_curve(report, base);
  if (!q.device_out.empty()) write_device(report, q, value, base, device);
  if (!q.topology_out.empty()) write_topology(report, q, topology);
  if (!q.report_out.empty()) write_file(q.report_out, to_json(report));
  fmt::print("{}", q.json ? to_json(report) : to_text(report));
  return 0;
}

}  // namespace overlap::calibrate
