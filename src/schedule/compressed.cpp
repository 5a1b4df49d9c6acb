// Compressed transfers: wraps every transfer between devices of another schedule in compress, move, decompress.
// Lossless: values come back bit by bit.
//
//   codec   window: ZipCCL (arXiv 2604.27844), 3-bit codes of the seven exponents that occur most.
//           entropy: UCCL-Zip (arXiv 2604.17172), entropy-coded exponents.
//   split   on: the half that is final after the first pass leaves while the exponents are coded (UCCL-Zip's
//   split-send).
//
// What one rank sends to several is coded once; what is passed on (ring) is coded anew at each hop, as fused library
// kernels do: this is why a compressed ring all-reduce loses where two-shot gains. Kernels take SMs and HBM bandwidth.
// Slices of coded bytes have the size that Gaussian data gives; short messages (< 64 KiB) get the worst case.
//
// Schedules whose fused GEMM waits inside the kernel are not offered: it holds every SM while the decompression that it
// waits for needs one, a deadlock that the engine reports. base=auto is interdecom, and with GEMM+AR collectives.
//
// No closed form: coded pieces have the sizes that Gaussian data gives, with headers, and codec kernels share SMs and
// memory with the GEMM; a test holds a serial base to the formulas of codec.hpp within 0.2 %.
//
// When it pays: link rate below (1 - r)/(1/compress + 1/decompress), codec.hpp: break_even().
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>

#include "overlap/codec.hpp"
#include "schedule/signalled.hpp"

namespace overlap::compressed {
namespace {

using namespace blocks;

const std::vector<Pattern> kPatterns = {Pattern::ag_gemm, Pattern::gemm_rs, Pattern::gemm_ar};

constexpr std::uint32_t kEncodeLane = 64;  // behind all lanes of the wrapped schedule
constexpr std::uint32_t kDecodeLane = 65;

const ScheduleInfo& base_of(const ScheduleContext& ctx) {
  const std::string& name = ctx.params.text("base");
  if (name != "auto") return find_schedule(name);
  return find_schedule(ctx.workload.pattern == Pattern::gemm_ar ? "collectives" : "interdecom");
}

Params base_params(const ScheduleInfo& base, const ScheduleContext& ctx) {
  std::vector<std::pair<std::string, ParamValue>> given;
  for (const ParamInfo& p : base.params) {
    if (p.name == "mover") given.emplace_back("mover", ctx.params.text("mover"));
    if (p.name == "path") given.emplace_back("path", ctx.params.text("path"));
    if (p.name == "ctas") given.emplace_back("ctas", ctx.params.integer("ctas"));
    if (p.name == "algorithm") {
      given.emplace_back("algorithm", std::string(ctx.params.text("path") == "ring" ? "ring" : "two_shot"));
    }
  }
  return complete_params(base, given);
}

std::optional<Refusal> refuses(const ScheduleContext& ctx) {
  if (auto r = refuse_common(ctx, kPatterns)) return r;
  const ScheduleInfo& base = base_of(ctx);
  const Params params = base_params(base, ctx);
  if (ctx.workload.wire != DType::bf16) {
    return Refusal{RefusalKind::capability,
                   fmt::format("codes are for bf16 on the wire, not {}", to_text(ctx.workload.wire))};
  }
  return base.refuses({ctx.workload, ctx.topology, ctx.devices, params});
}

class Wrapper {
 public:
  Wrapper(GraphBuilder& b, const ScheduleContext& ctx)
      : b_(b),
        codec_(ctx.params.text("codec") == "window" ? Codec::window : Codec::entropy),
        split_(ctx.params.text("split") == "on"),
        cost_(codec_cost(codec_)) {}

  OpId operator()(LaneId lane, const Transfer& work, std::span<const Slice> reads, std::span<const Slice> writes,
                  const OpArgs& args) {
    const DeviceId from = device(reads[0]);
    const DeviceId to = device(writes[0]);
    const bool codable = work.fan == Fan::copy && !work.accumulate && from != to &&
                         b_.graph().buffer(reads[0].buffer).dtype == DType::bf16 &&
                         b_.graph().buffer(writes[0].buffer).dtype == DType::bf16;
    if (!codable) return b_.transfer(lane, work, reads, writes, args);
    const Coded& source = encode(reads, from, args);
    const Coded there = staging(to, elements(reads));
    const OpId early = move(lane, work, source.early, there.early, source.early_ready, args.label);
    OpId last = early;
    std::vector<Dep> arrived{{early, {}}};
    if (there.late.rows > 0) {
      last = move(lane, work, source.late, there.late, source.late_ready, args.label);
      arrived.push_back({last, {}});
    }
    std::vector<Slice> coded{there.early};
    if (there.late.rows > 0) coded.push_back(there.late);
    return b_.elementwise(b_.lane(to, kDecodeLane, "decode"), kernel(ElementwiseKind::decompress), coded, writes,
                          {.deps = arrived, .label = b_.label("decompress")});
  }

 private:
  struct Coded {
    Slice early;
    Slice late;  // no rows: all is in `early`
    Dep early_ready;
    Dep late_ready;
  };
  [[nodiscard]] DeviceId device(const Slice& s) const { return b_.graph().buffer(s.buffer).device; }
  static std::uint64_t elements(std::span<const Slice> stack) {
    std::uint64_t n = 0;
    for (const Slice& s : stack) n += s.elements();
    return n;
  }
  [[nodiscard]] Elementwise kernel(ElementwiseKind kind) const {
    Elementwise e;
    e.kind = kind;
    e.codec = codec_;
    e.ctas = cost_.ctas;
    return e;
  }
  // u8 slices for the coded bytes of n values, each with four bytes for its length.
  Coded staging(DeviceId d, std::uint64_t n) {
    constexpr std::uint64_t kShort = 32768;  // values
    const auto share = [n](double per_value) {
      return static_cast<std::uint64_t>(std::ceil(per_value * static_cast<double>(n)));
    };
    const std::uint64_t worst = 2048 + n + n / 2;  // beside the raw half
    const std::uint64_t late = n < kShort ? worst : share(2.0 * (cost_.ratio - cost_.early));
    Coded c;
    const bool two = split_;
    c.early = bytes(d, (two ? n : n + late + 4) + 4);
    if (two) c.late = bytes(d, late + 4);
    return c;
  }
  Slice bytes(DeviceId d, std::uint64_t n) {
    constexpr std::uint32_t kWidth = 4;
    return b_.all(b_.buffer(d, static_cast<std::uint32_t>((n + kWidth - 1) / kWidth), kWidth, DType::u8,
                            BufferRole::scratch, "coded bytes"));
  }
  OpId move(LaneId lane, const Transfer& work, const Slice& from, const Slice& to, const Dep& ready, Label label) {
    return b_.transfer(lane, work, std::array{from}, std::array{to}, {.deps = std::array{ready}, .label = label});
  }
  // Coded once for the same slices.
  const Coded& encode(std::span<const Slice> reads, DeviceId d, const OpArgs& args) {
    std::vector<std::uint32_t> key;
    for (const Slice& s : reads) key.insert(key.end(), {s.buffer.v, s.row, s.rows, s.col, s.cols});
    const auto it = coded_.find(key);
    if (it != coded_.end()) return it->second;
    Coded c = staging(d, elements(reads));
    const LaneId lane = b_.lane(d, kEncodeLane, "encode");
    if (c.late.rows == 0) {
      const OpId op = b_.elementwise(lane, kernel(ElementwiseKind::compress), reads, std::array{c.early},
                                     {.deps = args.deps, .label = b_.label("compress")});
      c.early_ready = {op, {}};
    } else {
      // First pass: the raw half is final, the exponents are set aside; second pass: the exponents' code.
      const Slice aside = bytes(d, std::uint64_t{c.late.rows} * c.late.cols);
      const OpId first = b_.elementwise(lane, kernel(ElementwiseKind::compress), reads, std::array{c.early, aside},
                                        {.deps = args.deps, .label = b_.label("split")});
      const OpId second = b_.elementwise(lane, kernel(ElementwiseKind::copy), std::array{aside}, std::array{c.late},
                                         {.deps = {}, .label = b_.label("code exponents")});
      c.early_ready = {first, {}};
      c.late_ready = {second, {}};
    }
    return coded_.emplace(std::move(key), c).first->second;
  }

  GraphBuilder& b_;
  Codec codec_;
  bool split_;
  const CodecCost& cost_;
  std::map<std::vector<std::uint32_t>, Coded> coded_;
};

std::vector<Tensor> build(GraphBuilder& b, const ScheduleContext& ctx, const LayerInputs& in) {
  const ScheduleInfo& base = base_of(ctx);
  const Params params = base_params(base, ctx);
  auto wrapper = std::make_shared<Wrapper>(b, ctx);
  b.on_transfer([wrapper](LaneId lane, const Transfer& work, std::span<const Slice> reads,
                          std::span<const Slice> writes,
                          const OpArgs& args) { return (*wrapper)(lane, work, reads, writes, args); });
  std::vector<Tensor> out = base.build(b, {ctx.workload, ctx.topology, ctx.devices, params}, in);
  b.on_transfer(nullptr);
  return out;
}

}  // namespace
}  // namespace overlap::compressed

namespace overlap {

ScheduleInfo compressed_schedule() {
  ParamInfo base = blocks::choice_param("base", "schedule whose transfers are wrapped", "auto",
                                        {"auto", "serial", "interdecom", "commfuse", "collectives"});
  return {.name = "compressed",
          .summary = "another schedule with lossless compression around every transfer",
          .source = "ZipCCL (arXiv 2604.27844); UCCL-Zip (arXiv 2604.17172)",
          .patterns = compressed::kPatterns,
          .params = {base, blocks::choice_param("codec", "which code", "window", {"window", "entropy"}),
                     blocks::choice_param("split", "send the raw half while exponents are coded", "off", {"off", "on"}),
                     blocks::mover_param(false, "dma"), blocks::path_param(), blocks::ctas_param()},
          .refuses = compressed::refuses,
          .build = compressed::build,
          .closed_form = nullptr};
}

}  // namespace overlap
