// validate BUDGET.json | --data PATH... --device D --topology T
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "validate/report.hpp"

namespace overlap::cli {

Action validate_command(Options& o) {
  auto r = std::make_shared<validation::Request>();
  auto format = std::make_shared<Format>(Format::text);
  o.argument("BUDGET", r->budget, "budget file: data, device, topology and thresholds", false);
  o.option("--data", r->data, "PATH", "JSON Lines of measured records, or a folder of them; without a budget file");
  o.option("--device", r->device, "FILE", "device to predict with");
  o.option("--topology", r->topology, "FILE", "topology to predict with");
  o.option("--seeds", r->seeds, "N", "runs of a record whose outcome is a race (default 31)");
  o.option("--json", r->json_file, "FILE", "also write the result as JSON");
  o.option("--junit", r->junit_file, "FILE", "also write the thresholds as JUnit XML");
  o.option("--records", r->records_file, "FILE", "also write measured and predicted time of every record as CSV");
  o.flag("--unseen", r->unseen, "cross-validate: no measured GEMM of a record's n, nor of its pieces, goes in");
  o.flag("--ablation", r->ablation, "score once more with each effect switched off");
  o.flag("--tiles", r->tiles, "instead: when a fused GEMM's tiles were stored, beside the tile model");
  o.option("--explain", r->explain, "N|TEXT",
           "compare one record op by op with its measured spans: its number, or text of file:line");
  o.format(*format);
  o.footer(
      "Exit code 1 when a threshold of the budget file is passed.\n"
      "Example: overlapsim validate configs/budgets/h200x2.json");
  return [r, format] {
    return validation::run(*r, *format == Format::json  ? validation::Style::json
                               : *format == Format::csv ? validation::Style::csv
                                                        : validation::Style::text);
  };
}

}  // namespace overlap::cli
