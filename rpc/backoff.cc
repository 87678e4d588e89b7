#include "rpc/backoff.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace mallocmuzero {

Backoff::Backoff(uint64_t seed, const BackoffOptions& options)
    : options_(options), mean_(options.initial), random_(seed) {}

absl::Duration Backoff::Next() {
  std::uniform_real_distribution<double> factor(1 - options_.jitter, 1 + options_.jitter);
  const absl::Duration delay = mean_ * factor(random_);
  mean_ = std::min(mean_ * options_.multiplier, options_.maximum);
  return delay;
}

}  // namespace mallocmuzero
