// What the benchmarks measure: process CPU time, and resident memory from /proc (0 where there is none).
#pragma once

#include <malloc.h>

#include <cstddef>
#include <ctime>
#include <fstream>
#include <string>

namespace bench {

inline double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// A line of /proc/self/status, kB: "VmRSS" now, "VmHWM" the peak since the last reset.
inline double status_kb(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.rfind(key + ":", 0) == 0) return std::stod(line.substr(key.size() + 1));
  return 0;
}

// Memory that the process has asked for, without the pages of its program and libraries: now, and the peak since the
// last reset (those pages only become more, so at the end they can be taken off the peak of all).
inline double data_kb() {
  return status_kb("RssAnon");
}
inline double peak_data_kb() {
  return status_kb("VmHWM") - status_kb("RssFile") - status_kb("RssShmem");
}

// What making the case has freed goes back first: what is needed later would hide in it.
inline void reset_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace bench
