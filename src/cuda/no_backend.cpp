#include "overlap/cuda.hpp"
#include "overlap/error.hpp"

namespace overlap {

#ifndef OVERLAPSIM_HAVE_CUDA
std::unique_ptr<GpuSession> open_gpus(const GpuOptions& /*options*/) {
  throw InputError("", "this build has no GPU backend: configure with -DOVERLAPSIM_CUDA=ON (needs the CUDA toolkit)");
}
bool has_gpu_backend() {
  return false;
}
#endif

}  // namespace overlap
