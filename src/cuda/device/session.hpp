// The GPUs of this host as one session: peers, stream and workspace pools, library handles, communicators, the gate.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "cuda/device/gemm_library.hpp"
#include "cuda/device/libraries.hpp"
#include "overlap/cuda.hpp"

namespace overlap::gpu {

// Device memory that is freed with its owner.
class Memory {
 public:
  Memory() = default;
  Memory(std::uint32_t gpu, std::uint64_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  [[nodiscard]] char* get() const { return static_cast<char*>(data_); }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint32_t gpu_ = 0;
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

class Session : public GpuSession {
 public:
  explicit Session(const GpuOptions& options);
  ~Session() override;
  [[nodiscard]] const GpuHost& host() const override { return host_; }
  [[nodiscard]] std::vector<GpuState> state() override;
  [[nodiscard]] std::uint64_t free_bytes() override;
  std::unique_ptr<GpuProgram> load(const OpGraph& graph, const LaunchPlan& plan) override;
  void configure(const GpuOptions& options) override { options_ = options; }

  [[nodiscard]] const GpuOptions& options() const { return options_; }
  [[nodiscard]] std::uint32_t gpus() const { return static_cast<std::uint32_t>(host_.gpus.size()); }
  [[nodiscard]] int sms(std::uint32_t gpu) const { return static_cast<int>(host_.gpus[gpu].sms); }
  // The ordinal-th stream of this priority on a GPU: programs share streams, so that there are never more than one
  // program needs and lanes do not meet in one hardware queue.
  gpuStream_t stream(std::uint32_t gpu, std::int32_t lane_priority, std::uint32_t ordinal);
  // Workspace and handle of the ordinal-th stream of a GPU.
  Workspace workspace(std::uint32_t gpu, std::uint32_t ordinal);
  cublasLtHandle_t blas(std::uint32_t gpu);
  // One communicator a member, in member order.
  const std::vector<ncclComm_t>& communicator(const std::vector<std::uint32_t>& gpus, std::uint32_t channels);
  void wait_for_all() const;
  // 0, 1, 2, ... kNumbers - 1 in the memory of a GPU.
  const std::uint32_t* numbers(std::uint32_t gpu);
  static constexpr std::uint32_t kNumbers = 1U << 16U;
  // Writes more than the L2 of every GPU holds, and waits for it.
  void flush_caches();
  [[nodiscard]] const std::uint32_t* gate_flag() const { return gate_; }
  std::uint32_t next_gate() { return ++gate_count_; }
  void open_gate(std::uint32_t value);
  // Clock differences of GPU g against GPU 0 at release, collected over runs.
  std::vector<std::vector<double>> clock_offsets;

 private:
  void open_gpu(std::uint32_t gpu);
  void connect_peers();

  GpuOptions options_;
  GpuHost host_;
  std::map<std::tuple<std::uint32_t, std::int32_t, std::uint32_t>, gpuStream_t> streams_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Memory> workspaces_;
  std::vector<cublasLtHandle_t> blas_;
  std::map<std::pair<std::vector<std::uint32_t>, std::uint32_t>, std::vector<ncclComm_t>> communicators_;
  std::vector<Memory> flush_;
  std::map<std::uint32_t, Memory> numbers_;
  std::uint32_t* gate_ = nullptr;
  std::uint32_t gate_count_ = 0;
};

}  // namespace overlap::gpu
