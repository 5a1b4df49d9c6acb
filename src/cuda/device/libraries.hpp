// cuBLASLt, NCCL, NVML and the driver's entry points, loaded when they are first needed: the program starts and runs
// everything else where they are missing.
#pragma once

#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>

#include <string>
#include <vector>

#include "overlap/cuda.hpp"

namespace overlap::gpu {

struct CublasLt {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulAlgoConfigGetAttribute) config_get = nullptr;
};

struct Nccl {
  decltype(&ncclGetVersion) version = nullptr;
  decltype(&ncclGetUniqueId) unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclReduce) reduce = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) recv = nullptr;
};

struct Driver {
  decltype(&cuStreamWaitValue32) wait_value = nullptr;
  decltype(&cuStreamWriteValue32) write_value = nullptr;
  decltype(&cuTensorMapEncodeTiled) encode_tiled = nullptr;
};

// Throw InputError naming the library and where it was sought.
const CublasLt& cublaslt();
const Nccl& nccl();
const Driver& driver();

void check(cublasStatus_t status, const char* call);
void check(ncclResult_t status, const char* call);
void check(CUresult status, const char* call);

// By GPU; zeros where NVML is not there.
std::vector<GpuState> read_state(std::uint32_t gpus);

}  // namespace overlap::gpu
