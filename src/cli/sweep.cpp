// overlapsim sweep, merge, report: what-if studies.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>

#include "cli/commands.hpp"
#include "overlap/error.hpp"
#include "overlap/report.hpp"
#include "overlap/sweep.hpp"
#include "sweep/mpi.hpp"

namespace overlap::cli {
namespace {

std::atomic<bool> interrupted{false};
void on_interrupt(int /*signal*/) {
  interrupted = true;
}

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point t) {
  return std::chrono::duration<double>(Clock::now() - t).count();
}

std::string clock_text(double seconds) {
  const auto s = static_cast<std::uint64_t>(seconds + 0.5);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

// A line that redraws itself on a terminal; in a log a line every 10 s.
class Progress {
 public:
  void operator()(std::uint64_t done, std::uint64_t total) {
    const double now = seconds_since(start_);
    if (first_ == 0) first_ = done - 1;
    if (now - shown_ < (terminal_ ? 0.2 : 10.0) && done < total) return;
    shown_ = now;
    const double rate = static_cast<double>(done - first_) / std::max(now, 1e-9);
    const double left = static_cast<double>(total - done) / std::max(rate, 1e-9);
    const std::string text =
        fmt::format("{}/{} cells ({:.0f} %), {:.1f} cells/s, {} left", done, total,
                    100.0 * static_cast<double>(done) / static_cast<double>(total), rate, clock_text(left));
    if (terminal_) {
      fmt::print(stderr, "\r{:<70}{}", text, done == total ? "\n" : "");
    } else if (now > 10.0) {
      fmt::print(stderr, "{}\n", text);
    }
  }

 private:
  Clock::time_point start_ = Clock::now();
  std::uint64_t first_ = 0;
  double shown_ = 0.0;
  bool terminal_ = ::isatty(2) != 0;
};

void read_shard(const std::string& text, SweepOptions& o) {
  if (text.empty()) return;
  const char* end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, o.shard);
  if (error != std::errc{} || slash == end || *slash != '/') throw InputError("--shard", "'" + text + "' is no i/n");
  const auto [rest, error2] = std::from_chars(slash + 1, end, o.shards);
  if (error2 != std::errc{} || rest != end) throw InputError("--shard", "'" + text + "' is no i/n");
}

std::string default_folder(const Study& study) {
  return "out/" + study.name;
}

// Size and time of the study, from one cell.
void estimate(const Study& study) {
  const StudyPlan plan(study);
  const Clock::time_point start = Clock::now();
  const std::size_t rows = evaluate_cell(study, plan, plan.cells() / 2).size();
  const double each = seconds_since(start);
  const double cells = static_cast<double>(plan.cells());
  fmt::print(stderr, "{}: {} cells of about {} rows; about {} on one core\n", study.name, plan.cells(), rows,
             clock_text(each * cells));
}

int finish(const Study& study, const SweepOutcome& outcome, const SweepOptions& o) {
  fmt::print("{}: {} of {} cells, {} rows in {}{}\n", study.name, outcome.finished ? outcome.cells : outcome.resumed,
             outcome.cells, outcome.rows, o.out,
             outcome.resumed > 0 ? fmt::format(" ({} were there)", outcome.resumed) : "");
  if (!outcome.finished) {
    fmt::print("interrupted: go on with --resume\n");
    return 1;
  }
  if (o.shards == 1) fmt::print("summary: {0}/summary.json; page: overlapsim report {0}\n", o.out);
  return 0;
}

struct SweepArguments {
  std::string study;
  std::string shard;
  std::int64_t threads = 0;
  bool dry = false;
  SweepOptions options;
};

int run(SweepArguments& a) {
  const Study study = load_study(a.study);
  if (a.threads < 0 || a.threads > 4096) throw InputError("--threads", "must be 0 (all cores) to 4096");
  a.options.threads = static_cast<std::uint32_t>(a.threads);
  if (a.options.out.empty()) a.options.out = default_folder(study);
  read_shard(a.shard, a.options);
  const bool first = sweep::mpi_rank() == 0;
  if (first) estimate(study);
  if (a.dry) return 0;
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  a.options.progress = Progress();
  a.options.stop = [] { return interrupted.load(); };
  const SweepOutcome outcome =
      sweep::under_mpi() ? sweep::run_under_mpi(study, a.options) : run_sweep(study, a.options);
  return first ? finish(study, outcome, a.options) : 0;
}

}  // namespace

Action sweep_command(Options& o) {
  auto a = std::make_shared<SweepArguments>();
  o.argument("STUDY.json", a->study, "study file: an experiment and axes over its JSON pointers");
  o.option("--out,-o", a->options.out, "FOLDER", "where rows and summary go (default: out/NAME)");
  o.flag("--resume", a->options.resume, "go on where an interrupted sweep stopped");
  o.option("--threads,-j", a->threads, "N", "worker threads; 0 = all cores");
  o.option("--shard", a->shard, "I/N", "only every N-th cell, from the I-th; join with `overlapsim merge`");
  o.flag("--dry-run", a->dry, "print the size and the estimated time, run nothing");
  o.footer("Many machines: mpirun -n N overlapsim sweep STUDY.json, or --shard I/N in a job array and then merge.");
  return [a] { return run(*a); };
}

Action merge_command(Options& o) {
  auto out = std::make_shared<std::string>();
  o.argument("FOLDER", *out, "folder with the shard-I-of-N folders of one study");
  return [out] {
    SweepOptions options;
    options.out = *out;
    const SweepOutcome outcome = merge_shards(*out);
    return finish(study_of_folder(*out), outcome, options);
  };
}

Action report_command(Options& o) {
  auto out = std::make_shared<std::string>();
  auto file = std::make_shared<std::string>();
  o.argument("FOLDER", *out, "folder of a finished sweep");
  o.option("--html", *file, "FILE", "the page to write (default: FOLDER/report.html)");
  return [out, file] {
    const std::string page = file->empty() ? *out + "/report.html" : *file;
    write_study_page(study_of_folder(*out), *out, page);
    fmt::print("{}\n", page);
    return 0;
  };
}

}  // namespace overlap::cli
