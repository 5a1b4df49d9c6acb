#include "measure/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "overlap/error.hpp"

namespace overlap::cuda {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The same shuffle everywhere, unlike the standard library's.
class Shuffle {
 public:
  explicit Shuffle(std::uint64_t seed) : state_(seed * 2654435769U + 1) {}
  void operator()(std::vector<std::size_t>& order) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[next() % i]);
  }

 private:
  std::uint64_t next() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_;
  }
  std::uint64_t state_;
};

struct Loaded {
  const Job* job = nullptr;
  OpGraph graph;
  LaunchPlan plan;
  std::unique_ptr<GpuProgram> program;
  Seen seen;
};

// Ends the program when a job makes no progress: a graph that waits for itself on the GPUs cannot be called back. The
// file keeps what was measured and names the job.
class Watch {
 public:
  explicit Watch(std::string path) : path_(std::move(path)), thread_([this] { watch(); }) {}
  ~Watch() {
    stop_ = true;
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  void beat(const std::string& keys) {
    const std::lock_guard lock(mutex_);
    keys_ = keys;
    last_ = now_s();
  }

 private:
  static constexpr double kPatience = 20;
  void watch() {
    while (!stop_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const std::lock_guard lock(mutex_);
      if (keys_.empty() || now_s() - last_ < kPatience) continue;
      std::ofstream(path_, std::ios::app) << fmt::format(
          "{{{}, \"failed\": \"no progress for {} s: its ops wait for each other\"}}\n", keys_, kPatience);
      fmt::print(stderr, "measure: no progress for {} s in {{{}}}; what was measured is in {}; go on with --resume\n",
                 kPatience, keys_, path_);
      std::_Exit(2);
    }
  }
  std::string path_;
  std::mutex mutex_;
  std::string keys_;
  double last_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class Runner {
 public:
  Runner(const MeasureOptions& options, GpuSession& session, std::ofstream& file,
         const std::function<void(const std::string&)>& say)
      : options_(options), session_(session), file_(file), say_(say), shuffle_(options.seed) {}

  MeasureResult result;

  void group(const std::vector<const Job*>& jobs) {
    std::size_t next = 0;
    while (next < jobs.size()) {
      std::vector<Loaded> loaded;
      while (next < jobs.size() && (loaded.empty() || session_.free_bytes() > kSpare)) load(*jobs[next++], loaded);
      for (Loaded& l : loaded) {
        if (l.job->sustained.si() > 0) under_load(l);
      }
      std::erase_if(loaded, [](const Loaded& l) { return l.program == nullptr; });
      rounds(loaded);
      for (Loaded& l : loaded) write(l);
      file_.flush();
    }
  }

 private:
  static constexpr std::uint64_t kSpare = std::uint64_t{16} << 30U;

  void fail(const Job& job, const std::string& why) {
    ++result.failed;
    say_(fmt::format("  failed: {{{}}}: {}", job.keys, why));
    file_ << fmt::format("{{{}, \"failed\": \"{}\"}}\n", job.keys, escaped(why));
    file_.flush();
  }

  void load(const Job& job, std::vector<Loaded>& loaded) {
    GpuOptions environment;
    environment.gpus = options_.gpus;
    environment.channels = job.channels;
    environment.collective_priority = job.priority;
    environment.gemm_sms = job.gemm_sms;
    session_.configure(environment);
    PlanOptions plan;
    plan.sms = session_.host().gpus[0].sms;
    plan.fused_kernel = job.fused;
    plan.stream_memory = job.stream_memory;
    plan.epilogue_stores = job.epilogue_stores;
    if (job.channels > 0) plan.channels = job.channels;
    Loaded l;
    l.job = &job;
    try {
      l.graph = job.graph();
      l.plan = plan_launch(l.graph, DeviceMap::spread(l.graph.devices(), options_.gpus), plan);
    } catch (const CheckError& e) {
      return fail(job, e.what());
    } catch (const InputError& e) {
      return fail(job, e.what());
    }
    watch_.beat(job.keys);
    try {
      l.program = session_.load(l.graph, l.plan);
      l.program->fill(options_.seed + result.measured);
      l.program->warm();
    } catch (const InputError& e) {
      fail(job, e.what());
      throw;  // after a failing call the GPUs are in no state to go on
    }
    if (!l.graph.outputs().empty() && !job.contention) {
      l.seen.error = l.program->error();
      l.seen.checked = true;
      if (!(l.seen.error <= options_.max_error)) {
        return fail(job, fmt::format("wrong result: relative error {}", l.seen.error));
      }
    }
    l.program->warm();
    loaded.push_back(std::move(l));
  }

  void rounds(std::vector<Loaded>& loaded) {
    std::uint32_t most = 0;
    for (const Loaded& l : loaded) most = std::max(most, reps(*l.job));
    std::vector<std::size_t> order(loaded.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::uint32_t rep = 0; rep < most; ++rep) {
      shuffle_(order);
      for (const std::size_t i : order) {
        Loaded& l = loaded[i];
        if (rep >= reps(*l.job)) continue;
        watch_.beat(l.job->keys);
        l.seen.raw_us.push_back(l.program->run(idle(*l.job)).si() * 1e6);
        if (rep % 3 != 0) continue;  // the driver answers slowly
        const GpuState state = session_.state().front();
        l.seen.sm_mhz.push_back(static_cast<std::uint32_t>(state.sm_mhz));
        l.seen.watts.push_back(static_cast<std::uint32_t>(state.watts));
      }
    }
  }

  [[nodiscard]] std::uint32_t reps(const Job& job) const { return options_.reps > 0 ? options_.reps : job.reps; }
  [[nodiscard]] Seconds idle(const Job& job) const {
    return options_.idle_ms >= 0 ? Seconds(options_.idle_ms * 1e-3) : job.idle;
  }

  void write(Loaded& l) {
    const Job& job = *l.job;
    std::string line = fmt::format("{{{}, {}", job.keys, record_text(job, l.seen, *l.program));
    if (job.spans || job.contention) {
      watch_.beat(job.keys);
      const GpuSpans s = l.program->spans(idle(job));
      line += job.contention ? contention_text(l.graph, s.timeline) : measured_spans(job, l.graph, l.plan, s);
    }
    file_ << line << "}\n";
    ++result.measured;
    l.program.reset();
  }

  void under_load(Loaded& l) {
    const Job& job = *l.job;
    watch_.beat(job.keys);
    file_ << fmt::format("{{{}, {}}}\n", job.keys, load_text(session_, *l.program, job.sustained, l.seen));
    ++result.measured;
    l.program.reset();
  }

  const MeasureOptions& options_;
  GpuSession& session_;
  std::ofstream& file_;
  Watch watch_{options_.out};
  const std::function<void(const std::string&)>& say_;
  Shuffle shuffle_;
};

std::set<std::string> recorded(const std::string& path) {
  std::set<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

bool holds(const std::set<std::string>& lines, const Job& job) {
  const std::string start = "{" + job.keys;
  const auto it = lines.lower_bound(start);
  return it != lines.end() && it->compare(0, start.size(), start) == 0 && (*it)[start.size()] == ',';
}

std::string meta(const GpuHost& host, double idle_ms, const std::string& machine) {
  return fmt::format(
      "{{\"kind\": \"meta\", \"what\": \"measure\", \"in_place\": 0, \"machine\": \"{}{}x {}, {} SMs\", \"software\": "
      "\"{}\", "
      "\"units\": \"times in "
      "microseconds, sizes in bytes\", \"method\": \"all streams of all GPUs are enqueued behind a gate kernel and "
      "released together; "
      "*_us = time on GPU 0 from release to all streams joined; before each run the L2 is overwritten and the GPUs "
      "idle ({}); rounds "
      "over all records of a group, shuffled; sorted v: median v[n/2], p10 v[n/10], p90 v[9n/10]; spans [gpu, op, "
      "begin_us, end_us] come "
      "from one further run with timing events, on GPU 0's clock within clock_error_us; tile_ends [gpu, op, CTAs, rows "
      "and "
      "columns of a tile, [us]]: when each tile was stored, in the kernel's order; records of kind sustained: runs "
      "back to "
      "back, caches as the run before left them, statistics of the second half, series_s_us [seconds since start, mean "
      "us "
      "of the runs ended since the last point]; sm_mhz and watts: least, "
      "median, largest of GPU 0 "
      "beside the runs; gemm_kernels [m, n, k, kernel, launches] of device 0; error: relative error norm of the "
      "outputs against "
      "float64; schedules: graph and params name the schedule in this project\"}}\n",
      machine.empty() ? "" : machine + ", ", host.gpus.size(), host.gpus[0].name, host.gpus[0].sms, host.software,
      idle_ms >= 0 ? fmt::format("{} ms", idle_ms) : fmt::format("{} ms, primitives 2 ms", Job().idle.si() * 1e3));
}

}  // namespace

MeasureResult measure(const std::vector<Job>& jobs, const MeasureOptions& options, const std::string& machine,
                      const std::function<void(const std::string&)>& say) {
  GpuOptions open;
  open.gpus = options.gpus;
  const std::unique_ptr<GpuSession> session = open_gpus(open);
  const std::set<std::string> done = options.resume ? recorded(options.out) : std::set<std::string>{};
  std::ofstream file(options.out, options.resume ? std::ios::app : std::ios::trunc);
  if (!file) throw InputError(options.out, "cannot be written: choose another file with --out");
  if (done.empty()) file << meta(session->host(), options.idle_ms, machine);
  file.flush();
  Runner runner(options, *session, file, say);
  const double start = now_s();
  std::size_t i = 0;
  while (i < jobs.size()) {
    std::vector<const Job*> group;
    const std::string name = jobs[i].group;
    for (; i < jobs.size() && jobs[i].group == name; ++i) {
      if (holds(done, jobs[i])) {
        ++runner.result.skipped;
      } else {
        group.push_back(&jobs[i]);
      }
    }
    if (group.empty()) continue;
    if (options.limit_s > 0 && now_s() - start > options.limit_s) {
      runner.result.skipped += static_cast<std::uint32_t>(group.size());
      continue;
    }
    runner.group(group);
    say(fmt::format("{:7.1f} s  {} ({} records)", now_s() - start, name, group.size()));
  }
  return runner.result;
}

}  // namespace overlap::cuda
