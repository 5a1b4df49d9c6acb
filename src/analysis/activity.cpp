#include "overlap/analysis.hpp"

namespace overlap {

Activity activity_of(const OpGraph& graph, const Op& op) {
  if (std::holds_alternative<Gemm>(op.work)) return Activity::compute;
  if (std::holds_alternative<Collective>(op.work)) return Activity::communication;
  const DeviceId here = graph.device_of(op);
  for (const Range r : {op.reads, op.writes}) {
    for (const Slice& s : graph.slices(r)) {
      if (graph.buffer(s.buffer).device != here) return Activity::communication;
    }
  }
  return Activity::local;
}

std::string_view to_text(BoundKind k) {
  switch (k) {
    case BoundKind::path:
      return "critical path";
    case BoundKind::flops:
      return "FLOPs over peak";
    case BoundKind::rate:
      return "bytes over rate";
    case BoundKind::cut:
      return "cut";
  }
  return "";
}

std::string_view to_text(StepKind k) {
  switch (k) {
    case StepKind::run:
      return "run";
    case StepKind::slots:
      return "waits for slots";
    case StepKind::launch:
      return "launch";
    case StepKind::join:
      return "join";
  }
  return "";
}

}  // namespace overlap
