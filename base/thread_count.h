// How many threads a command plays, searches or learns with.

#ifndef MALLOCMUZERO_BASE_THREAD_COUNT_H_
#define MALLOCMUZERO_BASE_THREAD_COUNT_H_

#include <algorithm>
#include <cstdint>
#include <thread>

#include "base/cpu_quota.h"

namespace mallocmuzero {

// A request for more threads than this is a mistake.
inline constexpr uint32_t kMostThreads = 1024;

// The number that was asked for. Zero stands for one thread for each core that this process may
// use: in a container with a limit of two CPUs, two.
inline uint32_t ThreadCount(uint32_t asked) {
  if (asked > 0) return asked;
  const uint32_t cores = std::max(1U, std::thread::hardware_concurrency());
  return std::min(cores, CpuQuota().value_or(cores));
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_THREAD_COUNT_H_
