// The one place that knows whether the runtime is CUDA or HIP: runtime calls are written gpuX, so that the same source
// builds with nvcc and with hipcc. Library calls (cuBLASLt, NCCL) and the tile kernels are CUDA's own.
#pragma once

#if defined(__HIP_PLATFORM_AMD__)
#include <hip/hip_runtime.h>
#define OVERLAP_GPU(name) hip##name
#else
#include <cuda_runtime_api.h>
#define OVERLAP_GPU(name) cuda##name
#endif

#include <string>

#define gpuError_t OVERLAP_GPU(Error_t)
#define gpuSuccess OVERLAP_GPU(Success)
#define gpuErrorMemoryAllocation OVERLAP_GPU(ErrorMemoryAllocation)
#define gpuErrorPeerAccessAlreadyEnabled OVERLAP_GPU(ErrorPeerAccessAlreadyEnabled)
#define gpuGetErrorString OVERLAP_GPU(GetErrorString)
#define gpuGetLastError OVERLAP_GPU(GetLastError)
#define gpuGetDeviceCount OVERLAP_GPU(GetDeviceCount)
#define gpuSetDevice OVERLAP_GPU(SetDevice)
#if defined(__HIP_PLATFORM_AMD__)
#define gpuDeviceProp hipDeviceProp_t
#define gpuFreeHost hipHostFree
#define gpuHostAlloc hipHostMalloc
#define gpuHostAllocMapped hipHostMallocMapped
#define gpuHostAllocPortable hipHostMallocPortable
#else
#define gpuDeviceProp cudaDeviceProp
#define gpuFreeHost cudaFreeHost
#define gpuHostAlloc cudaHostAlloc
#define gpuHostAllocMapped cudaHostAllocMapped
#define gpuHostAllocPortable cudaHostAllocPortable
#endif
#define gpuGetDeviceProperties OVERLAP_GPU(GetDeviceProperties)
#define gpuDeviceSynchronize OVERLAP_GPU(DeviceSynchronize)
#define gpuDeviceCanAccessPeer OVERLAP_GPU(DeviceCanAccessPeer)
#define gpuDeviceEnablePeerAccess OVERLAP_GPU(DeviceEnablePeerAccess)
#define gpuDeviceGetStreamPriorityRange OVERLAP_GPU(DeviceGetStreamPriorityRange)
#define gpuMemGetInfo OVERLAP_GPU(MemGetInfo)
#define gpuMalloc OVERLAP_GPU(Malloc)
#define gpuFree OVERLAP_GPU(Free)
#define gpuMemcpy OVERLAP_GPU(Memcpy)
#define gpuMemcpyDefault OVERLAP_GPU(MemcpyDefault)
#define gpuMemcpyAsync OVERLAP_GPU(MemcpyAsync)
#define gpuMemcpy2DAsync OVERLAP_GPU(Memcpy2DAsync)
#define gpuMemcpyPeerAsync OVERLAP_GPU(MemcpyPeerAsync)
#define gpuMemset OVERLAP_GPU(Memset)
#define gpuMemsetAsync OVERLAP_GPU(MemsetAsync)
#define gpuStream_t OVERLAP_GPU(Stream_t)
#define gpuStreamCreateWithPriority OVERLAP_GPU(StreamCreateWithPriority)
#define gpuStreamNonBlocking OVERLAP_GPU(StreamNonBlocking)
#define gpuStreamDestroy OVERLAP_GPU(StreamDestroy)
#define gpuStreamSynchronize OVERLAP_GPU(StreamSynchronize)
#define gpuStreamWaitEvent OVERLAP_GPU(StreamWaitEvent)
#define gpuEvent_t OVERLAP_GPU(Event_t)
#define gpuEventCreateWithFlags OVERLAP_GPU(EventCreateWithFlags)
#define gpuEventDisableTiming OVERLAP_GPU(EventDisableTiming)
#define gpuEventDefault OVERLAP_GPU(EventDefault)
#define gpuEventRecord OVERLAP_GPU(EventRecord)
#define gpuEventSynchronize OVERLAP_GPU(EventSynchronize)
#define gpuEventDestroy OVERLAP_GPU(EventDestroy)
#define gpuEventElapsedTime OVERLAP_GPU(EventElapsedTime)
#define gpuRuntimeGetVersion OVERLAP_GPU(RuntimeGetVersion)
#define gpuDriverGetVersion OVERLAP_GPU(DriverGetVersion)

namespace overlap::gpu {

// Names the op that calls are made for, in error messages; restores the name before it.
class ForOp {
 public:
  explicit ForOp(std::string name);
  ~ForOp();
  ForOp(const ForOp&) = delete;
  ForOp& operator=(const ForOp&) = delete;

 private:
  std::string before_;
};

// Throws InputError: the call, the op, what the runtime says and what to do about it.
[[noreturn]] void fail(const std::string& call, const std::string& reason, const std::string& remedy);
void check(gpuError_t status, const char* call);

}  // namespace overlap::gpu
