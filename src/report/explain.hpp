// The long form: phases, links, critical path, effects, inputs without effect.
#pragma once

#include <string>

#include "overlap/report.hpp"

namespace overlap {

std::string explain_text(const WorkloadReport& w, bool colour);

}  // namespace overlap
