// Lets tests wait for an effect of another thread or process.

#ifndef MALLOCMUZERO_RPC_TESTING_AWAIT_H_
#define MALLOCMUZERO_RPC_TESTING_AWAIT_H_

#include <functional>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace mallocmuzero::testing {

// Polls `there` every few milliseconds. Returns true as soon as it does, or false after `timeout`.
inline bool Await(const std::function<bool()>& there, absl::Duration timeout = absl::Minutes(2)) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!there()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_RPC_TESTING_AWAIT_H_
