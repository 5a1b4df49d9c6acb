#include "sweep/memo.hpp"

#include <utility>

namespace overlap {

SweepResult SweepMemo::get(const std::string& key, const std::function<SweepResult()>& compute) {
  std::promise<SweepResult> promise;
  if (const auto known = find_or_add(key, promise)) return known->get();
  try {
    SweepResult result = compute();
    promise.set_value(result);
    return result;
  } catch (...) {
    promise.set_exception(std::current_exception());
    throw;
  }
}

std::optional<std::shared_future<SweepResult>> SweepMemo::find_or_add(const std::string& key,
                                                                      std::promise<SweepResult>& promise) {
  const std::lock_guard lock(guard_);
  if (const auto found = young_.find(key); found != young_.end()) return found->second;
  if (young_.size() >= kMost) old_ = std::exchange(young_, {});
  if (const auto found = old_.find(key); found != old_.end()) return young_.emplace(key, found->second).first->second;
  young_.emplace(key, promise.get_future().share());
  ++computed_;
  return std::nullopt;
}

std::uint64_t SweepMemo::computed() const {
  const std::lock_guard lock(guard_);
  return computed_;
}

}  // namespace overlap
