// How many threads play, or search.

#ifndef MALLOCMUZERO_ACTOR_THREAD_COUNT_H_
#define MALLOCMUZERO_ACTOR_THREAD_COUNT_H_

#include <algorithm>
#include <cstdint>
#include <thread>

namespace mallocmuzero {

// More than this is a mistake of whoever asks.
inline constexpr uint32_t kMostThreads = 1024;

// As many as asked for; 0: one a core, one at least.
inline uint32_t ThreadCount(uint32_t asked) {
  return asked > 0 ? asked : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_THREAD_COUNT_H_
