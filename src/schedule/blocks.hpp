// Building blocks that schedules share: lanes, stacks of slices, gathering shards and reducing partial sums by copies.
// A schedule file picks blocks and says in which order the GEMM pieces run beside them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "overlap/schedule.hpp"

namespace overlap::blocks {

// ---- lanes -------------------------------------------------------------------------------------------------------
// Lane 0 of a device computes; lanes 1, 3, ... communicate (one a ring direction, or one a peer in flight); lanes
// 2, 4, ... add what arrived.
LaneId compute_lane(GraphBuilder& b, DeviceId device);
LaneId comm_lane(GraphBuilder& b, DeviceId device, std::uint32_t index = 0);
LaneId reduce_lane(GraphBuilder& b, DeviceId device, std::uint32_t index = 0);

// ---- stacks ------------------------------------------------------------------------------------------------------
// Appends `s` to the stack; joins it with the last slice where it continues that one. Empty slices are left out.
void push(std::vector<Slice>& stack, const Slice& s);
// Appends rows [row, row + rows) of a stack of slices.
void push_rows(std::vector<Slice>& stack, std::span<const Slice> from, std::uint32_t row, std::uint32_t rows);
[[nodiscard]] std::uint32_t rows_of(std::span<const Slice> stack);
// Columns [col, col + cols) of a slice.
[[nodiscard]] Slice columns(Slice s, std::uint32_t col, std::uint32_t cols);

// ---- outputs -----------------------------------------------------------------------------------------------------
// Y buffers as AG+GEMM (all rows, own columns) and GEMM+RS (own rows, all columns) divide them; no ready ops yet.
std::vector<Tensor> outputs(GraphBuilder& b, const Workload& w);

// ---- parameters --------------------------------------------------------------------------------------------------
// Integer and choice parameters in one line. The choices of choice_param are all searched.
ParamInfo integer_param(std::string_view name, std::string_view unit, std::string_view summary, std::int64_t fallback,
                        std::int64_t min, std::int64_t max, std::initializer_list<std::int64_t> search);
ParamInfo choice_param(std::string_view name, std::string_view summary, std::string_view fallback,
                       std::initializer_list<const char*> choices);
ParamInfo mover_param(bool library, std::string_view fallback);  // "mover": dma, sm, and library where it may
ParamInfo path_param();                                          // "path": direct, ring
ParamInfo ctas_param();                                          // "ctas": thread blocks of SM-driven movers
ParamInfo channels_param();                                      // "channels": SMs a member of a library collective
ParamInfo spare_sms_param();                                     // "spare_sms": SMs that GEMMs leave free
ParamInfo reduce_sms_param();                                    // "reduce_sms": SMs of adds beside a fused GEMM

enum class Path : std::uint8_t { library, ring, direct };

// How the data moves in one schedule instance.
struct Comm {
  std::uint32_t ranks = 0;
  Path path = Path::direct;
  Transfer transfer;                    // mover and CTAs of one lane
  std::uint16_t channels = 0;           // of a library collective
  std::uint32_t first_lane = 0;         // index of the first communication lane
  std::uint32_t lanes = 1;              // communication lanes a device in use (direct: round robin over shifts)
  bool reversed = false;                // ring: the other way round
  std::vector<DeviceId> ring;           // devices in ring order
  std::vector<std::uint32_t> position;  // by rank: place in the ring
  // Rank that is `steps` further along the ring, in the direction of travel.
  [[nodiscard]] DeviceId next(DeviceId d, std::uint32_t steps = 1) const {
    const std::uint32_t forward = reversed ? ranks - steps % ranks : steps;
    return ring[(position[d.index()] + forward) % ranks];
  }
  [[nodiscard]] DeviceId previous(DeviceId d, std::uint32_t steps = 1) const { return next(d, ranks - steps % ranks); }
};
// An integer parameter that counts something.
std::uint32_t count(const ScheduleContext& ctx, std::string_view name);
// From the parameters "mover", "path", "ctas" and "channels" (those that the schedule has); `lanes` communication
// lanes a device share the CTAs, at least one each.
Comm comm_of(const ScheduleContext& ctx, std::uint32_t lanes);
// A plain GEMM of the workload's types on a device.
Gemm gemm_work(const ScheduleContext& ctx, GemmShape shape, DeviceId device, bool accumulate = false);
// SMs that a GEMM may use beside SM-driven lanes; 0 = all.
std::uint32_t gemm_sms(const ScheduleContext& ctx, const Comm& comm, DeviceId device);
// From the parameter "spare_sms"; 0 = all.
std::uint32_t unspared_sms(const ScheduleContext& ctx, DeviceId device);
// From the parameter "reduce_sms": SMs that kernels which add run on while a fused GEMM is resident; 0 = none are kept
// for them (so they queue behind the GEMM's tiles).
std::uint32_t reduce_sms(const ScheduleContext& ctx, DeviceId device);
// `sms` (0 = all) less those of reduce_sms().
std::uint32_t without_reduce_sms(const ScheduleContext& ctx, DeviceId device, std::uint32_t sms);

// ---- refusals ----------------------------------------------------------------------------------------------------
// Degree (more ranks than devices), pattern, and what the mover needs (peer access, copy engines, SMs).
std::optional<Refusal> refuse_common(const ScheduleContext& ctx, std::span<const Pattern> patterns);

// ---- collectives out of transfers ------------------------------------------------------------------------------
// Arrival of the piece of each owner at each holder.
class Arrivals {
 public:
  explicit Arrivals(std::uint32_t ranks) : ranks_(ranks), deps_(std::size_t{ranks} * ranks) {}
  Dep& at(DeviceId holder, DeviceId owner) { return deps_[holder.index() * ranks_ + owner.index()]; }
  [[nodiscard]] const Dep& at(DeviceId holder, DeviceId owner) const {
    return deps_[holder.index() * ranks_ + owner.index()];
  }

 private:
  std::uint32_t ranks_;
  std::vector<Dep> deps_;
};

// One piece of every rank's tensor: source slices by rank and what they wait for, and for every holder the place of
// the gathered stack (rows of owner 0 first).
struct GatherPlan {
  std::vector<std::vector<Slice>> from;  // by owner
  std::vector<std::vector<Dep>> ready;   // by owner
  std::vector<Slice> to;                 // by holder: the stack of all pieces
  bool remote_only = false;              // `to` has no room for the holder's own piece (not for a library collective)
  Label label;                           // "{}" = owner, holder
  std::vector<std::uint32_t> first_row;  // by owner, of its piece in the whole stack; filled in by all_gather()
};
// Gathers with the path of `comm`. Transfers leave a holder's own piece where it is (its rows of `to` stay unwritten);
// a library collective writes it too. Invalid arrivals: own or empty pieces.
void all_gather(GraphBuilder& b, const Comm& comm, GatherPlan& plan, Arrivals& arrivals);
// Place of an owner's piece in a holder's `to`, after all_gather.
Slice gathered_piece(const GatherPlan& plan, DeviceId holder, DeviceId owner);
// Stack that a GEMM on `holder` reads after all_gather: the own piece from its source unless a library wrote it.
void gathered_stack(const Comm& comm, const GatherPlan& plan, DeviceId holder, std::vector<Slice>& stack);

// Partial sums by rank: rank r holds `partial[r]`, the stack of the pieces of all owners; the sum of piece o over all
// ranks goes to `to[o]`.
struct ReducePlan {
  std::vector<Slice> partial;           // by rank
  std::vector<std::vector<Dep>> ready;  // by rank * ranks + owner: the partial piece is complete
  std::vector<Slice> to;                // by owner; its rows are the rows of the piece
  Label label;
  std::vector<std::uint16_t> add_ctas{};  // by rank: SMs of an add; empty = the cost model's choice
};
// Reduces with the path of `comm`: a library collective; direct copies into slots of the owner and one add; or a ring
// that adds and forwards. `done` gets the op that completes each owner's piece (invalid where it is empty).
void reduce_scatter(GraphBuilder& b, const Comm& comm, const ReducePlan& plan, DType wire, std::vector<OpId>& done);

}  // namespace overlap::blocks
