#include "calibrate/solver.hpp"

#include <dlfcn.h>

#include <filesystem>

#include "overlap/error.hpp"

namespace overlap::calibrate {
namespace {

// The module lies beside the program; tests run from folders below it.
std::string module_path() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (int up = 0; up < 3; ++up, folder = folder.parent_path()) {
    const std::filesystem::path file = folder / "overlapsim_calibrate.so";
    if (std::filesystem::exists(file, error)) return file.string();
  }
  return "overlapsim_calibrate.so";
}

SolveFunction load() {
  void* handle = ::dlopen(module_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  return handle == nullptr ? nullptr : reinterpret_cast<SolveFunction>(::dlsym(handle, kSolveEntry));
}

SolveFunction entry() {
  static const SolveFunction function = load();
  return function;
}

}  // namespace

bool solver_present() {
  return entry() != nullptr;
}

Solution solve(const LeastSquares& problem) {
  if (entry() == nullptr) {
    throw InputError("calibrate", "this build has no solver (" + module_path() +
                                      "): install libceres-dev and build again (cmake finds it)");
  }
  Solution s;
  entry()(problem, s);
  return s;
}

}  // namespace overlap::calibrate
