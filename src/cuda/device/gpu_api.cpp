#include "cuda/device/gpu_api.hpp"

#include <fmt/format.h>

#include <utility>

#include "overlap/error.hpp"

namespace overlap::gpu {
namespace {

std::string& current_op() {
  thread_local std::string name;
  return name;
}

const char* remedy_for(gpuError_t status) {
  if (status == gpuErrorMemoryAllocation) {
    return "the GPU is out of memory: choose smaller shapes or fewer schedules at once, or free the GPU (nvidia-smi)";
  }
  return "see whether other programs use the GPU (nvidia-smi); run once under compute-sanitizer for the place";
}

}  // namespace

ForOp::ForOp(std::string name) : before_(std::exchange(current_op(), std::move(name))) {}
ForOp::~ForOp() {
  current_op() = std::move(before_);
}

void fail(const std::string& call, const std::string& reason, const std::string& remedy) {
  const std::string& op = current_op();
  throw InputError(
      "", fmt::format("{} failed{}: {}; {}", call, op.empty() ? "" : fmt::format(" for op '{}'", op), reason, remedy));
}

void check(gpuError_t status, const char* call) {
  if (status == gpuSuccess) return;
  const char* text = gpuGetErrorString(status);
  (void)gpuGetLastError();
  fail(call, text, remedy_for(status));
}

}  // namespace overlap::gpu
