#include "sweep/mpi.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "overlap/error.hpp"

namespace overlap::sweep {
namespace {

int number_in(const char* const* variables) {
  for (const char* const* v = variables; *v != nullptr; ++v) {
    if (const char* text = std::getenv(*v); text != nullptr) return std::atoi(text);
  }
  return -1;
}

}  // namespace

bool under_mpi() {
  static constexpr const char* kSizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", nullptr};
  return number_in(kSizes) > 1;
}

int mpi_rank() {
  static constexpr const char* kRanks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", nullptr};
  return under_mpi() ? number_in(kRanks) : 0;
}

SweepOutcome run_under_mpi(const Study& study, const SweepOptions& options) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string module = (program.parent_path() / "overlapsim_mpi.so").string();
  void* handle = ::dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    throw InputError("",
                     "this build has no MPI (" + module + "): install libopenmpi-dev and build again, or use --shard");
  }
  const auto run = reinterpret_cast<RunMpi>(::dlsym(handle, kMpiEntry));
  if (run == nullptr) throw InputError("", module + " is of another version");
  SweepOutcome outcome;
  run(study, options, outcome);
  return outcome;
}

}  // namespace overlap::sweep
