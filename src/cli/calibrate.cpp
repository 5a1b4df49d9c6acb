// calibrate DATA... --device BASE [--topology BASE] [--device-out FILE] [--topology-out FILE]
#include "calibrate/calibrate.hpp"

#include "cli/commands.hpp"
#include "overlap/error.hpp"

namespace overlap::cli {

Action calibrate_command(Options& o) {
  auto r = std::make_shared<calibrate::Request>();
  auto format = std::make_shared<Format>(Format::text);
  o.arguments("DATA", r->data, "measured files, or folders of them; their formats are recognised");
  o.option("--device", r->device, "BASE", "device file to start from");
  o.option("--topology", r->topology, "BASE", "topology file to start from, when links were measured");
  o.option("--device-out", r->device_out, "FILE", "write the calibrated device");
  o.option("--topology-out", r->topology_out, "FILE", "write the calibrated topology");
  o.option("--report", r->report_out, "FILE", "also write the whole report as JSON");
  o.option("--cross-validate", r->cross_validate, "K",
           "fit K times with a Kth of the weight shapes left out, and score those");
  o.flag("--learning-curve", r->learning_curve, "error on left-out GEMMs after a fit to 16, 32, 64 and 128 rows");
  o.format(*format);
  o.footer(
      "Formats: measured records (JSON Lines of `measure`), tables with m, n, k and us (or ms, TFLOP/s), tables of\n"
      "collectives (bytes, time_us), nccl-tests and rccl-tests output, nvbandwidth output (text or JSON), matrices of\n"
      "rates (D\\D,0,1,...), kernel tables; packed with gzip or not.\n"
      "Example: overlapsim calibrate gemm.csv --device h100 --device-out my-h100.json");
  return [r, format] {
    if (*format == Format::csv) throw InputError("--format", "calibrate prints text or json");
    r->json = *format == Format::json;
    return calibrate::run(*r);
  };
}

}  // namespace overlap::cli
