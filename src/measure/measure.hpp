// Runs jobs on the GPUs and writes a JSON line each: interleaved, shuffled rounds with idle gaps.
#pragma once

#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "measure/suite.hpp"

namespace overlap::cuda {

struct MeasureOptions {
  std::string out;  // JSON Lines; written line by line, so what was measured stays
  std::uint32_t gpus = 2;
  std::uint32_t reps = 0;  // 0 = each job's own
  double idle_ms = -1;     // below 0 = each job's own
  bool resume = false;     // leave out what `out` holds already
  double limit_s = 0;      // stops behind the group that exceeds it; 0 = no limit
  std::uint64_t seed = 1;
  double max_error = 1e-2;  // relative error norm of the outputs beyond which a job counts as failed
};

struct MeasureResult {
  std::uint32_t measured = 0;
  std::uint32_t failed = 0;   // wrong results or refusals, said on stderr and in the file
  std::uint32_t skipped = 0;  // there already, or beyond the limit
};

// `say` gets a line of progress a group. Throws InputError when the GPUs cannot be used; what was measured is in the
// file by then.
MeasureResult measure(const std::vector<Job>& jobs, const MeasureOptions& options, const std::string& machine,
                      const std::function<void(const std::string&)>& say);

// One record: the job's keys and what was seen. Times in microseconds.
struct Seen {
  std::vector<double> raw_us;
  std::vector<std::uint32_t> sm_mhz;  // of GPU 0 beside each run
  std::vector<std::uint32_t> watts;
  double error = 0;
  bool checked = false;
};
std::string statistics(const std::vector<double>& raw_us);  // "reps": ..., "median_us": ..., ...
std::string escaped(const std::string& text);
// What single runs gave: times, clocks, error, kernels, notes. Members without braces, as all of these.
std::string record_text(const Job& job, const Seen& seen, const GpuProgram& program);
std::string spans_text(const OpGraph& graph, const LaunchPlan& plan, const Timeline& t);
std::string measured_spans(const Job& job, const OpGraph& graph, const LaunchPlan& plan, const GpuSpans& spans);
// Mean time of the Gemms, from the first one's begin to the last one's end, and to the end of what runs beside them.
std::string contention_text(const OpGraph& graph, const Timeline& t);
// Runs the program back to back and tells how its time settled; clocks and power are read beside.
std::string load_text(GpuSession& session, GpuProgram& program, Seconds duration, const Seen& seen);

}  // namespace overlap::cuda
