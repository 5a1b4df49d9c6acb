// A schedule is a pure function from workload, topology, device and parameters to an OpGraph. It sees no time.
// One file a schedule in src/schedule, one line in src/schedule/table.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "overlap/device.hpp"
#include "overlap/graph_builder.hpp"
#include "overlap/topology.hpp"
#include "overlap/workload.hpp"

namespace overlap {

using ParamValue = std::variant<std::int64_t, double, std::string>;

struct ParamInfo {
  std::string_view name;
  std::string_view unit;  // "pieces", "CTAs", "" ...
  std::string_view summary;
  ParamValue fallback;   // the default
  std::int64_t min = 0;  // for integers
  std::int64_t max = 0;
  std::vector<std::string> choices{};  // for strings
  std::vector<ParamValue> search{};    // values that `run --best` tries; empty = the default alone
};

// Parameter values of one schedule instance, defaults filled in, in the order of its ParamInfos.
class Params {
 public:
  Params() = default;
  void set(std::string name, ParamValue value);
  [[nodiscard]] bool has(std::string_view name) const;
  // Value of a parameter that the schedule declares; CheckError otherwise.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] const std::vector<std::pair<std::string, ParamValue>>& all() const { return values_; }
  // "d=4 mover=dma"
  [[nodiscard]] std::string to_text() const;

 private:
  [[nodiscard]] const ParamValue& get(std::string_view name) const;
  std::vector<std::pair<std::string, ParamValue>> values_;
};

struct ScheduleContext {
  const Workload& workload;
  const Topology& topology;
  std::span<const Device> devices;  // by rank; workload.tp of them are used
  const Params& params;
};

// One device's piece of a global matrix: slices stacked by rows, complete when all of `ready` are.
struct Tensor {
  DeviceId device;
  std::vector<Slice> slices;
  std::vector<Dep> ready;
  std::uint32_t global_row = 0;
  std::uint32_t global_col = 0;
  std::uint32_t problem = 0;  // independent products of one layer (Placement::problem)
};
struct LayerInputs {
  std::vector<Tensor> x;     // by rank
  std::vector<Tensor> w;     // by rank
  std::vector<Tensor> side;  // by rank: shards of problem 1, which a bulk collective gathers; empty elsewhere
};

enum class RefusalKind : std::uint8_t { degree, capability, pattern };
struct Refusal {
  RefusalKind kind = RefusalKind::pattern;
  std::string reason;  // one sentence
};

// Lone times of pieces, for closed forms: from `ideal` formulas or from the simulator's own cost model.
struct PieceTimes {
  // GEMM of this shape alone on the device, without launch overhead of the stream.
  std::function<Seconds(GemmShape, bool accumulate)> gemm;
  // One transfer of these bytes from a to b alone on the machine.
  std::function<Seconds(DeviceId a, DeviceId b, Bytes)> transfer;
  // The whole collective of the workload, as its serial schedule runs it.
  std::function<Seconds(Bytes)> collective;
};

struct ClosedForm {
  Seconds makespan;
  std::string formula;  // "(d-1)/d max(Tc, Tm) + (Tc+Tm)/d"
  std::string assumes;  // what must hold for it to be exact
  bool exact = false;   // with `ideal` compute, no latency and no overhead it equals the simulation (1e-9)
};

struct ScheduleInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view source;  // paper, section
  std::vector<Pattern> patterns;
  std::vector<ParamInfo> params;
  // Why it cannot run here; nullopt = it can. May refuse for degree, missing capability or pattern only.
  std::optional<Refusal> (*refuses)(const ScheduleContext&);
  // Adds the ops; returns Y with its ready ops: one Tensor a rank, or more where a rank's rows are not adjacent.
  std::vector<Tensor> (*build)(GraphBuilder&, const ScheduleContext&, const LayerInputs&);
  // May be null. nullopt where the form does not apply.
  std::optional<ClosedForm> (*closed_form)(const ScheduleContext&, const PieceTimes&);
};

// All schedules, in the order of the table.
std::span<const ScheduleInfo> schedules();
// Throws InputError with the nearest name.
const ScheduleInfo& find_schedule(std::string_view name);
// Fills in defaults and checks names, ranges and choices; throws InputError with the nearest name.
Params complete_params(const ScheduleInfo& info, const std::vector<std::pair<std::string, ParamValue>>& given);

// The graph of one layer: makes inputs and weights as the pattern divides them, builds, records the outputs.
// Throws CheckError when the schedule refuses. `start_delay`, by rank: a straggler begins that much later.
// `host_launch`: what a launch takes the host thread of a device (GraphBuilder::host_launch()).
OpGraph build_layer(const ScheduleInfo& info, const ScheduleContext& context, std::span<const Seconds> start_delay = {},
                    Seconds host_launch = {});
// The inputs that build_layer makes.
LayerInputs layer_inputs(GraphBuilder& builder, const Workload& w);
// The same layer scaled down so that a reference run is cheap: each extent keeps its remainders and at least one row or
// column in each of `pieces` pieces of each rank. With as many pieces as the schedule cuts a rank's share into, the
// graph has the same structure (same_structure()).
Workload twin(const Workload& w, std::uint32_t pieces = 8);

}  // namespace overlap
