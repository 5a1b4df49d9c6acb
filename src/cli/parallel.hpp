// Independent tasks on all cores; results do not depend on how many.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace overlap {

// Calls task(i) for i in [0, count). The first exception by index is thrown after all have ended.
template <class F>
void for_each_index(std::size_t count, F task) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failed(count);
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i);
      } catch (...) {
        failed[i] = std::current_exception();
      }
    }
  };
  std::size_t threads = std::thread::hardware_concurrency();
  if (threads > count) threads = count;
  std::vector<std::thread> pool;
  for (std::size_t t = 1; t < threads; ++t) pool.emplace_back(work);
  work();
  for (std::thread& t : pool) t.join();
  for (const std::exception_ptr& e : failed) {
    if (e) std::rethrow_exception(e);
  }
}

}  // namespace overlap
