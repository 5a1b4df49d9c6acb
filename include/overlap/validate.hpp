// Replays measured records on a device and a topology and scores the predictions. A record is one line of a JSON Lines
// file of the format of tests/data/h200x2: a GEMM, a copy, a library collective, AllGather+GEMM / GEMM+ReduceScatter
// under a named schedule, or a sustained load. Lines of kinds that cannot be replayed are counted, not scored.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "overlap/cost.hpp"
#include "overlap/schedule.hpp"

namespace overlap {

struct Span {
  DeviceId device;
  std::string name;
  Seconds begin;
  Seconds end;
};

// How measured times relate to the work: properties of the measuring program and of its host, stated in the meta line
// of a file; the device file's own serve files that do not say.
struct Method {
  // "release_join_us": {"empty": ., "local": ., "stream": ., "remote": .}
  struct Release {
    Seconds empty;   // release to join when nothing runs: parallel to the work
    Seconds local;   // added to the end of the last op of device 0
    Seconds stream;  // and more when that op is not in the stream of the GEMMs
    Seconds remote;  // added to the end of the last op of another device
  };
  std::optional<Release> release;
  std::optional<Seconds> race;  // "race_us": as StreamCosts::race_window
  bool in_place = true;         // "in_place": of the records that do not say so themselves
  double clock_ratio = 1.0;     // "clock_ratio": clock under load over that of the device file's kernel table
};

struct Record {
  std::string kind;      // "gemm", "ag_gemm", "gemm_rs", "nccl", "peer_uni", "contention", ...
  std::string schedule;  // "" where the kind has none
  std::uint32_t d = 1;   // pieces
  GemmShape shape;
  std::uint32_t gpus = 2;
  Bytes bytes;               // of copies and collectives
  std::uint32_t chunks = 1;  // copies one behind the other, or streams
  std::uint32_t gemms = 0;   // of a contention record
  bool joined = true;        // the time includes the way from release to join
  std::string op;            // collective
  bool accumulate = false;
  std::uint32_t channels = 0;  // of the collective library; 0 = default
  std::uint32_t sms = 0;       // SMs left to the GEMM; 0 = all
  bool in_place = true;        // all-gathers without a schedule's graph: the own piece lies in the gathered buffer
  bool priority = false;       // communication on a high-priority stream
  Seconds median, min, max;
  std::vector<Span> spans;
  std::vector<std::pair<double, double>> series;  // sustained: seconds since the load began, seconds of a GEMM
  // Schedule of this project and its parameters, where the record names them; else `schedule` is a published name.
  std::string graph;
  std::vector<std::pair<std::string, ParamValue>> params;
  bool fused = false;  // ran in our own tile kernel, whose times the library's kernel table does not hold
  Method method;
  std::string where;  // file:line
  [[nodiscard]] std::string group() const;
  // Records of one shape and environment compete with each other.
  [[nodiscard]] std::string contest() const;
};

struct RecordSet {
  std::vector<Record> records;
  std::vector<Record> sustained;  // GEMMs back to back from cool, for seconds: scored by their clock
  std::vector<std::pair<std::string, std::uint32_t>> skipped;  // kind, lines
};
// Files, or folders whose *.jsonl files are read in name order. Throws InputError with file and line.
std::vector<std::string> record_files(const std::vector<std::string>& paths);
RecordSet read_records(const std::vector<std::string>& paths);

struct ReplayOptions {
  CostOptions cost;
  std::uint32_t seeds = 31;  // runs of a record whose outcome is a race
  // Predict every record with a kernel table that lacks all rows of its n: no measured GEMM of that weight shape, nor
  // of a piece of it, goes in (the coefficients of the kernels stay).
  bool unseen = false;
};

struct Prediction {
  Seconds median, min, max;  // over the seeds
};
Prediction predict(const Record& r, const Device& device, const Topology& topology, const ReplayOptions& options);

// The graph of a record with its times: for `explain`. Empty graph for kinds without one.
struct Replay {
  OpGraph graph;
  Priced priced;
  Timeline timeline;
  Seconds total;
};
Replay replay(const Record& r, const Device& device, const Topology& topology, const ReplayOptions& options,
              std::uint64_t seed);

struct Accuracy {
  std::string name;
  std::uint32_t n = 0;
  double bias_pct = 0;
  double median_ape_pct = 0;
  double p90_ape_pct = 0;
  double inside_pct = 0;   // share of records whose measured min..max holds the prediction
  double covered_pct = 0;  // share whose measured median lies in min..max of the seeded runs; where one seed serves, 0
};
struct Picks {
  std::uint32_t shapes = 0;
  double top1 = 0;  // percent of shapes whose best schedule is named
  double within_1pct = 0;
  double regret_mean_pct = 0;
  double regret_max_pct = 0;
  double tau = 0;     // Kendall's tau-b, median over shapes
  double best_d = 0;  // percent of (shape, DMA family) whose best d is named or within 0.3 %
  double best_d_regret_pct = 0;
};
// Overlapped schedules of one shape under several environments (channels, SMs, priority): is the best one named?
struct Environments {
  struct Shape {
    std::string name;
    Record pick, best;   // best by prediction, best as measured
    bool named = false;  // the same, or within each other's spread
    double regret_pct = 0;
  };
  std::vector<Shape> shapes;
};
struct SustainedScore {
  std::string name;
  double measured_ratio = 1, predicted_ratio = 1;  // steady time over cool time
  double measured_onset = 0, predicted_onset = 0;  // seconds until half of the rise
};
// The closed form of Compass, given the measured times of both parts and fitted on the other shapes of its family,
// beside the simulator on the same records: median and p90 absolute percentage error.
struct Rivals {
  std::uint32_t n = 0;
  double form_median = 0, form_p90 = 0, simulator_median = 0, simulator_p90 = 0;
};

struct Validation {
  Accuracy overall;
  std::vector<Accuracy> groups;
  Picks picks;
  Environments environments;
  std::vector<SustainedScore> sustained;
  Rivals compass;
  std::vector<Prediction> predictions;  // by record
};
Validation validate(const RecordSet& set, const Device& device, const Topology& topology, const ReplayOptions& options);
// The same of predictions made elsewhere, one a record.
Validation score(const RecordSet& set, std::vector<Prediction> predictions);

}  // namespace overlap
