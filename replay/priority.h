// Priorities of positions that nobody has drawn yet.

#ifndef MALLOCMUZERO_REPLAY_PRIORITY_H_
#define MALLOCMUZERO_REPLAY_PRIORITY_H_

#include <algorithm>

namespace mallocmuzero {

// Priorities after which the highest of them counts a third: the latest hundred batches or so.
inline constexpr double kPriorityMemory = 16384;

// The highest priority of late, when one more is set: new positions get it, so that each is drawn
// soon (Schaul et al., 2016, section 3.3, give them the highest there has ever been). It falls, or
// the surprises of a learner's first minutes would for good come before all that it has learned
// since.
inline double HighestOfLate(double highest, double priority) {
  return std::max(priority, highest * (1 - 1 / kPriorityMemory));
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_PRIORITY_H_
