// Joins the folders of shards into one, cell by cell.
#include <filesystem>
#include <fstream>

#include "overlap/error.hpp"
#include "overlap/report.hpp"
#include "overlap/sweep.hpp"
#include "sweep/folders.hpp"
#include "sweep/row_files.hpp"

namespace overlap {
namespace {

namespace fs = std::filesystem;

std::uint32_t count_shards(const std::string& out) {
  if (!fs::is_directory(out)) throw InputError(out, "is no folder with shards");
  for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
    const std::string name = entry.path().filename().string();
    const std::size_t of = name.rfind("-of-");
    if (name.rfind("shard-", 0) == 0 && of != std::string::npos) {
      return static_cast<std::uint32_t>(std::stoul(name.substr(of + 4)));
    }
  }
  throw InputError(out, "has no folder shard-I-of-N; run the shards first: overlapsim sweep STUDY.json --shard I/N");
}

struct Shard {
  std::ifstream csv;
  std::ifstream jsonl;
};

}  // namespace

SweepOutcome merge_shards(const std::string& out) {
  const Study study = study_of_folder(out);
  const StudyPlan plan(study);
  const std::uint32_t count = count_shards(out);
  std::vector<Shard> shards;
  for (std::uint32_t i = 1; i <= count; ++i) {
    const std::string folder = sweep::shard_folder(out, i, count);
    if (!fs::exists(folder + "/study.json"))
      throw InputError(folder, "is missing: run --shard " + std::to_string(i) + "/" + std::to_string(count));
    if (sweep::identity(load_study(folder + "/study.json")) != sweep::identity(study)) {
      throw InputError(folder, "holds another study than the first shard");
    }
    shards.push_back({std::ifstream(folder + "/rows.csv"), std::ifstream(folder + "/rows.jsonl")});
    std::string header;
    std::getline(shards.back().csv, header);
  }
  fs::remove(out + "/study.json");
  for (const char* name : {"/rows.csv", "/rows.jsonl"}) fs::remove(out + name);
  sweep::RowFiles files(study, plan, out, false, 0, 1);
  SweepOutcome outcome;
  outcome.cells = plan.cells();
  for (std::uint64_t cell = 0; cell < plan.cells(); ++cell) {
    const auto which = static_cast<std::uint32_t>(cell % count);
    sweep::CellBlock block;
    block.cell = cell;
    block.rows = sweep::rows_of_cell(plan, cell);
    for (std::uint32_t r = 0; r < block.rows; ++r) {
      std::string csv;
      std::string jsonl;
      if (!std::getline(shards[which].csv, csv) || !std::getline(shards[which].jsonl, jsonl)) {
        throw InputError(sweep::shard_folder(out, which + 1, count),
                         "ends before cell " + std::to_string(cell) + "; finish it with --resume");
      }
      block.csv += csv + "\n";
      block.jsonl += jsonl + "\n";
    }
    files.append(block);
  }
  outcome.rows = files.rows();
  outcome.finished = true;
  write_file(out + "/summary.json", summarise(study, out));
  return outcome;
}

}  // namespace overlap
