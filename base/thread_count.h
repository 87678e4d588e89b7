// How many threads a command plays, searches or learns with.

#ifndef MALLOCMUZERO_BASE_THREAD_COUNT_H_
#define MALLOCMUZERO_BASE_THREAD_COUNT_H_

#include <cstdint>

#include "base/usable_cpus.h"

namespace mallocmuzero {

// A request for more threads than this is a mistake.
inline constexpr uint32_t kMostThreads = 1024;

// The number that was asked for. Zero stands for one thread for each CPU that this process may use:
// in a container with a limit of two CPUs, two.
inline uint32_t ThreadCount(uint32_t asked) { return asked > 0 ? asked : UsableCpus(); }

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_THREAD_COUNT_H_
