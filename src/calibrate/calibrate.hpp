// The `calibrate` command: measured files in; a device file and a topology file out, with a report of what was found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/fit.hpp"
#include "config/value.hpp"

namespace overlap::calibrate {

struct Request {
  std::vector<std::string> data;
  std::string device;    // base
  std::string topology;  // base; empty = none
  std::string device_out;
  std::string topology_out;
  std::string report_out;
  std::int64_t cross_validate = 0;  // folds; 0 = no
  bool learning_curve = false;
  bool json = false;
};

// One row of a cross-validation or of a learning curve.
struct Score {
  std::string name;
  Errors training, left_out;
};

struct Report {
  Inputs inputs;
  std::string base;
  std::vector<Fit> fits;
  std::vector<Score> folds;  // --cross-validate
  std::vector<Score> curve;  // --learning-curve
  std::vector<std::string> notes;
  std::string topology_base;
  // What files of their own held, before records added theirs: cross-validation starts from these.
  std::vector<TimedCollective> measured_collectives;
  std::vector<PairRate> measured_pairs;
  std::vector<std::string> written;
};

// GEMMs of tables without kernel names (gemms.cpp): tile model and near rows.
void fit_gemms(Report& report, Device& device);
// Folds of whole weight shapes.
void cross_validate_gemms(Report& report, const Device& base, std::uint32_t folds);
void learning_curve(Report& report, const Device& base);

// Tables of library collectives (collectives.cpp), links of the topology (links.cpp).
void fit_collectives(Report& report, Device& device);
void cross_validate_collectives(Report& report);
void write_collectives(config::Value& device_file, const Report& report, const Device& device);
double collective_time(const CollectiveTable& t, Bytes bytes);  // seconds
void fit_links(Report& report, const Topology& base, config::Value& topology_file);

// GEMMs with kernel names into the device's kernel table (kernel_fit.cpp, choice_fit.cpp).
void fit_kernels(Report& report, Device& device);
void cross_validate_records(Report& report, const Device& base, const Device& fitted, const Topology& base_topology,
                            const Topology& fitted_topology, const config::Value& topology_file, std::uint32_t folds);

// Measured records (from_records.cpp, replay_fit.cpp).
void add_rates(Report& report, Device& device, const RecordSet& set, std::uint32_t source);
std::vector<TimedCollective> collectives_of(const RecordSet& set, const Device& device, const Topology& topology,
                                            const Inputs& in);
void fit_replay(Report& report, Device& device, const Topology& topology, const RecordSet& set);
bool is_race(const Record& r);
void fit_race(Report& report, Device& device, const Topology& topology, const RecordSet& set);
// All that the records tell, into a device and the topology's file; returns the topology as fitted.
Topology fit_records(Report& report, Device& device, const Topology& base, config::Value& topology_file,
                     const RecordSet& set);

std::string to_text(const Report& r);
std::string to_json(const Report& r);

// Exit code 0. Throws InputError.
int run(const Request& request);

}  // namespace overlap::calibrate
