#include <algorithm>
#include <set>

#include "overlap/cuda.hpp"
#include "overlap/error.hpp"

namespace overlap {

std::uint32_t DeviceMap::gpus() const {
  std::uint32_t most = 0;
  for (const std::uint32_t g : gpu_of) most = std::max(most, g + 1);
  return most;
}

std::uint32_t DeviceMap::devices_on(std::uint32_t gpu) const {
  return static_cast<std::uint32_t>(std::count(gpu_of.begin(), gpu_of.end(), gpu));
}

bool DeviceMap::shared() const {
  return std::set<std::uint32_t>(gpu_of.begin(), gpu_of.end()).size() != gpu_of.size();
}

DeviceMap DeviceMap::spread(std::uint32_t devices, std::uint32_t gpus) {
  if (gpus == 0) throw InputError("", "no GPU to run on");
  const std::uint32_t used = std::min(devices, gpus);
  DeviceMap map;
  for (std::uint32_t d = 0; d < devices; ++d) {
    map.gpu_of.push_back(static_cast<std::uint32_t>(std::uint64_t{d} * used / devices));
  }
  return map;
}

std::string_view to_text(Execution e) {
  switch (e) {
    case Execution::library_gemm:
      return "library gemm";
    case Execution::fused_gemm:
      return "tile kernel";
    case Execution::chunked_gemm:
      return "gemm chunks";
    case Execution::copy_engine:
      return "copy engine";
    case Execution::sm_copy:
      return "copy kernel";
    case Execution::epilogue_store:
      return "stores of the tile kernel";
    case Execution::library_collective:
      return "library collective";
    case Execution::copy_collective:
      return "collective by copies";
    case Execution::kernel:
      return "kernel";
  }
  return "";
}

}  // namespace overlap
