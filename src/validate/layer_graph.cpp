// Records that name a schedule of this project: its own builder makes the graph.
#include "overlap/error.hpp"
#include "validate/replay_graph.hpp"

namespace overlap::validation {

OpGraph layer_graph(const Record& r, const Topology& topology, std::span<const Device> devices) {
  const bool gathers = r.kind != "gemm_rs";
  Workload w;
  w.name = r.contest();
  w.pattern = gathers ? Pattern::ag_gemm : Pattern::gemm_rs;
  w.tp = r.gpus;
  w.tokens = r.shape.m;
  w.in = gathers ? r.shape.k : r.shape.k * r.gpus;
  w.out = gathers ? r.shape.n * r.gpus : r.shape.n;
  try {
    const ScheduleInfo& info = find_schedule(r.graph);
    const Params params = complete_params(info, r.params);
    return build_layer(info, {w, topology, devices, params});
  } catch (const InputError& e) {
    throw InputError(r.where, e.problem());
  } catch (const CheckError& e) {
    throw InputError(r.where, e.what());
  }
}

}  // namespace overlap::validation
