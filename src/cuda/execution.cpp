#include "cuda/execution.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/collective_pieces.hpp"
#include "overlap/error.hpp"

namespace overlap::cuda {
namespace {

class Chooser {
 public:
  Chooser(const OpGraph& graph, const DeviceMap& map, const PlanOptions& options,
          const std::vector<EpilogueStore>& stores, std::vector<std::string>& notes)
      : graph_(graph), options_(options), stores_(stores), shared_(map.shared()), notes_(notes) {}

  Execution choose(const Op& op) {
    if (const auto* g = std::get_if<Gemm>(&op.work)) return gemm(op, *g);
    if (const auto* t = std::get_if<Transfer>(&op.work)) return transfer(op, *t);
    if (const auto* c = std::get_if<Collective>(&op.work)) return collective(op, *c);
    const auto& e = std::get<Elementwise>(op.work);
    const bool codes = e.kind == ElementwiseKind::compress || e.kind == ElementwiseKind::decompress;
    if (codes && e.codec != Codec::window) refuse(op, "kernels of the entropy code (it has those of the window code)");
    return Execution::kernel;
  }

 private:
  void note(std::string text) {
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
  }
  [[noreturn]] void refuse(const Op& op, std::string_view what) const {
    throw InputError(
        "", fmt::format("op '{}': the GPU backend has no {}; choose a schedule without", graph_.text(op.label), what));
  }

  [[nodiscard]] bool stores_itself(const Op& op) const {
    const OpId id(static_cast<std::size_t>(&op - graph_.ops().data()));
    return std::any_of(stores_.begin(), stores_.end(),
                       [&](const EpilogueStore& s) { return s.gemm == id || s.transfer == id; });
  }

  Execution gemm(const Op& op, const Gemm& g) {
    if (stores_itself(op)) return Execution::fused_gemm;
    const auto parts = graph_.parts_of(g);
    const bool plain = parts.size() == 1 && parts[0].waits.empty();
    if (g.dtype != DType::bf16 && g.dtype != DType::f16 && g.dtype != DType::f32) refuse(op, "Gemm of this type");
    if (plain) return Execution::library_gemm;
    if (options_.fused_kernel && g.dtype == DType::bf16 && one_product(g)) return Execution::fused_gemm;
    note(fmt::format("Gemms with parts run as one library call a part, which {}",
                     options_.stream_memory ? "wait and signal by stream memory operations" : "events order"));
    return Execution::chunked_gemm;
  }

  // The tile kernel multiplies with one run of B a part, all of bf16.
  [[nodiscard]] bool one_product(const Gemm& g) const {
    for (const Part& p : graph_.parts_of(g)) {
      const auto b = graph_.slices(p.b);
      for (std::size_t i = 1; i < b.size(); ++i) {
        const bool joins = b[i].buffer == b[i - 1].buffer && b[i].col == b[i - 1].col && b[i].cols == b[i - 1].cols &&
                           b[i].row == b[i - 1].row + b[i - 1].rows;
        if (!joins) return false;
      }
      for (const Range r : {p.a, p.b, p.c}) {
        for (const Slice& s : graph_.slices(r)) {
          if (graph_.buffer(s.buffer).dtype != DType::bf16) return false;
        }
      }
    }
    return true;
  }

  Execution transfer(const Op& op, const Transfer& t) {
    if (t.codec != Codec::none) refuse(op, "coded transfers");
    if (t.mover == Mover::sm) return Execution::sm_copy;
    if (t.mover == Mover::remote_store && stores_itself(op)) {
      note("remote stores leave out of the tile kernel's epilogue");
      return Execution::epilogue_store;
    }
    if (t.mover == Mover::remote_store) {
      note("remote stores run as a copy kernel behind the tiles that they follow");
      return Execution::sm_copy;
    }
    if (t.accumulate || t.fan == Fan::reduce) {
      note("transfers that add run as kernels: copy engines do not add");
      return Execution::sm_copy;
    }
    if (t.fan == Fan::multicast) note("multicast runs as one copy a destination");
    return Execution::copy_engine;
  }

  Execution collective(const Op& op, const Collective& c) {
    if (shared_) {
      note("collectives run as copies: several devices of the graph share a GPU");
      return Execution::copy_collective;
    }
    if (op.lanes.size() < 2) return Execution::copy_collective;
    const CollectivePieces pieces = collective_pieces(graph_, op, false);
    if (!pieces.native() && !pieces.point_to_point()) {
      note("collectives over rectangles with gaps run as copies");
      return Execution::copy_collective;
    }
    if (!pieces.native()) note("collectives over several runs of memory run as the library's sends and receives");
    if (c.algorithm == CollectiveAlgorithm::nvls)
      note("in-switch collectives run as the library's ring: multicast is off");
    return Execution::library_collective;
  }

  const OpGraph& graph_;
  const PlanOptions& options_;
  const std::vector<EpilogueStore>& stores_;
  bool shared_;
  std::vector<std::string>& notes_;
};

}  // namespace

std::vector<Execution> choose_execution(const OpGraph& graph, const DeviceMap& map, const PlanOptions& options,
                                        const std::vector<EpilogueStore>& stores, std::vector<std::string>& notes) {
  Chooser chooser(graph, map, options, stores, notes);
  std::vector<Execution> how;
  how.reserve(graph.ops().size());
  for (const Op& op : graph.ops()) how.push_back(chooser.choose(op));
  return how;
}

}  // namespace overlap::cuda
