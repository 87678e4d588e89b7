// The delays between attempts of a call that fails.

#ifndef MALLOCMUZERO_RPC_BACKOFF_H_
#define MALLOCMUZERO_RPC_BACKOFF_H_

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace mallocmuzero {

struct BackoffOptions {
  absl::Duration initial = absl::Milliseconds(50);
  absl::Duration maximum = absl::Seconds(5);
  double multiplier = 1.6;

  // Each delay is drawn uniformly from (1 - jitter, 1 + jitter) times its mean, so that a thousand
  // clients do not all retry at the same moment.
  double jitter = 0.25;
};

// Exponential backoff with jitter. Not thread-safe.
class Backoff {
 public:
  // `seed` should differ between clients, so that their delays do.
  explicit Backoff(uint64_t seed, const BackoffOptions& options = {});

  // Returns the delay before the next attempt. Its mean grows by `multiplier` with each call, up to
  // `maximum`, until Reset.
  absl::Duration Next();

  // Call after a success: the next delay is short again.
  void Reset() { mean_ = options_.initial; }

 private:
  BackoffOptions options_;
  absl::Duration mean_;
  std::mt19937_64 random_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_RPC_BACKOFF_H_
