// The number of threads that play or search.

#ifndef MALLOCMUZERO_ACTOR_THREAD_COUNT_H_
#define MALLOCMUZERO_ACTOR_THREAD_COUNT_H_

#include <algorithm>
#include <cstdint>
#include <thread>

namespace mallocmuzero {

// The largest number of threads that a flag or a config may ask for.
inline constexpr uint32_t kMostThreads = 1024;

// The number asked for; if that is 0, the number of cores, at least 1.
inline uint32_t ThreadCount(uint32_t asked) {
  return asked > 0 ? asked : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_THREAD_COUNT_H_
