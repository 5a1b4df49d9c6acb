// The `validate` command: budget files, tables, JSON, CSV, JUnit XML, ablation and explanation of one record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "overlap/validate.hpp"

namespace overlap::validation {

enum class Style : std::uint8_t { text, json, csv };

struct Request {
  std::string budget;
  std::vector<std::string> data;
  std::string device;
  std::string topology;
  std::int64_t seeds = 31;
  std::string json_file;
  std::string junit_file;
  std::string records_file;
  std::string explain;
  bool ablation = false;
  bool unseen = false;
  bool tiles = false;
};

// One line of a budget: a measure of a group (or of "picks", "overall") and its limit.
struct Threshold {
  std::string group;
  std::string measure;
  double limit = 0;
  bool at_least = false;
  // Filled by check():
  double value = 0;
  bool found = false;
  bool passed = false;
};

struct Budget {
  std::string name;
  std::vector<std::string> data;
  std::string device;
  std::string topology;
  std::vector<Threshold> thresholds;
};
Environments environments_of(const RecordSet& set, const std::vector<Prediction>& predictions);
std::vector<SustainedScore> sustained_of(const RecordSet& set, const Device& device, const Topology& topology,
                                         const ReplayOptions& options);
Rivals compass_of(const RecordSet& set, const std::vector<Prediction>& predictions);

Budget load_budget(const std::string& path);
void check(std::vector<Threshold>& thresholds, const Validation& v);

std::string json_text(const Validation& v, const std::vector<Threshold>& thresholds);
std::string table_text(const RecordSet& set, const Validation& v, const std::vector<Threshold>& thresholds);
std::string csv_text(const Validation& v);
std::string records_text(const RecordSet& set, const Validation& v);
std::string junit_text(const std::string& name, const std::vector<Threshold>& thresholds);
// Each effect switched off alone, the same records.
std::string ablation_text(const RecordSet& set, const Device& device, const Topology& topology,
                          const ReplayOptions& options);
std::string explain_text(const Record& r, const Device& device, const Topology& topology, const ReplayOptions& options);

// Exit code: 0, or 1 when a threshold is passed.
int run(const Request& request, Style style);

}  // namespace overlap::validation
