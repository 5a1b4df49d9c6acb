// How each op is carried out: a choice by kind of work, map and options.
#pragma once

#include <string>
#include <vector>

#include "overlap/cuda.hpp"

namespace overlap::cuda {

// By OpId; `stores` are those of epilogue_stores() that are wanted. `notes` gets a sentence for each kind of op that
// runs otherwise than the graph says. Throws InputError for work that the backend cannot do.
std::vector<Execution> choose_execution(const OpGraph& graph, const DeviceMap& map, const PlanOptions& options,
                                        const std::vector<EpilogueStore>& stores, std::vector<std::string>& notes);

}  // namespace overlap::cuda
