// Which numbers are priorities, and the priority that a new position gets before any draw has
// measured it.

#ifndef MALLOCMUZERO_REPLAY_PRIORITY_H_
#define MALLOCMUZERO_REPLAY_PRIORITY_H_

#include <algorithm>
#include <cmath>

namespace mallocmuzero {

// A priority is finite and not below 0.
inline bool IsPriority(double value) { return std::isfinite(value) && value >= 0; }

// The number of SetPriority calls after which the memory of the highest priority has decayed to
// about a third (1/e): roughly the latest hundred batches.
inline constexpr double kPriorityMemory = 16384;

// Returns the recent highest priority after `priority` has been set, where `highest` is its value
// before. New positions get this priority, so that each is drawn soon. Schaul et al., 2016, section
// 3.3, use the highest priority ever seen instead. Here it decays: the large errors of a learner's
// first minutes would otherwise raise every new position for the rest of the run.
inline double HighestOfLate(double highest, double priority) {
  return std::max(priority, highest * (1 - 1 / kPriorityMemory));
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_PRIORITY_H_
