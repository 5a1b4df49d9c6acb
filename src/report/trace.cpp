// Chrome trace events (the JSON that Perfetto opens): a process a device, a track a lane, a counter a link.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "overlap/report.hpp"
#include "report/lane_rows.hpp"
#include "report/microseconds.hpp"
#include "text/quote.hpp"

namespace overlap {
namespace {

class Trace {
 public:
  void event(const std::string& body) {
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
    out_ += "{" + body + "}";
  }
  [[nodiscard]] std::string finish() && { return std::move(out_) + "\n]}\n"; }

 private:
  std::string out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  bool first_ = true;
};

std::string_view category(Activity a) {
  switch (a) {
    case Activity::compute:
      return "compute";
    case Activity::communication:
      return "communication";
    case Activity::local:
      return "local";
  }
  return "";
}

void device(Trace& trace, const RunView& run, DeviceId d, std::size_t pid) {
  for (const LaneRow& row : lane_rows(run, d)) {
    const std::uint32_t tid = run.graph.lane(row.lane).index;
    trace.event(fmt::format(R"("ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}})", pid, tid,
                            json_string(row.name)));
    for (const Bar& b : row.bars) {
      const Op& op = run.graph.op(b.op);
      if (b.admitted < b.begin) {
        trace.event(fmt::format(R"("ph":"X","cat":"wait","name":"waits for peers","pid":{},"tid":{},"ts":{},"dur":{})",
                                pid, tid, json_number(microseconds(b.admitted)),
                                json_number(microseconds(b.begin - b.admitted))));
      }
      trace.event(fmt::format(R"("ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{"op":{}}})",
                              category(b.activity), json_string(run.graph.text(op.label)), pid, tid,
                              json_number(microseconds(b.begin)), json_number(microseconds(b.end - b.begin)), b.op.v));
    }
  }
}

// Sum of the recorded rates on each resource, as counter events.
class LinkCounters {
 public:
  LinkCounters(const FinishedRun& run, Trace& trace, std::size_t pid)
      : run_(run), trace_(trace), pid_(pid), rate_(run.graph.ops().size()), total_(run.resources.fluids.size()) {}

  void write() {
    if (run_.timeline.rates.empty()) return;
    std::vector<RateSample> samples = run_.timeline.rates;
    for (std::size_t i = 0; i < run_.timeline.ops.size(); ++i) {
      samples.push_back({run_.timeline.ops[i].end - run_.demands.ops[i].tail, OpId(i), Bandwidth{}});
    }
    std::stable_sort(samples.begin(), samples.end(),
                     [](const RateSample& a, const RateSample& b) { return a.at < b.at; });
    std::vector<bool> dirty(total_.size(), false);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      apply(samples[i], dirty);
      if (i + 1 < samples.size() && samples[i + 1].at == samples[i].at) continue;
      for (std::size_t r = 0; r < dirty.size(); ++r) {
        if (dirty[r]) counter(r, samples[i].at);
        dirty[r] = false;
      }
    }
  }

 private:
  void apply(const RateSample& s, std::vector<bool>& dirty) {
    const Range uses = run_.demands.ops[s.op.index()].uses;
    const Bandwidth before = rate_[s.op.index()];
    if (before == s.rate) return;
    for (std::uint32_t u = uses.begin; u < uses.end; ++u) {
      const Use& use = run_.demands.uses[u];
      total_[use.resource.index()] += (s.rate - before) * use.weight;
      dirty[use.resource.index()] = true;
    }
    rate_[s.op.index()] = s.rate;
  }
  void counter(std::size_t r, Seconds at) {
    const double capacity = run_.resources.fluids[r].capacity.si();
    const double rate = total_[r].si() < 1e-9 * capacity ? 0.0 : total_[r].si();  // rounding of sums
    trace_.event(fmt::format(R"("ph":"C","name":{},"pid":{},"ts":{},"args":{{"GB/s":{}}})",
                             json_string(run_.resources.fluids[r].name), pid_, json_number(microseconds(at)),
                             json_number(rate / 1e9)));
  }

  const FinishedRun& run_;
  Trace& trace_;
  std::size_t pid_;
  std::vector<Bandwidth> rate_;   // by op
  std::vector<Bandwidth> total_;  // by resource
};

}  // namespace

std::string trace_json(const std::vector<TracedRun>& runs) {
  Trace trace;
  std::size_t pid = 0;
  for (const TracedRun& r : runs) {
    const RunView view = r.run->view();
    const auto process = [&](const std::string& name) {
      trace.event(
          fmt::format(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":{}}})", pid, json_string(name)));
      trace.event(fmt::format(R"("ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}})", pid, pid));
    };
    for (std::uint32_t d = 0; d < r.run->graph.devices(); ++d) {
      process(fmt::format("{}: gpu {}", r.name, d));
      device(trace, view, DeviceId(d), pid++);
    }
    process(r.name + ": links");
    LinkCounters(*r.run, trace, pid++).write();
  }
  return std::move(trace).finish();
}

}  // namespace overlap
