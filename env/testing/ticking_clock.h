// A clock for tests of a search's limit of time.

#ifndef MALLOCMUZERO_ENV_TESTING_TICKING_CLOCK_H_
#define MALLOCMUZERO_ENV_TESTING_TICKING_CLOCK_H_

#include <cstdint>

#include "absl/time/time.h"

namespace mallocmuzero::testing {

// A clock on which every look takes a millisecond. A search then looks at each of its steps, so a
// game takes about a millisecond for each decision, however busy the machine is. For one thread.
inline absl::Time TickingClock() {
  static int64_t looks = 0;
  return absl::UnixEpoch() + absl::Milliseconds(looks++);
}

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_ENV_TESTING_TICKING_CLOCK_H_
