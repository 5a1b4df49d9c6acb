// The GPU backend: runs an OpGraph on real GPUs of one host and returns a Timeline. Its planning half (this part of the
// header and src/cuda/*.cpp) is plain C++ and runs anywhere; the device half (src/cuda/device) is built where a CUDA
// toolkit is found and is reached through open_gpus().
//
// Lanes become streams with priority. A dependency inside a lane costs nothing; across lanes it becomes an event, or a
// flag in device memory where one side is a tile group of a running kernel: the kernel spins on flags and raises them,
// streams wait for them and raise them with stream memory operations.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "overlap/op_graph.hpp"
#include "overlap/timeline.hpp"

namespace overlap {

// Which GPU runs which device of the graph. Several devices may share one GPU: then library collectives run as copies
// and a fused kernel gets its share of the SMs.
struct DeviceMap {
  std::vector<std::uint32_t> gpu_of;  // by DeviceId
  [[nodiscard]] std::uint32_t gpus() const;
  [[nodiscard]] std::uint32_t devices_on(std::uint32_t gpu) const;
  [[nodiscard]] bool shared() const;  // some GPU runs more than one device
  // Devices dealt out in blocks: with 8 devices on 2 GPUs, 0..3 and 4..7.
  static DeviceMap spread(std::uint32_t devices, std::uint32_t gpus);
};

struct PlanOptions {
  std::uint32_t sms = 132;             // of each GPU
  std::uint32_t max_connections = 32;  // CUDA_DEVICE_MAX_CONNECTIONS; one goes to the release gate
  std::uint32_t channels = 24;         // SMs that a member of a library collective holds by default
  bool fused_kernel = true;            // false: a Gemm with parts runs as one launch a part
  bool stream_memory = true;     // such launches wait and signal by flags and stream memory operations, else by events
  bool epilogue_stores = false;  // remote stores leave out of the tile kernel's epilogue, else a copy kernel follows it
};

// How an op is carried out.
enum class Execution : std::uint8_t {
  library_gemm,        // one cuBLASLt call (more where slices do not lie in one piece)
  fused_gemm,          // one persistent tile kernel of our own that waits for flags and raises them
  chunked_gemm,        // one library call a part
  copy_engine,         // asynchronous copies, 1D where contiguous, else 2D
  sm_copy,             // copy kernel
  epilogue_store,      // nothing of its own: the tile kernel before it stores to where it leads
  library_collective,  // NCCL
  copy_collective,     // rendezvous by events, then copies and adds
  kernel,              // elementwise kernel
};
[[nodiscard]] std::string_view to_text(Execution e);

// What a stream or a tile group waits for. `index` counts events, or flags (every GPU has an array of all flags).
struct Signal {
  enum class Kind : std::uint8_t { event, flag };
  Kind kind = Kind::event;
  std::uint32_t index = 0;
  friend bool operator==(Signal, Signal) = default;
};

inline constexpr std::uint32_t kNoSignal = 0xffffffffU;

// Completion of something: an event and a flag, each only where somebody waits for it. `flag_gpus`: bit g = GPU g.
struct Completion {
  std::uint32_t event = kNoSignal;
  std::uint32_t flag = kNoSignal;
  std::uint32_t flag_gpus = 0;
};

struct PlannedStream {
  LaneId lane;
  std::uint32_t gpu = 0;
  std::int32_t priority = 0;  // of the lane: larger goes first
};

struct PlannedMember {
  LaneId lane;                // = index of the stream
  std::vector<Signal> waits;  // of the stream before the op, without those that are already implied
  Completion done;
};

struct PlannedOp {
  OpId op;
  Execution how = Execution::kernel;
  std::uint32_t sms = 0;  // SMs that a Gemm kernel may use; 0 = all
  std::vector<PlannedMember> members;
};

struct PlannedPart {
  std::vector<Signal> waits;
  Completion done;
};

struct Allocation {
  std::uint32_t gpu = 0;
  std::uint64_t offset = 0;  // into the arena of the GPU, 256-byte aligned
  std::uint64_t bytes = 0;
};

// The tile kernel of `part` stores to `to` instead of the part's own C.
struct EpilogueStore {
  OpId gemm;
  OpId transfer;
  PartId part;
  Slice to;
};

struct LaunchPlan {
  DeviceMap map;
  std::vector<PlannedStream> streams;  // by LaneId
  std::vector<Allocation> buffers;     // by BufferId
  std::vector<std::uint64_t> arenas;   // bytes, by GPU
  std::vector<PlannedOp> order;        // launch order, the same for all GPUs
  std::vector<PlannedPart> parts;      // by PartId; empty signals for plain Gemms
  std::vector<EpilogueStore> stores;
  std::uint32_t events = 0;
  std::uint32_t flags = 0;
  bool stream_memory = true;       // of the options
  std::vector<std::string> notes;  // what runs otherwise than the graph says, one sentence each
};

// Throws InputError: more lanes on a GPU than connections, or a map that does not fit the graph. Throws CheckError:
// no launch order exists, or a tile group spins for an op that needs SMs which the spinning kernels may hold (both
// named). The graph must be valid (graph_check.hpp).
LaunchPlan plan_launch(const OpGraph& graph, const DeviceMap& map, const PlanOptions& options);

// The graph as the plan runs it: a Gemm of one library call a part as that many Gemms in its lane, remote stores that a
// copy kernel does as SM-driven copies, a reduce-scatter by sums as an add on each member. Buffers and lanes are the
// same. What a measured run is compared with.
[[nodiscard]] OpGraph as_launched(const OpGraph& graph, const LaunchPlan& plan);

// --- the device half ---------------------------------------------------------------------------------------------

struct GpuOptions {
  std::uint32_t gpus = 0;            // GPUs that are needed
  std::uint32_t channels = 0;        // channels of library collectives; 0 = the library's choice
  bool collective_priority = false;  // collectives of equal lanes go to high-priority streams
  std::uint32_t gemm_sms = 0;        // SMs that a library Gemm may use; 0 = all
  std::uint64_t seed = 1;            // of the inputs
};

struct GpuInfo {
  std::string name;
  std::uint32_t sms = 0;
  std::uint64_t free_bytes = 0;
  bool wgmma = false;  // the fused kernel runs on wgmma and TMA, else on mma.sync
};

struct GpuHost {
  std::vector<GpuInfo> gpus;
  std::string software;  // versions of CUDA, driver, cuBLASLt and NCCL
  std::uint32_t default_channels = 0;
};

// Clock and power of each GPU at one moment; zeros where the driver does not say.
struct GpuState {
  double sm_mhz = 0;
  double watts = 0;
  double celsius = 0;
};

// What the library chose for one Gemm (of the first device that runs it), as text and numbers.
struct GemmChoice {
  OpId op;
  std::uint32_t m = 0, n = 0, k = 0;
  std::string kernel;  // "cublasLt algo 66 tile 128x256 stages 64x4 cluster 2x1 splitk 1", "tile kernel wgmma 128x256"
  std::uint32_t launches = 1;
};

// When a fused Gemm's tiles were stored, since release. In the kernel's order: part by part, in each part bands of
// eight rows of tiles, column by column inside a band; fixed-order kernels hand them out in this order.
struct TileTimes {
  OpId op;
  std::uint32_t ctas = 0;
  std::uint32_t tile_rows = 0, tile_cols = 0;  // elements
  std::vector<Seconds> ends;
};

struct GpuSpans {
  Timeline timeline;    // on one clock: that of the release mark
  Seconds clock_error;  // of one GPU's spans against another's
  std::vector<TileTimes> tiles;
};

// Runs back to back.
struct GpuLoad {
  std::vector<Seconds> ends;   // of each run, since the first one's begin, on GPU 0's clock
  std::vector<Seconds> times;  // of each run, from its begin to all streams joined
  double host_waits = 0;       // share of the time that the host waited for the GPUs; near 0 = launches limit the rate
};

// A graph loaded on the GPUs: buffers, streams, events, algorithms. Inputs are random, all else is poisoned.
class GpuProgram {
 public:
  virtual ~GpuProgram() = default;
  virtual void fill(std::uint64_t seed) = 0;
  // Everything once without the gate, so that modules, connections and workspaces exist.
  virtual void warm() = 0;
  // One run: all streams released together; time on GPU 0 from release to all streams joined.
  // Before it, caches are flushed and the GPUs stay idle for `idle`.
  virtual Seconds run(Seconds idle) = 0;
  // One further run with timing events around every op.
  virtual GpuSpans spans(Seconds idle) = 0;
  // Runs one behind the other for `duration`, launched ahead so that the GPUs never idle: the state of a GPU under
  // load. Caches are as the run before left them.
  virtual GpuLoad repeat(Seconds duration) = 0;
  // Relative error norm of the outputs of the last run against float64, on every element where the problem is small,
  // else on a sample. NaN counts as infinite.
  virtual double error() = 0;
  [[nodiscard]] virtual std::vector<GemmChoice> gemms() const = 0;
  [[nodiscard]] virtual std::vector<std::string> notes() const = 0;
};

class GpuSession {
 public:
  virtual ~GpuSession() = default;
  [[nodiscard]] virtual const GpuHost& host() const = 0;
  [[nodiscard]] virtual std::vector<GpuState> state() = 0;
  [[nodiscard]] virtual std::uint64_t free_bytes() = 0;  // of the fullest GPU
  virtual std::unique_ptr<GpuProgram> load(const OpGraph& graph, const LaunchPlan& plan) = 0;
  // Changes the environment of programs loaded from now on.
  virtual void configure(const GpuOptions& options) = 0;
};

// Throws InputError: this build has no backend, no GPU, too few, no peer access, a library is missing.
std::unique_ptr<GpuSession> open_gpus(const GpuOptions& options);
[[nodiscard]] bool has_gpu_backend();

}  // namespace overlap
