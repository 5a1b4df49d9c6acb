// Runs the cells of a study on all cores: cells in order in, rows in order out, between them in any order.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_pipeline.h>

#include <memory>

#include "overlap/error.hpp"
#include "overlap/report.hpp"
#include "overlap/sweep.hpp"
#include "sweep/folders.hpp"
#include "sweep/row_files.hpp"

namespace overlap {
namespace {

std::uint64_t cells_of_shard(const StudyPlan& plan, const SweepOptions& o) {
  const std::uint64_t first = o.shard - 1;
  return first >= plan.cells() ? 0 : (plan.cells() - first + o.shards - 1) / o.shards;
}

}  // namespace

SweepOutcome run_sweep(const Study& study, const SweepOptions& options) {
  if (options.shards == 0 || options.shard == 0 || options.shard > options.shards) {
    throw InputError("", "--shard i/n needs 1 <= i <= n");
  }
  const StudyPlan plan(study);
  const std::uint64_t total = cells_of_shard(plan, options);
  if (total == 0) throw InputError(study.file, "this shard has no cell; use at most as many shards as cells");
  const std::string folder = sweep::shard_folder(options.out, options.shard, options.shards);
  (void)plan.experiment(options.shard - 1);  // a bad axis is told before anything is written
  sweep::RowFiles files(study, plan, folder, options.resume, options.shard - 1, options.shards);

  SweepOutcome outcome;
  outcome.cells = total;
  outcome.resumed = files.cells_done();
  std::uint64_t next = files.cells_done();
  bool stopped = false;
  const std::size_t threads = options.threads > 0 ? options.threads : std::size_t(tbb::info::default_concurrency());
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  const auto read = tbb::make_filter<void, std::uint64_t>(tbb::filter_mode::serial_in_order,
                                                          [&](tbb::flow_control& control) -> std::uint64_t {
                                                            stopped = stopped || (options.stop && options.stop());
                                                            if (next >= total || stopped) {
                                                              control.stop();
                                                              return 0;
                                                            }
                                                            return options.shard - 1 + options.shards * next++;
                                                          });
  const auto work = tbb::make_filter<std::uint64_t, std::shared_ptr<sweep::CellBlock>>(
      tbb::filter_mode::parallel,
      [&](std::uint64_t cell) { return std::make_shared<sweep::CellBlock>(sweep::cell_block(study, plan, cell)); });
  const auto write = tbb::make_filter<std::shared_ptr<sweep::CellBlock>, void>(
      tbb::filter_mode::serial_in_order, [&](const std::shared_ptr<sweep::CellBlock>& block) {
        files.append(*block);
        if (options.progress) options.progress(files.cells_done(), total);
      });
  tbb::parallel_pipeline(2 * threads, read & work & write);

  outcome.rows = files.rows();
  outcome.finished = files.cells_done() == total;
  if (outcome.finished && options.shards == 1) write_file(options.out + "/summary.json", summarise(study, options.out));
  return outcome;
}

}  // namespace overlap
