// Counted tokens on streams, which cannot count: dependencies that keep as few ops in flight.
#pragma once

#include <vector>

#include "overlap/op_graph.hpp"

namespace overlap::cuda {

// By OpId: what an op waits for because of the tokens that it takes. Takers are served in order of their ids; one that
// finds too few left waits for the first givers that make up for what was taken, in order of their ids too. Throws
// InputError for a taker that no earlier giver can serve.
std::vector<std::vector<Dep>> token_deps(const OpGraph& graph);

}  // namespace overlap::cuda
