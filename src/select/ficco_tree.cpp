// FiCCO (arXiv 2512.10236): static heuristic over M, N, K and the machine. See select.hpp for what is published.
#include <fmt/format.h>

#include "overlap/error.hpp"
#include "overlap/select.hpp"

namespace overlap {

Choice select_ficco(const FiccoInputs& in) {
  const GemmShape& s = in.shape;
  if (s.m == 0 || s.n == 0 || s.k == 0) {
    throw InputError("", fmt::format("GEMM {} x {} x {} has an empty extent", s.m, s.n, s.k));
  }
  const FiccoThresholds& t = in.thresholds;
  const Flops machine = in.peak * t.machine_time;
  if (!(machine.si() > 0)) throw InputError("", "the machine's FLOP threshold must be positive");
  const double work = s.flops().si();
  Choice c;
  c.selector = "ficco-tree";
  c.source = "FiCCO, arXiv 2512.10236, heuristic";
  c.inputs = {{"M", std::to_string(s.m)},
              {"N", std::to_string(s.n)},
              {"K", std::to_string(s.k)},
              {"OTB x MT = 2MNK", to_text(s.flops())},
              {"peak", to_text(in.peak)},
              {"machine_time", to_text(t.machine_time)},
              {"peak x machine_time", to_text(machine)}};
  const double k_rows = t.rows_per_k * s.k;
  const double unfused = t.unfused_multiple * machine.si();
  const double hetero = t.hetero_multiple * machine.si();
  const auto against = [&](double multiple, double limit, const char* relation) {
    c.decision = {"OTB x MT", fmt::format("{:g} x machine", multiple), work, limit, "flop", relation};
  };
  if (static_cast<double>(s.m) < k_rows) {
    c.pick = "uniform-fused-2d";
    c.branch = "fewer rows than K: divide K, keep M whole";
    c.decision = {"M", fmt::format("{:g} x K", t.rows_per_k), static_cast<double>(s.m), k_rows, "rows", "<"};
  } else if (work > unfused) {
    c.pick = "hetero-unfused-1d";
    c.branch = "plenty of work: one GEMM a chunk";
    against(t.unfused_multiple, unfused, ">");
  } else if (work > hetero) {
    c.pick = "hetero-fused-1d";
    c.branch = "some work: own shard first, one GEMM a step";
    against(t.hetero_multiple, hetero, ">");
  } else {
    c.pick = "uniform-fused-1d";
    c.branch = "little work: few equal GEMMs";
    against(t.hetero_multiple, hetero, "<=");
  }
  c.notes = {
      "the published rule compares FLOPs (OTB x MT) with FLOP/s (the peak): read literally it means one second of the "
      "peak, which no layer reaches; machine_time states that second as a parameter (default 1 ms, ours)",
      "published: M against K, and above 5x the machine hetero-unfused-1d; the other branches are reconstructed"};
  return c;
}

}  // namespace overlap
