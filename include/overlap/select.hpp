// Who picks a schedule without simulating it: the published closed-form selectors and gates, each with its reason.
//
// A selector looks at a few numbers (times of the undivided GEMM and collective, a shape, a degree) and names one
// schedule. Its Choice keeps what it looked at, which branch it took and the comparison that decided, so that a study
// can show where it errs against the simulated best. Times are those of one rank's whole GEMM and whole collective.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "overlap/units.hpp"
#include "overlap/workload.hpp"

namespace overlap {

// The comparison that decided: "12.3 us < 15.0 us", with what each side is.
struct Decision {
  std::string left;   // what the left number is
  std::string right;  // what the right number is
  double left_value = 0.0;
  double right_value = 0.0;
  std::string unit;  // of both; "s", "flop", "rows", "" for a ratio
  // "<", "<=", ">" or ">=" : the relation that held.
  std::string relation;
};

struct Choice {
  std::string selector;
  std::string source;
  std::vector<std::pair<std::string, std::string>> inputs;  // name, value with unit
  std::string pick;                                         // "interdecom d=7", "hetero-unfused-1d", "windowed-einsum"
  std::string branch;                                       // name of the branch taken
  Decision decision;
  std::optional<std::uint32_t> degree;  // pieces, where the pick has a degree
  Seconds predicted{};                  // 0 where the selector predicts no time
  std::vector<std::string> notes;       // what its source leaves open, and what this program chose
};

[[nodiscard]] std::string to_text(const Choice& c);
[[nodiscard]] std::string to_json(const Choice& c);  // one object, stable key order
// CSV: a header line and one line a choice.
[[nodiscard]] std::string to_csv(std::span<const Choice> choices);

// ---- Compass, Algorithm 1 ------------------------------------------------------------------------------------------
// T_decomp(d) = (d-1)/d max(Tc, Tm) (alpha d + beta) + (Tc + Tm)/d
// T_fusion    = (n-1) max(Tc, Tm)/n + Tc/n + n t_sync + t_0
// The paper's forms are known from its prose; the fusion overhead's two constants are ours.
struct CompassCalibration {
  double alpha = 0.02;     // growth of the cost of a stage per piece
  double beta = 1.0;       // cost of a stage at no pieces
  Seconds fusion_sync{};   // per chunk
  Seconds fusion_fixed{};  // once
};

[[nodiscard]] Seconds compass_decomp(Seconds comp, Seconds comm, double degree, const CompassCalibration& c);
[[nodiscard]] Seconds compass_fusion(Seconds comp, Seconds comm, std::uint32_t chunks, const CompassCalibration& c);
// d* = sqrt((S/X - beta)/alpha), at least 1; X = max, S = sum. Throws InputError unless alpha > 0 and times > 0.
[[nodiscard]] double compass_degree(Seconds comp, Seconds comm, const CompassCalibration& c);
// Best of the whole numbers beside d*, or of `allowed` (ascending) where given; at most `limit`. Ties: fewer pieces.
[[nodiscard]] std::uint32_t compass_pick_degree(Seconds comp, Seconds comm, const CompassCalibration& c,
                                                std::uint32_t limit, std::span<const std::uint32_t> allowed = {});

struct CompassSample {
  Seconds comp{};
  Seconds comm{};
  std::uint32_t degree = 1;
  Seconds time{};
};
// Least squares of the relative error over samples with degree > 1: alpha and beta enter linearly.
// Throws InputError with fewer than two different degrees.
[[nodiscard]] CompassCalibration calibrate_compass(std::span<const CompassSample> samples);

struct CompassInputs {
  Seconds comp{};
  Seconds comm{};
  std::uint32_t devices = 1;                // n: chunks of the fusion
  std::uint32_t max_degree = 64;            // pieces a decomposition may have
  std::vector<std::uint32_t> allowed = {};  // degrees that are allowed; empty = all
  CompassCalibration calibration{};
};
[[nodiscard]] Choice select_compass(const CompassInputs& in);
// The control: no overhead anywhere, so more pieces always look better (FasterMoE's model as Compass compares it).
[[nodiscard]] Choice select_agnostic(const CompassInputs& in);

// ---- FiCCO's decision tree
// --------------------------------------------------------------------------------------------- Known: compare M with
// K; compare OTB x MT = 2MNK with the machine's; above 5x: hetero-unfused-1d. The order of the other branches is
// reconstructed, not published. The machine's OTB x MT is given as peak FLOP/s: the units differ by a second. Here the
// threshold is stated for what it is, a number of FLOPs: peak x `machine_time`.
struct FiccoThresholds {
  double rows_per_k = 1.0;        // M < rows_per_k x K: divide K (2D)
  Seconds machine_time{1e-3};     // the second that the published rule leaves out; 1 ms is ours
  double unfused_multiple = 5.0;  // above: hetero-unfused-1d
  double hetero_multiple = 1.0;   // above: hetero-fused-1d; else uniform-fused-1d
};
struct FiccoInputs {
  GemmShape shape{};  // of one rank, undivided: M rows of the gathered tensor
  FlopRate peak{};
  FiccoThresholds thresholds;
};
[[nodiscard]] Choice select_ficco(const FiccoInputs& in);

// ---- XLA's gate for windowed einsum
// -------------------------------------------------------------------------------------- Declines when comm > 10 ns and
// max(comp, comm mult) + extra >= comp + comm, extra = comm mult 2/N: the prologue's or epilogue's permute. `mult`: how
// many times more links the native collective uses than one ring.
struct XlaGateInputs {
  Seconds comp{};  // the whole local einsum
  Seconds comm{};  // the native collective
  double mult = 1.0;
  std::uint32_t devices = 1;    // N
  Bytes operand{};              // of the gathered operand (or the scattered output)
  Bytes threshold{268435456};   // smaller ones stay as they are (256 MiB, recalled); 0 = no threshold
  bool shared_operand = false;  // another user needs the gathered operand
};
[[nodiscard]] Choice select_xla_gate(const XlaGateInputs& in);
// Smallest comp/comm above which the gate enables; nullopt = never. mult (1 + 2/N) - 1 where N > 2 mult.
[[nodiscard]] std::optional<double> xla_gate_threshold(std::uint32_t devices, double mult);
// Two collectives of one einsum could be windowed: the one whose windowing saves more by the gate's own estimate;
// neither where both decline. Index 0 or 1. Ties: the first.
[[nodiscard]] std::pair<std::optional<std::size_t>, Choice> select_xla_candidate(const XlaGateInputs& first,
                                                                                 const XlaGateInputs& second);

// ---- FlashOverlap's predictor
// ------------------------------------------------------------------------------------------- `given_sms` are left to
// the collective: waves = ceil(tiles/(SMs - given)), the GEMM's time grows as its waves. The collective of group i
// starts at max(end of its waves, end of the one before). One group: GEMM, then the whole collective.
struct WaveGroupInputs {
  GemmShape shape;
  std::uint32_t tile_m = 128;
  std::uint32_t tile_n = 256;
  std::uint32_t sms = 0;
  std::uint32_t given_sms = 2;
  Seconds gemm{};                               // of the whole GEMM on all SMs
  std::vector<std::uint32_t> waves{};           // of each group; together all waves
  std::function<Seconds(double share)> comm{};  // of the collective of a share of the output
};
[[nodiscard]] std::uint32_t wave_tiles(const WaveGroupInputs& in);
[[nodiscard]] std::uint32_t wave_count(const WaveGroupInputs& in, std::uint32_t sms);
// Throws InputError when the groups do not add up to the waves.
[[nodiscard]] Seconds predict_wave_groups(const WaveGroupInputs& in);

}  // namespace overlap
