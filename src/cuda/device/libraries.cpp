#include "cuda/device/libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "cuda/device/gpu_api.hpp"
#include "overlap/error.hpp"

namespace overlap::gpu {
namespace {

class Library {
 public:
  Library(std::vector<std::string> names, std::string what) : what_(std::move(what)) {
    for (const std::string& name : names) {
      handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ != nullptr) return;
      const char* error = dlerror();
      tried_ += fmt::format("{}{}", tried_.empty() ? "" : "; ", error != nullptr ? error : name.c_str());
    }
  }
  [[nodiscard]] bool there() const { return handle_ != nullptr; }
  template <class F>
  void load(F& function, const char* name) const {
    function = reinterpret_cast<F>(handle_ != nullptr ? dlsym(handle_, name) : nullptr);
    if (function == nullptr) {
      throw InputError(
          "", fmt::format("{} is not there or lacks {} ({}): install it or put its folder on LD_LIBRARY_PATH", what_,
                          name, tried_));
    }
  }

 private:
  void* handle_ = nullptr;
  std::string what_;
  std::string tried_;
};

CublasLt load_cublaslt() {
  const Library lib({"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, "cuBLASLt");
  CublasLt t;
  lib.load(t.create, "cublasLtCreate");
  lib.load(t.version, "cublasLtGetVersion");
  lib.load(t.matmul, "cublasLtMatmul");
  lib.load(t.desc_create, "cublasLtMatmulDescCreate");
  lib.load(t.desc_destroy, "cublasLtMatmulDescDestroy");
  lib.load(t.desc_set, "cublasLtMatmulDescSetAttribute");
  lib.load(t.layout_create, "cublasLtMatrixLayoutCreate");
  lib.load(t.layout_set, "cublasLtMatrixLayoutSetAttribute");
  lib.load(t.layout_destroy, "cublasLtMatrixLayoutDestroy");
  lib.load(t.preference_create, "cublasLtMatmulPreferenceCreate");
  lib.load(t.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  lib.load(t.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  lib.load(t.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  lib.load(t.config_get, "cublasLtMatmulAlgoConfigGetAttribute");
  return t;
}

Nccl load_nccl() {
  const Library lib({"libnccl.so.2", "libnccl.so"}, "NCCL");
  Nccl t;
  lib.load(t.version, "ncclGetVersion");
  lib.load(t.unique_id, "ncclGetUniqueId");
  lib.load(t.init_rank, "ncclCommInitRankConfig");
  lib.load(t.destroy, "ncclCommDestroy");
  lib.load(t.error_string, "ncclGetErrorString");
  lib.load(t.group_start, "ncclGroupStart");
  lib.load(t.group_end, "ncclGroupEnd");
  lib.load(t.all_gather, "ncclAllGather");
  lib.load(t.reduce_scatter, "ncclReduceScatter");
  lib.load(t.all_reduce, "ncclAllReduce");
  lib.load(t.broadcast, "ncclBroadcast");
  lib.load(t.reduce, "ncclReduce");
  lib.load(t.send, "ncclSend");
  lib.load(t.recv, "ncclRecv");
  return t;
}

template <class F>
void entry(F& function, const char* name) {
  void* p = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion(name, &p, 12000, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion");
  if (p == nullptr) throw InputError("", fmt::format("the driver lacks {}: update it", name));
  function = reinterpret_cast<F>(p);
}

struct Nvml {
  int (*init)() = nullptr;
  int (*handle)(unsigned, void**) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*temperature)(void*, int, unsigned*) = nullptr;
  bool ready = false;
};

Nvml load_nvml() {
  Nvml t;
  try {
    const Library lib({"libnvidia-ml.so.1"}, "NVML");
    lib.load(t.init, "nvmlInit_v2");
    lib.load(t.handle, "nvmlDeviceGetHandleByIndex_v2");
    lib.load(t.clock, "nvmlDeviceGetClockInfo");
    lib.load(t.power, "nvmlDeviceGetPowerUsage");
    lib.load(t.temperature, "nvmlDeviceGetTemperature");
    t.ready = t.init() == 0;
  } catch (const InputError&) {
    t.ready = false;  // clocks and power are then recorded as zero
  }
  return t;
}

}  // namespace

const CublasLt& cublaslt() {
  static const CublasLt table = load_cublaslt();
  return table;
}

const Nccl& nccl() {
  static const Nccl table = load_nccl();
  return table;
}

const Driver& driver() {
  static const Driver table = [] {
    Driver t;
    entry(t.wait_value, "cuStreamWaitValue32");
    entry(t.write_value, "cuStreamWriteValue32");
    entry(t.encode_tiled, "cuTensorMapEncodeTiled");
    return t;
  }();
  return table;
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail(call, fmt::format("cuBLASLt status {}", static_cast<int>(status)),
       "see whether the installed cuBLASLt knows this GPU and these extents");
}

void check(ncclResult_t status, const char* call) {
  if (status == ncclSuccess) return;
  fail(call, nccl().error_string(status), "set NCCL_DEBUG=INFO and run again for the reason");
}

void check(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  fail(call, fmt::format("driver error {}", static_cast<int>(status)), "update the driver, or use --fused chunks");
}

std::vector<GpuState> read_state(std::uint32_t gpus) {
  static const Nvml nvml = load_nvml();
  std::vector<GpuState> out(gpus);
  if (!nvml.ready) return out;
  constexpr int kSmClock = 1;
  for (std::uint32_t g = 0; g < gpus; ++g) {
    void* handle = nullptr;
    unsigned mhz = 0;
    unsigned milliwatts = 0;
    unsigned degrees = 0;
    if (nvml.handle(g, &handle) != 0) continue;
    if (nvml.clock(handle, kSmClock, &mhz) == 0) out[g].sm_mhz = mhz;
    if (nvml.power(handle, &milliwatts) == 0) out[g].watts = milliwatts / 1000.0;
    if (nvml.temperature(handle, 0, &degrees) == 0) out[g].celsius = degrees;
  }
  return out;
}

}  // namespace overlap::gpu
