#include "cuda/token_order.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "overlap/error.hpp"

namespace overlap::cuda {
namespace {

struct Token {
  std::int64_t count = 0;
  std::int64_t taken = 0;
  std::int64_t given = 0;
  std::vector<std::pair<OpId, std::int64_t>> givers;  // and what had been given with them
};

}  // namespace

std::vector<std::vector<Dep>> token_deps(const OpGraph& graph) {
  std::vector<std::vector<Dep>> deps(graph.ops().size());
  std::vector<Token> tokens;
  for (const std::uint32_t count : graph.token_counts()) tokens.push_back({count, 0, 0, {}});
  std::vector<TokenUse> uses = graph.token_uses();
  std::stable_sort(uses.begin(), uses.end(), [](const TokenUse& a, const TokenUse& b) { return a.op < b.op; });
  for (const TokenUse& u : uses) {
    Token& token = tokens[u.token.index()];
    token.taken += u.take;
    if (u.take > 0 && token.taken > token.count) {
      const std::int64_t missing = token.taken - token.count;
      for (const auto& [giver, given] : token.givers) {
        if (giver != u.op) deps[u.op.index()].push_back({giver, {}});
        if (given >= missing) break;
      }
      if (token.given < missing) {
        throw InputError("", fmt::format("op '{}' takes tokens that only later ops give back: the GPU backend launches "
                                         "in order; choose a larger in-flight budget",
                                         graph.text(graph.op(u.op).label)));
      }
    }
    if (u.give > 0) {
      token.given += u.give;
      token.givers.emplace_back(u.op, token.given);
    }
  }
  return deps;
}

}  // namespace overlap::cuda
