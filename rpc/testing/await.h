// How tests wait for what another thread or process does.

#ifndef MALLOCMUZERO_RPC_TESTING_AWAIT_H_
#define MALLOCMUZERO_RPC_TESTING_AWAIT_H_

#include <functional>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace mallocmuzero::testing {

// Whether something comes true in time; looks every few milliseconds.
inline bool Await(const std::function<bool()>& there, absl::Duration timeout = absl::Seconds(60)) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!there()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_RPC_TESTING_AWAIT_H_
