// The MPI half: rank 0 hands out cells and writes rows in order, the others evaluate one cell at a time.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "overlap/error.hpp"
#include "overlap/report.hpp"
#include "sweep/mpi.hpp"
#include "sweep/row_files.hpp"

namespace {

using overlap::InputError;
using overlap::Study;
using overlap::StudyPlan;
using overlap::SweepOptions;
using overlap::SweepOutcome;
using overlap::sweep::CellBlock;

enum Tag : int { kWork = 1, kResult = 2 };
constexpr std::uint64_t kStop = ~std::uint64_t{0};
// Cells that may be finished ahead of the one that is written next: bounds the writer's memory.
constexpr std::uint64_t kWindow = 4096;

struct Header {
  std::uint64_t cell = 0;
  std::uint64_t rows = 0;
  std::uint64_t csv = 0;
  std::uint64_t jsonl = 0;
  std::uint64_t failed = 0;
};

void send_block(const CellBlock& block, const std::string& error) {
  const Header h{block.cell, block.rows, error.empty() ? block.csv.size() : error.size(), block.jsonl.size(),
                 error.empty() ? 0U : 1U};
  std::string message(reinterpret_cast<const char*>(&h), sizeof h);
  message += error.empty() ? block.csv : error;
  message += block.jsonl;
  MPI_Send(message.data(), static_cast<int>(message.size()), MPI_CHAR, 0, kResult, MPI_COMM_WORLD);
}

void work(const Study& study) {
  const StudyPlan plan(study);
  for (;;) {
    std::uint64_t cell = 0;
    MPI_Recv(&cell, 1, MPI_UINT64_T, 0, kWork, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (cell == kStop) return;
    CellBlock block;
    std::string error;
    try {
      block = overlap::sweep::cell_block(study, plan, cell);
    } catch (const std::exception& e) {
      error = e.what();
    }
    block.cell = cell;
    send_block(block, error);
  }
}

class Writer {
 public:
  Writer(const Study& study, const SweepOptions& options)
      : options_(options), plan_(study), files_(study, plan_, options.out, options.resume, 0, 1) {
    next_ = files_.cells_done();
    outcome_.cells = plan_.cells();
    outcome_.resumed = next_;
  }

  SweepOutcome run(int ranks) {
    for (int r = 1; r < ranks; ++r) idle_.push_back(r);
    give();
    while (busy_ > 0) {
      idle_.push_back(take());
      flush();
      give();
    }
    for (int r = 1; r < ranks; ++r) MPI_Send(&kStop, 1, MPI_UINT64_T, r, kWork, MPI_COMM_WORLD);
    if (!error_.empty()) throw InputError("", error_);
    outcome_.rows = files_.rows();
    outcome_.finished = files_.cells_done() == plan_.cells();
    return outcome_;
  }

 private:
  void give() {
    while (!idle_.empty() && error_.empty()) {
      const bool stopped = options_.stop && options_.stop();
      if (next_ >= plan_.cells() || stopped || next_ > files_.cells_done() + kWindow) return;
      MPI_Send(&next_, 1, MPI_UINT64_T, idle_.back(), kWork, MPI_COMM_WORLD);
      idle_.pop_back();
      ++next_;
      ++busy_;
    }
  }

  int take() {
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, kResult, MPI_COMM_WORLD, &status);
    int size = 0;
    MPI_Get_count(&status, MPI_CHAR, &size);
    std::string message(static_cast<std::size_t>(size), '\0');
    MPI_Recv(message.data(), size, MPI_CHAR, status.MPI_SOURCE, kResult, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    --busy_;
    Header h;
    message.copy(reinterpret_cast<char*>(&h), sizeof h);
    CellBlock block{h.cell, static_cast<std::uint32_t>(h.rows), message.substr(sizeof h, h.csv),
                    message.substr(sizeof h + h.csv, h.jsonl)};
    if (h.failed != 0 && error_.empty()) error_ = block.csv;
    if (h.failed == 0) ready_.emplace(h.cell, std::move(block));
    return status.MPI_SOURCE;
  }

  void flush() {
    while (!ready_.empty() && ready_.begin()->first == files_.cells_done()) {
      files_.append(ready_.begin()->second);
      ready_.erase(ready_.begin());
      if (options_.progress) options_.progress(files_.cells_done(), plan_.cells());
    }
  }

  const SweepOptions& options_;
  StudyPlan plan_;
  overlap::sweep::RowFiles files_;
  std::map<std::uint64_t, CellBlock> ready_;
  std::uint64_t next_ = 0;
  int busy_ = 0;
  std::vector<int> idle_;
  std::string error_;
  SweepOutcome outcome_;
};

}  // namespace

extern "C" void overlapsim_run_mpi(const Study& study, const SweepOptions& options, SweepOutcome& outcome) {
  MPI_Init(nullptr, nullptr);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank != 0) {
    work(study);
  } else {
    try {
      Writer writer(study, options);
      outcome = writer.run(ranks);
      if (outcome.finished) {
        overlap::write_file(options.out + "/summary.json", overlap::summarise(study, options.out));
      }
    } catch (const InputError& e) {
      // The others may wait for work that never comes: end them with this message.
      std::fprintf(stderr, "overlapsim: %s\n", e.what());
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  MPI_Finalize();
}
