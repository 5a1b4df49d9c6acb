// Results that cells of a study share: an axis that only one schedule reads leaves the others as they were, and what is
// simulated once serves them all.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "overlap/units.hpp"

namespace overlap {

// What one simulated schedule gives to its row, but for what depends on the other rows.
struct SweepResult {
  Seconds makespan;  // median over the seeds
  Seconds p10;
  Seconds p90;
  Seconds bound;
  std::optional<Seconds> closed_form;
  Seconds communication;
  Bytes extra_memory;
  Seconds floor;
  Seconds kernel;
  Seconds decomposition;
  Seconds contention;
  Seconds slot_wait;
  Seconds launch;
  Seconds exposed;
  Seconds local;
  Seconds tail;
};

// Safe to use from many threads: who asks for a key that another thread computes waits for it. Holds a bounded number
// of results, so that memory does not grow with the study; the oldest half makes room.
class SweepMemo {
 public:
  SweepResult get(const std::string& key, const std::function<SweepResult()>& compute);
  [[nodiscard]] std::uint64_t computed() const;

 private:
  // The result that another call computes or has computed; nothing when `promise` is to be kept by the caller.
  std::optional<std::shared_future<SweepResult>> find_or_add(const std::string& key,
                                                             std::promise<SweepResult>& promise);

  static constexpr std::size_t kMost = 32768;  // a generation; two are kept
  using Table = std::unordered_map<std::string, std::shared_future<SweepResult>>;

  mutable std::mutex guard_;
  Table young_;
  Table old_;
  std::uint64_t computed_ = 0;
};

}  // namespace overlap
