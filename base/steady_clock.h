// Time that does not depend on the wall clock, which an operator or NTP may set.

#ifndef MALLOCMUZERO_BASE_STEADY_CLOCK_H_
#define MALLOCMUZERO_BASE_STEADY_CLOCK_H_

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"

namespace mallocmuzero {

// The time since some point before the process began. Only differences have a meaning, so do not
// compare it with absl::Now().
inline absl::Time SteadyNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// Notices that the wall clock is set back. Not thread-safe.
class ClockWatch {
 public:
  ClockWatch(absl::Time wall, absl::Time steady) : ahead_(wall - steady) {}

  // Returns by how much the wall clock was set back since the last call or the constructor; zero if
  // it was not.
  absl::Duration NoteSetBack(absl::Time wall, absl::Time steady) {
    const absl::Duration before = ahead_;
    ahead_ = wall - steady;
    return std::max(before - ahead_, absl::ZeroDuration());
  }

 private:
  absl::Duration ahead_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_STEADY_CLOCK_H_
