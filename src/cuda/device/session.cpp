#include "cuda/device/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "cuda/device/program.hpp"
#include "cuda/device/tile_gemm.hpp"
#include "overlap/error.hpp"

namespace overlap::gpu {
namespace {

constexpr std::size_t kWorkspace = std::size_t{64} << 20U;

std::string versions() {
  int runtime = 0;
  int driver_version = 0;
  check(gpuRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  check(gpuDriverGetVersion(&driver_version), "cudaDriverGetVersion");
  std::string nccl_text = "none";
  try {
    int v = 0;
    check(nccl().version(&v), "ncclGetVersion");
    nccl_text = fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
  } catch (const InputError&) {
    nccl_text = "none";  // only graphs with library collectives need it, and those say so
  }
  return fmt::format("CUDA {}.{}, driver for CUDA {}.{}, cuBLASLt {}, NCCL {} with NVLS off", runtime / 1000,
                     runtime / 10 % 100, driver_version / 1000, driver_version / 10 % 100, cublaslt().version(),
                     nccl_text);
}

}  // namespace

Memory::Memory(std::uint32_t gpu, std::uint64_t bytes) : gpu_(gpu), bytes_(bytes) {
  if (bytes == 0) return;
  check(gpuSetDevice(static_cast<int>(gpu)), "cudaSetDevice");
  const gpuError_t status = gpuMalloc(&data_, bytes);
  if (status == gpuErrorMemoryAllocation) {
    std::size_t free = 0;
    std::size_t total = 0;
    (void)gpuGetLastError();
    (void)gpuMemGetInfo(&free, &total);
    fail("cudaMalloc",
         fmt::format("GPU {} has {} free, {} are needed", gpu, to_text(Bytes(static_cast<double>(free))),
                     to_text(Bytes(static_cast<double>(bytes)))),
         "choose smaller shapes or fewer schedules, or free the GPU (nvidia-smi)");
  }
  check(status, "cudaMalloc");
}
Memory::~Memory() {
  if (data_ == nullptr) return;
  (void)gpuSetDevice(static_cast<int>(gpu_));
  (void)gpuFree(data_);
}
Memory::Memory(Memory&& other) noexcept
    : gpu_(other.gpu_), data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Session::Session(const GpuOptions& options) : options_(options) {
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int count = 0;
  const gpuError_t status = gpuGetDeviceCount(&count);
  if (status != gpuSuccess || count == 0) {
    throw InputError("", fmt::format("no GPU found ({}): run on a machine with one, and see that nvidia-smi lists it",
                                     status == gpuSuccess ? "none is visible" : gpuGetErrorString(status)));
  }
  const std::uint32_t wanted = std::max(1U, options.gpus);
  if (static_cast<std::uint32_t>(count) < wanted) {
    throw InputError("", fmt::format("{} GPUs are needed, {} are visible: lower --gpus (several devices of a graph can "
                                     "share a GPU) or see CUDA_VISIBLE_DEVICES",
                                     wanted, count));
  }
  for (std::uint32_t g = 0; g < wanted; ++g) open_gpu(g);
  connect_peers();
  void* gate = nullptr;
  check(gpuHostAlloc(&gate, sizeof(std::uint32_t), gpuHostAllocMapped | gpuHostAllocPortable), "cudaHostAlloc");
  gate_ = static_cast<std::uint32_t*>(gate);
  *gate_ = 0;
  host_.software = versions();
  clock_offsets.resize(wanted);
}

Session::~Session() {
  for (const auto& [key, comms] : communicators_) {
    for (const ncclComm_t c : comms) (void)nccl().destroy(c);
  }
  for (const auto& [key, s] : streams_) (void)gpuStreamDestroy(s);
  if (gate_ != nullptr) (void)gpuFreeHost(gate_);
}

void Session::open_gpu(std::uint32_t gpu) {
  gpuDeviceProp props{};
  check(gpuGetDeviceProperties(&props, static_cast<int>(gpu)), "cudaGetDeviceProperties");
  check(gpuSetDevice(static_cast<int>(gpu)), "cudaSetDevice");
  GpuInfo info;
  info.name = props.name;
  info.sms = static_cast<std::uint32_t>(props.multiProcessorCount);
  info.wgmma = props.major == 9 && props.minor == 0;
  std::size_t free = 0;
  std::size_t total = 0;
  check(gpuMemGetInfo(&free, &total), "cudaMemGetInfo");
  info.free_bytes = free;
  host_.gpus.push_back(info);
  if (info.wgmma) prepare_wgmma();
  prepare_mma();
  cublasLtHandle_t handle = nullptr;
  check(cublaslt().create(&handle), "cublasLtCreate");
  blas_.push_back(handle);
  flush_.emplace_back(gpu, static_cast<std::uint64_t>(props.l2CacheSize) * 4);
}

void Session::connect_peers() {
  for (std::uint32_t a = 0; a < gpus(); ++a) {
    check(gpuSetDevice(static_cast<int>(a)), "cudaSetDevice");
    for (std::uint32_t b = 0; b < gpus(); ++b) {
      if (a == b) continue;
      int can = 0;
      check(gpuDeviceCanAccessPeer(&can, static_cast<int>(a), static_cast<int>(b)), "cudaDeviceCanAccessPeer");
      if (can == 0) {
        throw InputError("",
                         fmt::format("GPU {} cannot reach the memory of GPU {} (no peer access): choose GPUs on one "
                                     "NVLink or PCIe switch (CUDA_VISIBLE_DEVICES), or run on one GPU (--gpus 1)",
                                     a, b));
      }
      const gpuError_t status = gpuDeviceEnablePeerAccess(static_cast<int>(b), 0);
      if (status == gpuErrorPeerAccessAlreadyEnabled) {
        (void)gpuGetLastError();
      } else {
        check(status, "cudaDeviceEnablePeerAccess");
      }
    }
  }
}

std::vector<GpuState> Session::state() {
  return read_state(gpus());
}

std::uint64_t Session::free_bytes() {
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint32_t g = 0; g < gpus(); ++g) {
    std::size_t free = 0;
    std::size_t total = 0;
    check(gpuSetDevice(static_cast<int>(g)), "cudaSetDevice");
    check(gpuMemGetInfo(&free, &total), "cudaMemGetInfo");
    least = std::min<std::uint64_t>(least, free);
  }
  return least;
}

std::unique_ptr<GpuProgram> Session::load(const OpGraph& graph, const LaunchPlan& plan) {
  return std::make_unique<Program>(*this, graph, plan);
}

gpuStream_t Session::stream(std::uint32_t gpu, std::int32_t lane_priority, std::uint32_t ordinal) {
  const auto [it, fresh] = streams_.try_emplace({gpu, lane_priority, ordinal}, nullptr);
  if (fresh) {
    check(gpuSetDevice(static_cast<int>(gpu)), "cudaSetDevice");
    int least = 0;
    int greatest = 0;
    check(gpuDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    const int priority = std::clamp(-lane_priority, greatest, least);
    check(gpuStreamCreateWithPriority(&it->second, gpuStreamNonBlocking, priority), "cudaStreamCreateWithPriority");
  }
  return it->second;
}

Workspace Session::workspace(std::uint32_t gpu, std::uint32_t ordinal) {
  const auto [it, fresh] = workspaces_.try_emplace({gpu, ordinal});
  if (fresh) it->second = Memory(gpu, kWorkspace);
  return {it->second.get(), kWorkspace};
}

void Session::wait_for_all() const {
  for (std::uint32_t g = 0; g < gpus(); ++g) {
    check(gpuSetDevice(static_cast<int>(g)), "cudaSetDevice");
    check(gpuDeviceSynchronize(), "cudaDeviceSynchronize");
  }
}

const std::uint32_t* Session::numbers(std::uint32_t gpu) {
  const auto [it, fresh] = numbers_.try_emplace(gpu);
  if (fresh) {
    std::vector<std::uint32_t> host(kNumbers);
    for (std::uint32_t i = 0; i < kNumbers; ++i) host[i] = i;
    it->second = Memory(gpu, kNumbers * sizeof(std::uint32_t));
    check(gpuMemcpy(it->second.get(), host.data(), kNumbers * sizeof(std::uint32_t), gpuMemcpyDefault), "cudaMemcpy");
  }
  return reinterpret_cast<const std::uint32_t*>(it->second.get());
}

cublasLtHandle_t Session::blas(std::uint32_t gpu) {
  return blas_[gpu];
}

const std::vector<ncclComm_t>& Session::communicator(const std::vector<std::uint32_t>& gpus, std::uint32_t channels) {
  const auto [it, fresh] = communicators_.try_emplace({gpus, channels});
  if (!fresh) return it->second;
  const Nccl& n = nccl();
  ncclUniqueId id{};
  check(n.unique_id(&id), "ncclGetUniqueId");
  std::vector<ncclComm_t> comms(gpus.size());
  check(n.group_start(), "ncclGroupStart");
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    if (channels > 0) config.minCTAs = config.maxCTAs = static_cast<int>(channels);
    check(gpuSetDevice(static_cast<int>(gpus[i])), "cudaSetDevice");
    check(n.init_rank(&comms[i], static_cast<int>(gpus.size()), id, static_cast<int>(i), &config),
          "ncclCommInitRankConfig");
  }
  check(n.group_end(), "ncclGroupEnd");
  it->second = comms;
  return it->second;
}

void Session::flush_caches() {
  for (std::uint32_t g = 0; g < gpus(); ++g) {
    check(gpuSetDevice(static_cast<int>(g)), "cudaSetDevice");
    const gpuStream_t s = stream(g, 0, 0);
    check(gpuMemsetAsync(flush_[g].get(), 1, flush_[g].bytes(), s), "cudaMemsetAsync");
  }
  for (std::uint32_t g = 0; g < gpus(); ++g) check(gpuStreamSynchronize(stream(g, 0, 0)), "cudaStreamSynchronize");
}

void Session::open_gate(std::uint32_t value) {
  std::atomic_ref<std::uint32_t>(*gate_).store(value, std::memory_order_release);
}

}  // namespace overlap::gpu

namespace overlap {

std::unique_ptr<GpuSession> open_gpus(const GpuOptions& options) {
  return std::make_unique<gpu::Session>(options);
}
bool has_gpu_backend() {
  return true;
}

}  // namespace overlap
